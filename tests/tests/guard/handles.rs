//! Handles that outlive their turn: `commit()` with one of them alive would only release a savepoint, say `Ok`, and lose
//! everything.

use std::mem;
use std::sync::{Arc, Mutex};

use inbox_core::InboxTransaction;
use inbox_tests::{TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, TransactionSession as _, TransactionTrait as _};
use tokio::{join, sync::oneshot};

use super::support::{Bench, aborted};

backends! {
    async fn a_leaked_handle(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                let nested = tx.begin().await?;
                ledger::record(&nested, "nested", 1).await?;
                mem::forget(nested);
                Ok(())
            })
            .await;
        let error = aborted(outcome);
        assert!(!error.is_transient() && error.to_string().contains("still open"), "{error}");
        bench.unharmed().await;
    }

    async fn a_stored_handle(db: TestDb) {
        let bench = Bench::new(&db).await;
        let kept: Arc<Mutex<Option<InboxTransaction>>> = Arc::default();
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                let nested = tx.begin().await?;
                ledger::record(&nested, "nested", 1).await?;
                *kept.lock().unwrap() = Some(nested);
                Ok(())
            })
            .await;
        aborted(outcome);
        bench.nothing_stored().await;

        // Whatever is done with it afterwards: it has no connection any more.
        let nested = kept.lock().unwrap().take().unwrap();
        for refused in [ledger::record(&nested, "late", 1).await, nested.begin().await.map(drop), nested.execute_unprepared("SELECT 1").await.map(drop)] {
            assert!(refused.unwrap_err().to_string().contains("has ended"));
        }
        nested.commit().await.unwrap_err();
        bench.unharmed().await;
    }

    async fn a_handle_that_is_dropped_after_the_end(db: TestDb) {
        let bench = Bench::new(&db).await;
        let mut kept = None;
        let outcome = bench
            .deliver(async |tx| {
                kept = Some(tx.begin().await?);
                Ok(())
            })
            .await;
        aborted(outcome);
        drop(kept);
        bench.unharmed().await;
    }

    async fn a_handle_in_a_task_that_still_runs(db: TestDb) {
        let bench = Bench::new(&db).await;
        let (go, wait) = oneshot::channel::<()>();
        let mut task = None;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                let nested = tx.begin().await?;
                ledger::record(&nested, "nested", 1).await?;
                task = Some(tokio::spawn(async move {
                    wait.await.unwrap();
                    let late = ledger::record(&nested, "late", 1).await;
                    (late.is_err(), nested.commit().await.is_err())
                }));
                Ok(())
            })
            .await;
        aborted(outcome);
        bench.nothing_stored().await;
        go.send(()).unwrap();
        assert_eq!(task.unwrap().await.unwrap(), (true, true), "a handle worked after the end");
        bench.unharmed().await;
    }

    /// Waited for, a task is as good as the body.
    async fn a_handle_in_a_task_that_is_joined(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let nested = tx.begin().await?;
                let task = tokio::spawn(async move {
                    ledger::credit(&nested, 1, 1).await?;
                    nested.commit().await
                });
                task.await.unwrap()?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (1, 1));
        bench.serves().await;
    }

    async fn settled_out_of_order(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let outer = tx.begin().await?;
                let inner = outer.begin().await?;
                ledger::record(&inner, "inner", 1).await?;
                // SeaORM's own would release the inner savepoint and say `Ok`.
                outer.commit().await.unwrap_err();
                ledger::record(&inner, "later", 1).await.unwrap_err();
                inner.commit().await.unwrap_err();
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        assert!(aborted(outcome).to_string().contains("before an inner one"));
        bench.unharmed().await;
    }

    /// A body that panics with handles open leaves a clean connection, too.
    async fn a_panic_with_handles_open(db: TestDb) {
        let bench = Arc::new(Bench::new(&db).await);
        let (joined, kept) = (Arc::clone(&bench), Arc::new(Mutex::new(None)));
        let leaked = Arc::clone(&kept);
        let panicked = tokio::spawn(async move {
            joined
                .deliver(async |tx| {
                    let nested = tx.begin().await?;
                    ledger::record(&nested, "nested", 1).await?;
                    let inner = nested.begin().await?;
                    *leaked.lock().unwrap() = Some(inner);
                    panic!("the body's own");
                    #[allow(unreachable_code)]
                    Ok(())
                })
                .await
        });
        assert!(panicked.await.unwrap_err().is_panic());
        bench.unharmed().await;
        drop(kept.lock().unwrap().take());
        assert_eq!(bench.ledger.markers().await, 21);
    }

    /// One connection: statements that are awaited together run one after the other, and all of them are committed.
    async fn statements_at_once(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let (a, b, c) = join!(ledger::record(tx, "a", 1), ledger::credit(tx, 1, 1), async {
                    let nested = tx.begin().await?;
                    nested.commit().await
                });
                a.and(b).and(c)?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.records().await, bench.ledger.balance(1).await), (1, 1));
        bench.serves().await;
    }

    /// One of them fails on PostgreSQL: nobody slips in between the failure and the knowledge of it.
    [postgres]
    async fn statements_at_once_of_which_one_fails(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let (failed, b, c) =
                    join!(tx.execute_unprepared("SELECT 1 / 0"), ledger::record(tx, "b", 1), ledger::credit(tx, 1, 1));
                assert!(failed.is_err() && b.is_err() && c.is_err());
                Ok(())
            })
            .await;
        aborted(outcome);
        bench.unharmed().await;
    }
}
