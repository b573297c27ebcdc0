//! A delivery inside another's body: a savepoint of it, with the same memory.

use inbox_core::{Error, Options, Outcome, process, process_replayed, process_with};
use inbox_tests::{Backend, TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, IsolationLevel, TransactionTrait as _};

use super::support::{Bench, Failed, aborted, key};

backends! {
    async fn another_message_is_committed_with_the_outer_one(db: TestDb) {
        let bench = Bench::new(&db).await;
        for delivery in 1..=2 {
            let outcome = bench
                .deliver(async |tx| {
                    ledger::credit(tx, 1, 1).await?;
                    let inner = process(tx, key("inner"), async |tx| {
                        assert_eq!(tx.key(), &key("inner"));
                        Ok::<_, Failed>(ledger::credit(tx, 2, 1).await?)
                    });
                    Ok(inner.await?.is_duplicate())
                })
                .await
                .unwrap();
            assert_eq!(outcome, if delivery == 1 { Outcome::Processed(false) } else { Outcome::Duplicate });
            assert_eq!((bench.ledger.balance(1).await, bench.ledger.balance(2).await, bench.ledger.markers().await), (1, 1, 2));
        }
        bench.serves().await;
    }

    /// It does not outlive the outer one's failure.
    async fn it_fails_with_the_outer_one(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let inner = process(tx, key("inner"), async |tx| Ok::<_, Failed>(ledger::credit(tx, 2, 1).await?));
                assert!(!inner.await?.is_duplicate());
                Err::<(), _>(Failed::Own)
            })
            .await;
        assert!(matches!(outcome, Err(Failed::Own)), "{outcome:?}");
        assert_eq!(bench.ledger.markers().await, 0, "the inner marker stayed");
        bench.unharmed().await;
    }

    /// Its own failure takes back its own work and no more.
    async fn it_fails_alone(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::record(tx, "once", 1).await?;
                let own = process(tx, key("inner"), async |tx| {
                    ledger::credit(tx, 2, 1).await?;
                    Err::<(), _>(Failed::Own)
                });
                assert!(matches!(own.await, Err(Failed::Own)));
                let databases = process(tx, key("inner"), async |tx| {
                    ledger::credit(tx, 2, 1).await?;
                    Ok::<_, Failed>(ledger::record(tx, "once", 2).await?)
                });
                assert!(matches!(databases.await, Err(Failed::Db(_))));
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.balance(2).await, bench.ledger.markers().await), (1, 0, 1));
        bench.serves().await;
    }

    /// The outer marker is visible inside: the same message again is a duplicate of itself, and nothing hangs.
    async fn the_same_message(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let inner = process(tx, bench.key.clone(), async |_| Err::<(), _>(Failed::Own));
                assert!(inner.await?.is_duplicate());
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (1, 1));
        bench.serves().await;
    }

    /// A duplicate inside leaves the outer one's work usable, on PostgreSQL as well, where it ends the transaction up to the
    /// savepoint.
    async fn a_duplicate_inside(db: TestDb) {
        let bench = Bench::new(&db).await;
        assert!(!process(&bench.pool, key("inner"), async |_| Ok::<_, Failed>(())).await.unwrap().is_duplicate());
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                let nested = tx.begin().await?;
                assert!(process(&nested, key("inner"), async |_| Err::<(), _>(Failed::Own)).await?.is_duplicate());
                ledger::credit(&nested, 1, 1).await?;
                sea_orm::TransactionSession::commit(nested).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (2, 2));
        bench.serves().await;
    }

    /// A failure that the inner body swallows aborts the inner delivery. On PostgreSQL its savepoint takes the failure back.
    [postgres]
    async fn a_swallowed_failure_inside(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let inner = process(tx, key("inner"), async |tx| {
                    tx.execute_unprepared("SELECT 1 / 0").await.unwrap_err();
                    Ok::<_, Failed>(())
                });
                aborted(inner.await);
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (1, 1));
        bench.serves().await;
    }

    /// What ends the whole transaction ends the outer delivery, too, whatever both bodies say.
    [postgres, mysql]
    async fn the_memory_is_shared(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rivals = db.pool(1).await;
        let rival = rivals.begin().await.unwrap();
        ledger::credit(&rival, 2, 0).await.unwrap();
        let outcome = bench
            .deliver(async |tx| {
                let patience = db.backend().pick("SET LOCAL lock_timeout = '100ms'", "SET SESSION innodb_lock_wait_timeout = 1", "");
                tx.execute_unprepared(patience).await?;
                let inner = process(tx, key("inner"), async |tx| {
                    ledger::credit(tx, 2, 1).await.unwrap_err();
                    Ok::<_, Failed>(())
                });
                assert!(aborted(inner.await).is_transient());
                assert_eq!(ledger::record(tx, "stray", 1).await.is_ok(), db.backend() == Backend::Postgres);
                Ok(())
            })
            .await;
        rival.rollback().await.unwrap();
        if db.backend() == Backend::Postgres {
            // A lock timeout is PostgreSQL's kindest error: the savepoint takes it back.
            assert!(!outcome.unwrap().is_duplicate());
            bench.serves().await;
        } else {
            assert!(aborted(outcome).is_transient());
            assert_eq!(bench.ledger.markers().await, 0);
            bench.unharmed().await;
        }
    }

    /// A handle that an inner body leaves open is in the inner delivery's way, and in the outer one's.
    async fn a_handle_left_open_inside(db: TestDb) {
        let bench = Bench::new(&db).await;
        let mut kept = None;
        let outcome = bench
            .deliver(async |tx| {
                let inner = process(tx, key("inner"), async |tx| {
                    ledger::credit(tx, 2, 1).await?;
                    kept = Some(tx.begin().await?);
                    Ok::<_, Failed>(())
                });
                aborted(inner.await);
                Ok(())
            })
            .await;
        aborted(outcome);
        assert_eq!(bench.ledger.markers().await, 0);
        drop(kept);
        bench.unharmed().await;
    }

    /// Dropped in the middle, it is rolled back before the outer body's next statement.
    async fn dropped_in_the_middle(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let inner = process(tx, key("inner"), async |tx| {
                    ledger::credit(tx, 2, 1).await?;
                    std::future::pending::<Result<(), Failed>>().await
                });
                tokio::time::timeout(std::time::Duration::from_millis(100), inner).await.map(drop).unwrap_err();
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.balance(2).await, bench.ledger.markers().await), (1, 0, 1));
        bench.serves().await;
    }

    async fn options_are_refused(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                for options in [Options::new().fast_path(true), Options::new().isolation(IsolationLevel::Serializable)] {
                    let refused = process_with(tx, key("inner"), &options, async |_| Ok::<_, Failed>(())).await;
                    assert!(matches!(refused, Err(Failed::Inbox(Error::Options(_)))), "{refused:?}");
                }
                let refused = process_replayed(tx, key("inner"), &Options::new(), 1, || async |_: &_| Ok::<_, Failed>(())).await;
                assert!(matches!(refused, Err(Failed::Inbox(Error::Options(_)))), "{refused:?}");
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (1, 1));
        bench.serves().await;
    }
}
