//! What a newcomer runs, and what must not happen quietly.

use std::time::{Duration, Instant};

use inbox_tests::{Backend, TestDb, private};

use crate::events::{Events, event, file};
use crate::program::run;
use crate::queues::{drain, waiting};
use crate::stage::{QUEUE, Stage};

/// The same events with the inbox and without; one look at the difference.
#[tokio::test(flavor = "multi_thread")]
async fn a_demonstration_and_the_naive_one() {
    let rabbit = private::RabbitMq::new().await;
    let events = Events::new(200);
    let all = events.files(1).remove(0);
    let arguments = ["--amqp", &rabbit.url(), "--events", all.path().to_str().unwrap()];

    let right = run(None, &arguments);
    right.assert_good();
    assert!(right.out.contains("Every event was credited once."), "{right:?}");
    assert_eq!(right.count("deliveries"), 200);
    assert_eq!(right.count("processed"), usize::try_from(events.different).unwrap());
    assert_eq!(right.count("rejected"), events.poison.len());
    assert_eq!(right.count("given up"), 0);
    assert_eq!(drain(&rabbit.url(), "credits.dead").await.len(), events.poison.len());

    let none = file(&[]);
    let nothing = run(None, &["--amqp", &rabbit.url(), "--events", none.path().to_str().unwrap()]);
    assert!(nothing.assert_good().out.ends_with("There was no event to credit.\n"), "{nothing:?}");

    let wrong = run(None, &[&arguments[..], &["--naive"]].concat());
    wrong.assert_bad("the accounts are wrong");
    assert!(wrong.out.contains("This is what \"check, then insert\" does"), "{wrong:?}");
    assert!(wrong.count("processed") > right.count("processed"), "{wrong:?}");
    assert_ne!(wrong.row("total"), wrong.row("expected total"));

    // What waits already would be credited beside the file's events.
    let published = run(None, &["--amqp", &rabbit.url(), "--publish", all.path().to_str().unwrap()]);
    assert_eq!((published.code, published.err.as_str()), (Some(0), ""), "{published:?}");
    run(None, &arguments).assert_bad("200 events wait in credits already");
    assert_eq!(waiting(&rabbit.url(), QUEUE).await, 200);

    // Another use of the name is the broker's refusal, and no reason to try for ever.
    let refused = run(None, &["--amqp", &rabbit.url(), "--queue", "credits.dead", "--publish", all.path().to_str().unwrap()]);
    refused.assert_bad("the broker refuses");
}

/// Longer than the broker's limit of deliveries would last if each failure went back to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_gives_nothing_up() {
    let mut stage = Stage::new(Backend::Postgres).await;
    stage.start();
    stage.start();
    let first = file(&[event("first", 1, 100)]);
    stage.publish(&first);
    stage.until("the first credit", async |stage| stage.credited().await == 1).await;
    stage.kill_database();
    let rest: Vec<_> = (0..40).map(|n| event(&format!("later-{n}"), 1, 100)).collect();
    stage.publish(&file(&rest));
    let away = Instant::now();
    // Twenty returns, a tenth of a second apart, would be over long before.
    while away.elapsed() < Duration::from_secs(6) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(waiting(&stage.rabbit.url(), "credits.dead").await, 0);
    // Two replicas hold their prefetch and take no more.
    assert!(waiting(&stage.rabbit.url(), QUEUE).await >= 40 - 16);
    stage.start_database().await;
    stage.until("all credits", async |stage| stage.credited().await == 41).await;
    let ended = stage.end();
    assert_eq!(stage.balances().await.get(&1), Some(&4100));
    assert_eq!(waiting(&stage.rabbit.url(), "credits.dead").await, 0);
    for run in ended {
        // Once, not for every delivery and every try.
        assert_eq!(run.err.matches("the database is away").count(), 1, "{run:?}");
        assert_eq!(run.err.matches("the database is back").count(), 1, "{run:?}");
    }
}

/// A transient error that comes at once, again and again: twenty returns would be over in three seconds.
#[tokio::test(flavor = "multi_thread")]
async fn conflicts_that_last_give_nothing_up() {
    let mut stage = Stage::new(Backend::Postgres).await;
    stage.start();
    stage.publish(&file(&[event("first", 1, 100)]));
    stage.until("the first credit", async |stage| stage.credited().await == 1).await;
    for sql in [
        "CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$",
        "CREATE TRIGGER conflict BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION conflict()",
    ] {
        stage.exec(sql).await;
    }
    let later: Vec<_> = (0..8).map(|n| event(&format!("later-{n}"), 1, 100)).collect();
    stage.publish(&file(&later));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(8) {
        assert_eq!(waiting(&stage.rabbit.url(), "credits.dead").await, 0);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    stage.exec("DROP TRIGGER conflict ON account").await;
    stage.until("all credits", async |stage| stage.credited().await == 9).await;
    let ended = stage.end().remove(0);
    assert_eq!((ended.count("processed"), ended.count("delivered again")), (9, 0), "{ended:?}");
}

/// An error that nobody knows goes round until the broker gives it up; the others pass.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_error_goes_round_and_is_given_up() {
    let mut stage = Stage::new(Backend::Sqlite).await;
    stage.start();
    stage.publish(&file(&[event("first", 1, 100)]));
    stage.until("the first credit", async |stage| stage.credited().await == 1).await;
    stage
        .exec("CREATE TRIGGER no_more BEFORE UPDATE ON account WHEN NEW.id = 2 BEGIN SELECT RAISE(ABORT, 'account 2 is closed'); END")
        .await;
    let both = [event("closed", 2, 100), event("open", 1, 100)];
    stage.publish(&file(&both));
    stage.until("a dead letter", async |stage| waiting(&stage.rabbit.url(), "credits.dead").await == 1).await;
    stage.until("the other credit", async |stage| stage.credited().await == 2).await;
    assert_eq!(drain(&stage.rabbit.url(), "credits.dead").await, [both[0].clone()]);
    let ended = stage.end().remove(0);
    assert_eq!(ended.count("delivered again"), 21, "once, and twenty times more: {ended:?}");
    assert!(ended.out.contains("to be delivered again:") && ended.out.contains("account 2 is closed"), "{ended:?}");
}

/// An example has no business in somebody's database.
#[tokio::test(flavor = "multi_thread")]
async fn tables_of_others_are_refused_before_anything_is_created() {
    for backend in Backend::ALL {
        let db = TestDb::new(backend).await;
        db.exec("CREATE TABLE invoice (id bigint)").await;
        let refused = run(Some(db.url()), &[]);
        refused.assert_bad("this database holds other tables (invoice)");
        assert!(db.try_exec("SELECT 1 FROM account").await.is_err() && db.try_exec("SELECT 1 FROM inbox_message").await.is_err());
        let refused = run(Some(db.url()), &["--amqp", "amqp://127.0.0.1:1"]);
        refused.assert_bad("this database holds other tables (invoice)");
        run(Some(db.url()), &["--yes"]).assert_good();
        assert_eq!(db.count("invoice").await, 0);
    }
    // Another application's schema is in the same database.
    let db = TestDb::new(Backend::Postgres).await;
    db.exec("CREATE SCHEMA billing").await;
    db.exec("CREATE TABLE billing.account (id bigint)").await;
    run(Some(db.url()), &[]).assert_bad("this database holds other tables (billing.account)");
}
