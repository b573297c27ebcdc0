//! Nested transactions: what a savepoint takes back, and what it cannot.

use inbox_tests::{Backend, TestDb, backends, ledger};
use sea_orm::{
    AccessMode, ConnectionTrait as _, DbErr, IsolationLevel, TransactionError, TransactionOptions, TransactionSession as _,
    TransactionTrait as _,
};

use super::support::{Bench, aborted};

backends! {
    async fn what_a_savepoint_commits_is_committed(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let outer = tx.begin().await?;
                ledger::record(&outer, "outer", 1).await?;
                let inner = outer.begin().await?;
                ledger::record(&inner, "inner", 1).await?;
                assert_eq!(inner.key(), tx.key());
                inner.commit().await?;
                outer.commit().await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.records().await, bench.ledger.markers().await), (2, 1));
        bench.serves().await;
    }

    /// On PostgreSQL any failed statement ends the transaction; the rollback of the savepoint revives it.
    async fn a_failure_inside_is_forgiven(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::record(tx, "once", 1).await?;
                let nested = tx.begin().await?;
                ledger::credit(&nested, 2, 1).await?;
                ledger::record(&nested, "once", 2).await.unwrap_err();
                nested.rollback().await?;
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.balance(2).await), (1, 0));
        assert_eq!((bench.ledger.records().await, bench.ledger.markers().await), (1, 1));
        bench.serves().await;
    }

    /// The same without a savepoint: PostgreSQL would answer COMMIT with `Ok` and roll back.
    [postgres]
    async fn a_swallowed_failure_is_not_forgiven(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                tx.execute_unprepared("SELECT 1 / 0").await.unwrap_err();
                let refused = ledger::credit(tx, 1, 1).await.unwrap_err().to_string();
                assert!(refused.contains("division by zero"), "the cause is not told: {refused}");
                Ok(())
            })
            .await;
        let error = aborted(outcome);
        assert!(!error.is_transient() && error.to_string().contains("division by zero"), "{error}");
        bench.unharmed().await;
    }

    /// MySQL and SQLite roll back the one statement, and what the body makes of its error is the body's business.
    [mysql, sqlite]
    async fn a_swallowed_failure_that_ended_nothing(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::record(tx, "once", 1).await?;
                ledger::record(tx, "once", 2).await.unwrap_err();
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.records().await, bench.ledger.balance(1).await, bench.ledger.markers().await), (1, 1, 1));
        bench.serves().await;
    }

    /// A savepoint cannot be committed after a failure that only its rollback takes back; the commit says so and rolls back.
    [postgres]
    async fn a_failure_inside_and_then_commit(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let nested = tx.begin().await?;
                ledger::record(&nested, "lost", 1).await?;
                nested.execute_unprepared("SELECT 1 / 0").await.unwrap_err();
                nested.commit().await.unwrap_err();
                ledger::record(tx, "kept", 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.records().await, bench.ledger.records_of("kept").await, bench.ledger.markers().await), (1, 1, 1));
        bench.serves().await;
    }

    /// Rolling back an inner savepoint does not heal what happened in the one around it.
    [postgres]
    async fn only_its_own_savepoint_heals(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let nested = tx.begin().await?;
                nested.execute_unprepared("SELECT 1 / 0").await.unwrap_err();
                nested.begin().await.map(drop).unwrap_err();
                ledger::record(tx, "stray", 1).await.unwrap_err();
                // Leaves it open, too.
                std::mem::forget(nested);
                Ok(())
            })
            .await;
        aborted(outcome);
        bench.unharmed().await;
    }

    /// The rollback of a dropped handle is sent and seen before the next statement, and before the commit.
    async fn a_dropped_handle_is_rolled_back(db: TestDb) {
        let mut bench = Bench::new(&db).await;
        for last in [false, true] {
            let outcome = bench
                .deliver(async |tx| {
                    ledger::record(tx, "kept", 1).await?;
                    let nested = tx.begin().await?;
                    let inner = nested.begin().await?;
                    ledger::record(&inner, "gone", 1).await?;
                    if db.backend() == Backend::Postgres {
                        inner.execute_unprepared("SELECT 1 / 0").await.unwrap_err();
                    }
                    drop(nested);
                    drop(inner);
                    if !last {
                        ledger::credit(tx, 1, 1).await?;
                    }
                    Ok(())
                })
                .await;
            assert!(!outcome.unwrap().is_duplicate());
            assert_eq!((bench.ledger.records().await, bench.ledger.records_of("kept").await), (1, 1));
            assert_eq!(bench.ledger.balance(1).await, i64::from(!last));
            bench.serves().await;
            bench = bench.again().await;
        }
    }

    /// SeaORM's own closures.
    async fn through_transaction(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let value = tx
                    .transaction::<_, _, DbErr>(|nested| Box::pin(async move { ledger::record(nested, "kept", 1).await.map(|()| 7) }))
                    .await
                    .map_err(|error| DbErr::Custom(error.to_string()))?;
                let error = tx
                    .transaction::<_, (), DbErr>(|nested| {
                        Box::pin(async move {
                            ledger::record(nested, "gone", 1).await?;
                            ledger::record(nested, "kept", 2).await
                        })
                    })
                    .await
                    .unwrap_err();
                assert!(matches!(error, TransactionError::Transaction(_)), "the callback's own error: {error}");
                tx.transaction_with_config::<_, (), DbErr>(|nested| Box::pin(ledger::credit(nested, 1, value)), None, None)
                    .await
                    .map_err(|error| DbErr::Custom(error.to_string()))?;
                Ok(value)
            })
            .await;
        assert_eq!(outcome.unwrap().processed(), Some(7));
        assert_eq!((bench.ledger.records().await, bench.ledger.balance(1).await), (1, 7));
        bench.serves().await;
    }

    /// A savepoint has no isolation level: asked for, it is an error that tells where to set it, and nothing is harmed.
    async fn a_level_of_its_own_is_refused(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let level = Some(IsolationLevel::Serializable);
                for refused in [
                    tx.begin_with_config(level, None).await.map(drop),
                    tx.begin_with_config(None, Some(AccessMode::ReadOnly)).await.map(drop),
                    tx.begin_with_options(TransactionOptions { isolation_level: level, ..Default::default() }).await.map(drop),
                ] {
                    assert!(refused.unwrap_err().to_string().contains("Options::isolation"));
                }
                let callback = tx
                    .transaction_with_config::<_, (), DbErr>(|nested| Box::pin(ledger::credit(nested, 1, 1)), level, None)
                    .await
                    .unwrap_err();
                assert!(matches!(callback, TransactionError::Connection(_)), "{callback}");
                tx.begin_with_options(TransactionOptions::default()).await?.commit().await?;
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!(bench.ledger.balance(1).await, 1);
        bench.serves().await;
    }

    /// What an outer handle sends while a savepoint is open goes with the savepoint's rollback, and that is not passed over.
    async fn a_rollback_takes_an_outer_handles_statement_along(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let nested = tx.begin().await?;
                ledger::credit(tx, 1, 1).await?;
                nested.rollback().await?;
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        assert!(aborted(outcome).to_string().contains("statements of an outer one"));
        bench.unharmed().await;
    }

    /// Committed, they stay like the rest.
    async fn a_commit_keeps_an_outer_handles_statement(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let outer = tx.begin().await?;
                let inner = outer.begin().await?;
                ledger::credit(&outer, 1, 1).await?;
                inner.commit().await?;
                outer.commit().await?;
                // Whoever is rolled back as a whole has lost nothing of another's.
                let outer = tx.begin().await?;
                let inner = outer.begin().await?;
                ledger::credit(&outer, 2, 1).await?;
                drop(inner);
                drop(outer);
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.balance(2).await), (1, 0));
        bench.serves().await;
    }
}
