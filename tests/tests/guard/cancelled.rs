//! Statements whose future is dropped: nobody knows what they did, so the delivery is not committed; and the connection is
//! not left in the middle of an answer.

use std::time::Duration;

use inbox_core::{InboxTransaction, process};
use inbox_tests::{
    Backend, TestDb, backends, ledger,
    poll::{Polled, poll_n},
    proxy::{Action, Moment, Passing, Proxy},
};
use sea_orm::{ConnectionTrait as _, Statement, TransactionSession as _, TransactionTrait as _};
use tokio::time::timeout;

use super::support::{Bench, Failed, aborted, key, until};

const SOON: Duration = Duration::from_millis(100);

/// Takes about half a second, and inserts a row.
pub(crate) async fn slow(tx: &InboxTransaction, backend: Backend) {
    let sql = backend.pick(
        "INSERT INTO biz (k, v) SELECT 'slow', 1 FROM pg_sleep(0.5)",
        "INSERT INTO biz (k, v) SELECT 'slow', SLEEP(0.5)",
        "INSERT INTO biz (k, v) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT 'slow', max(i) FROM n",
    );
    assert!(timeout(SOON, tx.execute_unprepared(sql)).await.is_err(), "the statement was too quick for this test");
}

backends! {
    async fn a_timeout_around_a_statement(db: TestDb) {
        let mut bench = Bench::new(&db).await;
        for another_statement in [false, true] {
            let outcome = bench
                .deliver(async |tx| {
                    ledger::credit(tx, 1, 1).await?;
                    slow(tx, db.backend()).await;
                    if another_statement {
                        let error = ledger::record(tx, "stray", 1).await.unwrap_err();
                        assert!(inbox_core::is_transient(&error), "{error}");
                    }
                    Ok(())
                })
                .await;
            let error = aborted(outcome);
            assert!(error.is_transient() && error.to_string().contains("cancelled"), "{error}");
            bench.unharmed().await;
            bench = bench.again().await;
        }
    }

    async fn in_a_savepoint_it_is_not_forgiven(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let nested = tx.begin().await?;
                slow(&nested, db.backend()).await;
                let _ = nested.rollback().await;
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        aborted(outcome);
        bench.unharmed().await;
    }

    /// The whole delivery is given up in the middle of a statement.
    async fn a_timeout_around_the_delivery(db: TestDb) {
        let bench = Bench::new(&db).await;
        let delivery = bench.deliver(async |tx| {
            ledger::credit(tx, 1, 1).await?;
            slow(tx, db.backend()).await;
            ledger::credit(tx, 2, 1).await?;
            std::future::pending::<Result<(), Failed>>().await
        });
        timeout(SOON * 3, delivery).await.map(drop).unwrap_err();
        bench.serves().await;
        let slow = bench.ledger.records_of("slow").await;
        assert_eq!((slow, bench.ledger.balance(1).await, bench.ledger.markers().await), (0, 0, 20));
        bench.redelivers().await;
    }

    /// sqlx gives a MySQL connection that is dropped in the middle of a PREPARE back to its pool, out of step with its server
    /// for good. A table that is being made holds the PREPARE up.
    [mysql]
    async fn in_the_middle_of_a_prepare(db: TestDb) {
        let mut bench = Bench::new(&db).await;
        for whole_delivery in [false, true] {
            let table = format!("made_{whole_delivery}");
            let maker = db.pool(1).await;
            let create = format!("CREATE TABLE {table} AS SELECT GET_LOCK(CONCAT('{table}', RIGHT(DATABASE(), 12)), 0) AS k, SLEEP(1) AS v");
            let made = tokio::spawn(async move { maker.execute_unprepared(&create).await });
            until(&db, &format!("SELECT IS_USED_LOCK(CONCAT('{table}', RIGHT(DATABASE(), 12))) IS NOT NULL")).await;
            let delivery = bench.deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                let insert = Statement::from_sql_and_values(db.backend().db_backend(), format!("INSERT INTO {table} (k, v) VALUES (?, 2)"), [1.into()]);
                if whole_delivery {
                    tx.execute_raw(insert).await?;
                } else {
                    timeout(SOON, tx.execute_raw(insert)).await.map(drop).unwrap_err();
                }
                Ok(())
            });
            if whole_delivery {
                timeout(SOON, delivery).await.map(drop).unwrap_err();
            } else {
                aborted(delivery.await);
            }
            made.await.unwrap().unwrap();
            bench.unharmed().await;
            assert_eq!(db.count(&table).await, 1, "the cancelled statement's row stayed");
            bench = bench.again().await;
        }
    }

    /// Given up while COMMIT is under way, a delivery is committed or not, and its marker is never taken for one that a body
    /// left behind.
    [postgres, mysql]
    async fn while_commit_is_under_way(db: TestDb) {
        let mut bench = Bench::new(&db).await;
        for moment in [Moment::BeforeRequest, Moment::BeforeAnswer] {
            let proxy = Proxy::start(&db).await;
            bench.pool = proxy.pool(2).await;
            let hit = proxy.on(Passing::Commit, moment, Action::Hold);
            let delivery = bench.deliver(async |tx| Ok(ledger::credit(tx, 1, 1).await?));
            tokio::select! {
                outcome = delivery => panic!("COMMIT was held, and yet: {outcome:?}"),
                () = hit.reached() => {}
            }
            hit.release();
            // One of two connections has the COMMIT; a delivery on each makes sure that both are done with it.
            bench.serves().await;
            let id = *bench.key.message_id().as_uuid();
            until(&db, "SELECT COUNT(*) = 21 FROM inbox_message").await;
            assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers_of(id).await), (1, 1), "{moment:?}");
            let redelivery = bench.deliver(async |_| Err::<(), _>(Failed::Own)).await;
            assert!(redelivery.unwrap().is_duplicate());
            bench = bench.again().await;
        }
    }

    /// At every await point, whatever is prepared already: the marker is there exactly when the effect is.
    async fn at_every_await_point(db: TestDb) {
        let bench = Bench::new(&db).await;
        for polls in 1.. {
            let pool = db.pool(1).await;
            let polled_key = key(&format!("polled-{polls}"));
            let before = bench.ledger.balance(1).await;
            let delivery = process(&pool, polled_key.clone(), async |tx| {
                let nested = tx.begin().await?;
                ledger::credit(&nested, 1, 1).await?;
                nested.commit().await?;
                let dropped = tx.begin().await?;
                ledger::record(&dropped, "gone", 1).await?;
                drop(dropped);
                Ok::<_, Failed>(())
            });
            let polled = poll_n(delivery, polls, Duration::from_millis(5)).await;
            // The pool's only connection comes back with everything done that was begun on it.
            let next = process(&pool, key(&format!("next-{polls}")), async |tx| {
                ledger::record(tx, &format!("next-{polls}"), 1).await?;
                Ok::<_, Failed>(())
            });
            assert!(!next.await.unwrap().is_duplicate());
            let applied = bench.ledger.balance(1).await - before;
            assert_eq!(bench.ledger.markers_of(*polled_key.message_id().as_uuid()).await, applied, "after {polls} polls");
            let redelivered = process(&pool, polled_key, async |tx| Ok::<_, Failed>(ledger::credit(tx, 1, 1).await?)).await;
            assert_eq!(redelivered.unwrap().is_duplicate(), applied == 1);
            assert_eq!(bench.ledger.balance(1).await, before + 1);
            assert_eq!(bench.ledger.records_of("gone").await, 0);
            if matches!(polled, Polled::Ready(_)) {
                break;
            }
        }
    }
}
