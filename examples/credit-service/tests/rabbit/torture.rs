//! Everything goes away in the middle. In the end every event was credited once, and poison lies aside.

use inbox_tests::Backend;

use crate::events::Events;
use crate::queues::{drain, waiting};
use crate::stage::{QUEUE, Stage};

/// `CREDIT_SERVICE_TORTURE=5000` for the long form.
fn messages() -> usize {
    std::env::var("CREDIT_SERVICE_TORTURE").map_or(300, |count| count.parse().unwrap())
}

async fn everything_goes_away(backend: Backend) {
    let events = Events::new(messages());
    let mut stage = Stage::new(backend).await;
    let mut parts = events.files(6).into_iter();
    let mut publish = |stage: &Stage| stage.publish(&parts.next().unwrap());

    publish(&stage);
    for _ in 0..3 {
        stage.start();
    }
    publish(&stage);
    stage.until("the first credits", async |stage| stage.credited().await > 0).await;
    stage.kill();
    publish(&stage);
    stage.start();
    // What it has in hand is settled before it ends.
    stage.terminate();
    stage.start();

    publish(&stage);
    stage.kill_database();
    publish(&stage);
    stage.start_database().await;

    publish(&stage);
    stage.kill_broker().await;
    stage.kill();
    stage.start();
    stage.rabbit.start().await;

    stage.until("all credits", async |stage| stage.credited().await == events.different).await;
    // What a replica had been sent and not begun when it was told to stop goes back: empty is a queue that nobody holds any of.
    let mut ended = Vec::new();
    loop {
        stage.until("an empty queue", async |stage| waiting(&stage.rabbit.url(), QUEUE).await == 0).await;
        ended.extend(stage.end());
        if waiting(&stage.rabbit.url(), QUEUE).await == 0 {
            break;
        }
        assert!(ended.len() < 20, "the queue never stays empty: {ended:?}");
        stage.start();
    }
    assert_eq!(stage.balances().await, events.balances, "{ended:?}");
    assert_eq!(stage.credited().await, events.different);
    // Poison and nothing else, each once, but for what was published or rejected again around a lost connection.
    let mut dead = drain(&stage.rabbit.url(), "credits.dead").await;
    dead.dedup();
    let mut poison = events.poison.clone();
    poison.sort();
    assert_eq!(dead, poison);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_away_on_postgres() {
    everything_goes_away(Backend::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_away_on_mysql() {
    everything_goes_away(Backend::MySql).await;
}

/// A file does not go away; its replicas and the broker do.
#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_away_on_sqlite() {
    everything_goes_away(Backend::Sqlite).await;
}
