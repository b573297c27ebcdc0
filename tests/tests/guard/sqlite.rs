//! SQLite ends a transaction on its own; sqlx does not know, and its depth counter stays one off for the connection's life.

use inbox_tests::{Backend, TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, DatabaseTransaction, TransactionSession as _, TransactionTrait as _};

use super::support::{Bench, Delivered, Failed, aborted, key};

/// Each ends the transaction, and is an error.
const ENDS: [&str; 3] = [
    "INSERT OR ROLLBACK INTO acct (id, bal) VALUES (1, 0)",
    "UPDATE OR ROLLBACK acct SET id = 1 WHERE id = 2",
    "INSERT INTO raising (a) VALUES (1)",
];

async fn bench(db: &TestDb) -> Bench {
    assert_eq!(db.backend(), Backend::Sqlite);
    db.exec("CREATE TABLE raising (a int)").await;
    let bench = Bench::new(db).await;
    db.exec("CREATE TRIGGER raised BEFORE INSERT ON raising BEGIN SELECT RAISE(ROLLBACK, 'raised'); END").await;
    bench
}

/// One after the other on the same connection; none of it is stored.
async fn delivered_on(tx: &DatabaseTransaction, sql: &str, depth: usize) -> Delivered<()> {
    inbox_core::process(tx, key(sql), async |guard| {
        ledger::credit(guard, 1, 1).await?;
        let mut nested = Vec::new();
        for _ in 0..depth {
            let innermost = match nested.last() {
                Some(outer) => inbox_core::InboxTransaction::begin(outer).await?,
                None => guard.begin().await?,
            };
            nested.push(innermost);
        }
        guard.execute_unprepared(sql).await.unwrap_err();
        while let Some(innermost) = nested.pop() {
            let _ = innermost.rollback().await;
        }
        ledger::record(guard, "stray", 1).await.unwrap_err();
        Ok(())
    })
    .await
}

backends! {
    [sqlite]
    async fn an_error_that_rolls_back(db: TestDb) {
        let mut bench = bench(&db).await;
        for sql in ENDS {
            for depth in 0..4 {
                let outcome = bench
                    .deliver(async |tx| {
                        ledger::credit(tx, 1, 1).await?;
                        let mut nested: Vec<inbox_core::InboxTransaction> = Vec::new();
                        for _ in 0..depth {
                            let innermost = match nested.last() {
                                Some(outer) => outer.begin().await?,
                                None => tx.begin().await?,
                            };
                            nested.push(innermost);
                        }
                        tx.execute_unprepared(sql).await.unwrap_err();
                        // Would be committed on its own.
                        ledger::record(tx, "stray", 1).await.unwrap_err();
                        while let Some(innermost) = nested.pop() {
                            let _ = innermost.commit().await;
                        }
                        Ok(())
                    })
                    .await;
                aborted(outcome);
                bench.unharmed().await;
                bench = bench.again().await;
            }
        }
    }

    /// An error that ends nothing leaves the transaction, and its savepoints, as they were.
    [sqlite]
    async fn an_error_that_does_not(db: TestDb) {
        let bench = bench(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                for sql in ["INSERT INTO acct (id, bal) VALUES (1, 0)", "INSERT OR FAIL INTO acct (id, bal) VALUES (1, 0)", "SELECT nonsense"] {
                    let nested = tx.begin().await?;
                    ledger::credit(&nested, 1, 1).await?;
                    nested.execute_unprepared(sql).await.unwrap_err();
                    nested.commit().await?;
                }
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (3, 1));
        bench.serves().await;
    }

    /// Inside a caller's own transaction, at any depth of the caller's savepoints: the caller is told, and its connection is
    /// as good as before once it has rolled back.
    [sqlite]
    async fn in_a_callers_transaction(db: TestDb) {
        let mut bench = bench(&db).await;
        for callers_depth in 0..4 {
            for depth in [0, 2] {
                let outermost = bench.pool.begin().await.unwrap();
                ledger::record(&outermost, "callers", 1).await.unwrap();
                let mut savepoints = Vec::new();
                for _ in 0..callers_depth {
                    savepoints.push(outermost.begin().await.unwrap());
                }
                let innermost = savepoints.last().unwrap_or(&outermost);
                let error = aborted(delivered_on(innermost, ENDS[0], depth).await);
                assert!(error.to_string().contains("roll back your own transaction"), "{error}");
                while let Some(savepoint) = savepoints.pop() {
                    savepoint.rollback().await.unwrap();
                }
                outermost.rollback().await.unwrap();
                bench.unharmed().await;
                bench = bench.again().await;
            }
        }
    }

    /// A caller that does not roll back has at least been told; the connection is none the worse.
    [sqlite]
    async fn in_a_callers_transaction_that_is_committed_all_the_same(db: TestDb) {
        let bench = bench(&db).await;
        let outermost = bench.pool.begin().await.unwrap();
        let error = aborted(delivered_on(&outermost, ENDS[0], 1).await);
        assert!(error.to_string().contains("roll back your own transaction"), "{error}");
        outermost.commit().await.unwrap();
        bench.unharmed().await;
    }

    /// The handler's own error reaches the caller, whatever SQLite did.
    [sqlite]
    async fn a_body_that_gives_up(db: TestDb) {
        let bench = bench(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                tx.execute_unprepared(ENDS[0]).await.unwrap_err();
                Err::<(), _>(Failed::Own)
            })
            .await;
        assert!(matches!(outcome, Err(Failed::Own)), "{outcome:?}");
        bench.unharmed().await;
    }
}
