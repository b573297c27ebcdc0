//! Connections and processes that are lost with something in hand.

use inbox_tests::{Backend, private};
use tokio::io::{AsyncReadExt as _, copy};
use tokio::net::{TcpListener, TcpStream};

use crate::events::{event, file};
use crate::program::run;
use crate::queues::{drain, waiting};
use crate::stage::{QUEUE, Stage};

/// What was not confirmed when the connection was lost is published again.
#[tokio::test(flavor = "multi_thread")]
async fn a_publisher_outlives_its_connection() {
    let rabbit = private::RabbitMq::new().await;
    let mut lines: Vec<_> = (0..1500).map(|n| event(&format!("c-{n}"), 1, 100)).collect();
    // A third of them, or so.
    let broken = breaks_once(&rabbit.url(), 100_000).await;
    let all = file(&lines);
    let published = run(None, &["--amqp", &broken, "--publish", all.path().to_str().unwrap()]);
    assert_eq!(published.code, Some(0), "{published:?}");
    assert!(published.out.contains("1500 events published to credits, each confirmed by the broker"), "{published:?}");
    assert_eq!(published.err.matches("the broker is away").count(), 1, "{published:?}");
    let mut there = drain(&rabbit.url(), QUEUE).await;
    there.dedup();
    lines.sort();
    assert!(there == lines, "{} of {} are there", there.len(), lines.len());
}

/// The broker through a way that breaks after so many bytes towards it, and holds from then on.
async fn breaks_once(url: &str, bytes: u64) -> String {
    let broker = url[url.find('@').unwrap() + 1..url.rfind('/').unwrap()].to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let way = url.replace(&broker, &listener.local_addr().unwrap().to_string());
    tokio::spawn(async move {
        let mut left = bytes;
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = TcpStream::connect(&broker).await.unwrap();
            let limit = std::mem::replace(&mut left, u64::MAX);
            tokio::spawn(async move {
                let ((from_client, mut to_client), (mut from_server, mut to_server)) = (client.split(), server.split());
                let mut from_client = from_client.take(limit);
                tokio::select! {
                    _ = copy(&mut from_client, &mut to_server) => {}
                    _ = copy(&mut from_server, &mut to_client) => {}
                }
            });
        }
    });
    way
}

/// A replica ends, with and without a chance to say so, while it holds what the database could not take.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_hand_is_not_lost() {
    let mut stage = Stage::new(Backend::Postgres).await;
    let in_the_queue = async |stage: &Stage| waiting(&stage.rabbit.url(), QUEUE).await;
    let some = |name: &str| file(&(0..4).map(|n| event(&format!("{name}-{n}"), 1, 100)).collect::<Vec<_>>());
    stage.start();
    stage.publish(&some("first"));
    stage.until("the first credits", async |stage| stage.credited().await == 4).await;

    stage.kill_database();
    stage.publish(&some("killed"));
    stage.until("all in hand", async |stage| in_the_queue(stage).await == 0).await;
    stage.kill();
    stage.until("all back", async |stage| in_the_queue(stage).await == 4).await;
    // It waits for its database.
    stage.start();
    stage.start_database().await;
    stage.until("the credits of a killed one", async |stage| stage.credited().await == 8).await;

    stage.kill_database();
    stage.publish(&some("told"));
    stage.until("all in hand", async |stage| in_the_queue(stage).await == 0).await;
    let told = stage.terminate();
    assert_eq!((told.count("processed"), told.count("delivered again")), (4, 4), "{told:?}");
    assert!(told.out.ends_with("the database is away: what the accounts hold is not known\n"), "{told:?}");
    assert_eq!(in_the_queue(&stage).await, 4);
    stage.start();
    stage.start_database().await;
    stage.until("the credits of one that was told", async |stage| stage.credited().await == 12).await;
    stage.end();
    assert_eq!(stage.balances().await.get(&1), Some(&1200));
    assert_eq!(waiting(&stage.rabbit.url(), "credits.dead").await, 0);
}
