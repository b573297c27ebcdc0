//! A delivery inside a transaction of the caller's own: what the caller did before stays usable, and what it commits is all
//! there. The guard cannot watch the caller's own statements.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use inbox_core::{Error, Options, Outcome, process, process_replayed, process_with};
use inbox_tests::{Backend, TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, IsolationLevel, Statement, StreamTrait as _, TransactionTrait as _};
use tokio::sync::Notify;

use super::support::{Bench, Failed, aborted, key};

backends! {
    async fn the_caller_commits_or_not(db: TestDb) {
        let bench = Bench::new(&db).await;
        for commit in [false, true] {
            let outer = bench.pool.begin().await.unwrap();
            ledger::record(&outer, "callers", 1).await.unwrap();
            let outcome = process(&outer, bench.key.clone(), async |tx| Ok::<_, Failed>(ledger::credit(tx, 1, 1).await?)).await;
            assert_eq!(outcome.unwrap(), Outcome::Processed(()));
            if commit {
                outer.commit().await.unwrap();
            } else {
                outer.rollback().await.unwrap();
                bench.nothing_stored().await;
            }
        }
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.records().await, bench.ledger.markers().await), (1, 1, 1));
        bench.serves().await;
    }

    async fn a_duplicate_leaves_the_callers_work_usable(db: TestDb) {
        let bench = Bench::new(&db).await;
        bench.redelivers().await;
        let outer = bench.pool.begin().await.unwrap();
        ledger::record(&outer, "before", 1).await.unwrap();
        let savepoint = outer.begin().await.unwrap();
        for (tx, after) in [(&savepoint, "in the savepoint"), (&outer, "outside")] {
            let outcome = process(tx, bench.key.clone(), async |_| Err::<(), _>(Failed::Own)).await;
            assert_eq!(outcome.unwrap(), Outcome::Duplicate);
            ledger::record(tx, after, 1).await.unwrap();
        }
        savepoint.commit().await.unwrap();
        outer.commit().await.unwrap();
        assert_eq!((bench.ledger.records().await, bench.ledger.balance(1).await, bench.ledger.markers().await), (3, 100, 1));
        bench.serves().await;
    }

    async fn a_failed_body_leaves_the_callers_work_usable(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outer = bench.pool.begin().await.unwrap();
        ledger::record(&outer, "before", 1).await.unwrap();
        let own = process(&outer, bench.key.clone(), async |tx| {
            ledger::credit(tx, 1, 1).await?;
            Err::<(), _>(Failed::Own)
        });
        assert!(matches!(own.await, Err(Failed::Own)));
        let databases = process(&outer, bench.key.clone(), async |tx| {
            ledger::credit(tx, 1, 1).await?;
            Ok::<_, Failed>(ledger::record(tx, "before", 1).await?)
        });
        assert!(matches!(databases.await, Err(Failed::Db(_))));
        ledger::record(&outer, "after", 1).await.unwrap();
        outer.commit().await.unwrap();
        assert_eq!((bench.ledger.records().await, bench.ledger.balance(1).await, bench.ledger.markers().await), (2, 0, 0));
        bench.redelivers().await;
        bench.serves().await;
    }

    /// A swallowed failure is taken back with the savepoint where the backend can; the caller is not told that its own
    /// transaction is over when it is not.
    async fn a_swallowed_failure(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outer = bench.pool.begin().await.unwrap();
        ledger::record(&outer, "before", 1).await.unwrap();
        let mut kept = None;
        let outcome = process(&outer, bench.key.clone(), async |tx| {
            ledger::credit(tx, 1, 1).await?;
            match db.backend() {
                Backend::Postgres => drop(tx.execute_unprepared("SELECT 1 / 0").await.unwrap_err()),
                // Nothing else that the others would not forgive.
                _ => kept = Some(tx.begin().await?),
            }
            Ok::<_, Failed>(())
        })
        .await;
        let error = aborted(outcome);
        assert!(!error.to_string().contains("your own transaction"), "{error}");
        ledger::record(&outer, "after", 1).await.unwrap();
        drop(kept);
        outer.commit().await.unwrap();
        assert_eq!((bench.ledger.records().await, bench.ledger.balance(1).await, bench.ledger.markers().await), (2, 0, 0));
        bench.redelivers().await;
        bench.serves().await;
    }

    /// A deadlock kills more than the savepoint, and the error says whose transaction is over.
    [postgres, mysql]
    async fn a_killed_transaction_says_so(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rivals = db.pool(1).await;
        let rival = rivals.begin().await.unwrap();
        match db.backend() {
            Backend::MySql => {
                for n in 0..50 {
                    ledger::record(&rival, &format!("rival-{n}"), 0).await.unwrap();
                }
            }
            _ => drop(rival.execute_unprepared("SET LOCAL deadlock_timeout = '60s'").await.unwrap()),
        }
        ledger::credit(&rival, 1, 0).await.unwrap();

        let outer = bench.pool.begin().await.unwrap();
        ledger::credit(&outer, 2, 1).await.unwrap();
        let wanting = tokio::spawn(async move {
            ledger::credit(&rival, 2, 0).await.unwrap();
            rival.rollback().await.unwrap();
        });
        db.lock_waiters(1).await;
        let outcome = process(&outer, bench.key.clone(), async |tx| {
            ledger::credit(tx, 1, 1).await.unwrap_err();
            Ok::<_, Failed>(())
        })
        .await;
        let error = aborted(outcome);
        assert!(error.is_transient() && error.to_string().contains("roll back your own transaction"), "{error}");
        let _ = outer.rollback().await;
        wanting.await.unwrap();
        bench.unharmed().await;
    }

    /// A snapshot that cannot show the winner's row. On MySQL the look is a locking read and sees it; PostgreSQL's cannot be
    /// made to, and that is never a duplicate.
    [postgres, mysql]
    async fn a_snapshot_taken_before_the_winner_committed(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outer = bench.pool.begin_with_config(Some(IsolationLevel::RepeatableRead), None).await.unwrap();
        outer.execute_unprepared("SELECT COUNT(*) FROM inbox_message").await.unwrap();
        let winner = db.pool(1).await;
        let won = process(&winner, bench.key.clone(), async |tx| Ok::<_, Failed>(ledger::credit(tx, 1, 1).await?)).await;
        assert_eq!(won.unwrap(), Outcome::Processed(()));

        let outcome = process(&outer, bench.key.clone(), async |_| Err::<(), _>(Failed::Own)).await;
        match db.backend() {
            Backend::MySql => assert_eq!(outcome.unwrap(), Outcome::Duplicate),
            _ => match outcome {
                Err(Failed::Inbox(error)) => assert!(error.is_transient(), "{error}"),
                other => panic!("{other:?}"),
            },
        }
        ledger::record(&outer, "after", 1).await.unwrap();
        outer.commit().await.unwrap();
        assert_eq!((bench.ledger.records().await, bench.ledger.balance(1).await, bench.ledger.markers().await), (1, 1, 1));
        bench.serves().await;
    }

    /// Dropped between two statements, in the middle of one, or in the middle of a stream: the caller's next statement is its
    /// own, and its commit commits.
    async fn a_delivery_that_is_dropped(db: TestDb) {
        let mut bench = Bench::new(&db).await;
        let slow = db.backend().pick(
            "SELECT pg_sleep(0.3)",
            "SELECT SLEEP(0.3)",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT max(i) FROM n",
        );
        let rows = db.backend().pick(
            "SELECT n, pg_sleep(0.1) FROM generate_series(1, 5) n",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i, SLEEP(0.1) FROM n",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i FROM n",
        );
        for place in ["between", "statement", "stream", "dropped stream"] {
            let outer = bench.pool.begin().await.unwrap();
            ledger::record(&outer, "before", 1).await.unwrap();
            let there = Notify::new();
            let delivery = process(&outer, bench.key.clone(), async |tx| {
                ledger::credit(tx, 1, 1).await?;
                there.notify_one();
                match place {
                    "statement" => {
                        tx.execute_unprepared(slow).await?;
                    }
                    "between" => {}
                    _ => {
                        let mut stream = tx.stream_raw(Statement::from_string(db.backend().db_backend(), rows)).await?;
                        while stream.try_next().await?.is_some() && place == "stream" {}
                    }
                }
                std::future::pending::<Result<(), Failed>>().await
            });
            // Not before it has come there: what is dropped in the middle of its SAVEPOINT takes the caller's transaction along.
            tokio::select! {
                outcome = delivery => panic!("{place}: {outcome:?}"),
                () = async {
                    there.notified().await;
                    tokio::time::sleep(Duration::from_millis(150)).await;
                } => {}
            }
            ledger::record(&outer, "after", 1).await.unwrap();
            outer.commit().await.unwrap();
            let stored = (bench.ledger.records().await, bench.ledger.balance(1).await, bench.ledger.markers().await);
            assert_eq!(stored, (2, 0, 0), "{place}");
            bench.redelivers().await;
            bench.serves().await;
            bench = bench.again().await;
        }
    }

    async fn options_are_refused(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outer = bench.pool.begin().await.unwrap();
        for options in [Options::new().fast_path(true), Options::new().isolation(IsolationLevel::ReadCommitted)] {
            let refused = process_with(&outer, key("refused"), &options, async |_| Ok::<_, Failed>(())).await;
            assert!(matches!(refused, Err(Failed::Inbox(Error::Options(_)))), "{refused:?}");
        }
        let refused = process_replayed(&outer, key("refused"), &Options::new(), 1, || async |_: &_| Ok::<_, Failed>(())).await;
        assert!(matches!(refused, Err(Failed::Inbox(Error::Options(_)))), "{refused:?}");
        ledger::credit(&outer, 1, 1).await.unwrap();
        outer.commit().await.unwrap();
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (1, 0));
        bench.serves().await;
    }
}
