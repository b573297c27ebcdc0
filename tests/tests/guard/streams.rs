//! Streams: their errors are items, and what was not read may hold one.

use std::pin::pin;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use inbox_core::InboxTransaction;
use inbox_tests::{
    Backend, TestDb, backends,
    ledger::{self, acct, biz},
};
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, EntityTrait as _, QueryOrder as _, QueryResult, Statement,
    StreamTrait, TransactionSession as _, TransactionTrait as _,
};
use tokio::time::timeout;

use super::support::{Bench, aborted};

/// Rows of which a late one fails so that the transaction is over, and who makes it fail.
struct Failing {
    sql: &'static str,
    _rival: Option<DatabaseTransaction>,
}

impl Failing {
    /// PostgreSQL divides by zero in row 3. MySQL meets a lock in row 2 and gives up waiting. SQLite is told to roll back by
    /// the second statement of the text, which it runs ahead of the reader.
    async fn new(bench: &Bench, rival: &DatabaseConnection) -> Self {
        let sql = bench.db().backend().pick(
            "SELECT n / (3 - n) AS n FROM generate_series(1, 5) n",
            "SELECT id FROM acct ORDER BY id FOR UPDATE",
            "SELECT 1 AS n; INSERT OR ROLLBACK INTO acct (id, bal) VALUES (1, 0)",
        );
        let mut holding = None;
        if bench.db().backend() == Backend::MySql {
            bench.pool.execute_unprepared("SET SESSION innodb_lock_wait_timeout = 1").await.unwrap();
            let tx = rival.begin().await.unwrap();
            ledger::credit(&tx, 2, 0).await.unwrap();
            holding = Some(tx);
        }
        Self { sql, _rival: holding }
    }

    fn statement(&self, tx: &InboxTransaction) -> Statement {
        Statement::from_string(ConnectionTrait::get_database_backend(tx), self.sql)
    }
}

/// Five rows, nothing wrong with them.
fn numbers(tx: &impl ConnectionTrait) -> Statement {
    Statement::from_string(
        tx.get_database_backend(),
        "SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5",
    )
}

backends! {
    async fn an_error_in_the_middle_swallowed(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rival = db.pool(1).await;
        let failing = Failing::new(&bench, &rival).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                let items: Vec<Result<QueryResult, DbErr>> = tx.stream_raw(failing.statement(tx)).await?.collect().await;
                assert!(items.len() > 1 && items[0].is_ok() && items.last().unwrap().is_err());
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        assert_eq!(aborted(outcome).is_transient(), db.backend() == Backend::MySql);
        drop(failing);
        bench.unharmed().await;
    }

    /// The usual loop ends at the first error and drops the stream with it.
    async fn an_error_that_ends_the_loop(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rival = db.pool(1).await;
        let failing = Failing::new(&bench, &rival).await;
        let outcome = bench
            .deliver(async |tx| {
                let mut rows = tx.stream_raw(failing.statement(tx)).await?;
                while let Ok(row) = rows.try_next().await {
                    assert!(row.is_some(), "no error came");
                }
                drop(rows);
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        aborted(outcome);
        drop(failing);
        bench.unharmed().await;
    }

    async fn dropped_before_the_row_that_fails(db: TestDb) {
        let mut bench = Bench::new(&db).await;
        let rival = db.pool(1).await;
        for another_statement in [false, true] {
            let failing = Failing::new(&bench, &rival).await;
            let outcome = bench
                .deliver(async |tx| {
                    ledger::credit(tx, 1, 1).await?;
                    let first = tx.stream_raw(failing.statement(tx)).await?.try_next().await?;
                    assert!(first.is_some());
                    if another_statement {
                        ledger::record(tx, "stray", 1).await.unwrap_err();
                    }
                    Ok(())
                })
                .await;
            aborted(outcome);
            drop(failing);
            bench.unharmed().await;
            bench = bench.again().await;
        }
    }

    /// Asked for and given up before any answer: nobody knows what it did.
    [sqlite]
    async fn dropped_before_the_first_row(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                let refused = Statement::from_string(
                    ConnectionTrait::get_database_backend(tx),
                    // Slow enough to be given up.
                    "INSERT OR ROLLBACK INTO acct (id, bal) \
                     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT 1, max(i) FROM n RETURNING id",
                );
                let mut rows = tx.stream_raw(refused).await?;
                let asked = timeout(Duration::from_millis(5), rows.try_next()).await;
                assert!(asked.is_err(), "the statement was too quick for this test");
                drop(rows);
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        aborted(outcome);
        bench.unharmed().await;
    }

    async fn read_in_part_and_committed(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                for _ in 0..3 {
                    tx.stream_raw(numbers(tx)).await?.try_next().await?;
                    // Never asked for a row, it is never sent.
                    drop(tx.stream_raw(Statement::from_string(ConnectionTrait::get_database_backend(tx), "no such statement")).await?);
                    ledger::credit(tx, 1, 1).await?;
                }
                let nested = tx.begin().await?;
                nested.stream_raw(numbers(&nested)).await?.try_next().await?;
                nested.commit().await?;
                tx.stream_raw(numbers(tx)).await?.try_next().await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (3, 1));
        bench.serves().await;
    }

    /// A statement that waits for the stream's turn goes on when the stream is dropped, and not only when it is read out.
    async fn dropped_while_another_statement_waits(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let mut rows = tx.stream_raw(numbers(tx)).await?;
                rows.try_next().await?;
                let waiting = ledger::credit(tx, 1, 1);
                let dropped = async move {
                    tokio::task::yield_now().await;
                    drop(rows);
                };
                let both = timeout(Duration::from_secs(10), async { tokio::join!(dropped, waiting).1 }).await;
                both.expect("it waits for ever")?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!(bench.ledger.balance(1).await, 1);
        bench.serves().await;
    }

    async fn an_entitys_stream(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let mut sum = 0;
                {
                    let mut accounts = pin!(acct::Entity::find().order_by_asc(acct::Column::Id).stream(tx).await?.map_ok(|account| account.id));
                    while let Some(id) = accounts.try_next().await? {
                        sum += id;
                    }
                }
                ledger::credit(tx, 1, sum).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!(bench.ledger.balance(1).await, 3);
        bench.serves().await;
    }

    /// In a task of its own, on a nested transaction that moves there.
    async fn in_a_task(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::record(tx, "a", 1).await?;
                ledger::record(tx, "b", 2).await?;
                let nested = tx.begin().await?;
                let task = tokio::spawn(async move {
                    let rows = biz::Entity::find().stream(&nested).await?;
                    let sum = rows.try_fold(0, async |sum, row| Ok(sum + row.v)).await?;
                    ledger::credit(&nested, 1, sum).await?;
                    nested.commit().await
                });
                task.await.unwrap()?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!(bench.ledger.balance(1).await, 3);
        bench.serves().await;
    }
}
