//! What hides in a CALL cannot be refused by its keyword. On MySQL a procedure may commit the marker while the body fails: the
//! rollback finds it, takes it back, and the redelivery runs.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use inbox_core::{InboxTransaction, process};
use inbox_tests::{
    TestDb, backends, ledger,
    proxy::{Action, Moment, Passing, Proxy},
};
use sea_orm::{ConnectionTrait as _, Statement, StreamTrait as _, TransactionSession as _, TransactionTrait as _};

use super::support::{Bench, Delivered, Failed, aborted, key, until};

async fn bench(db: &TestDb) -> Bench {
    let bench = Bench::new(db).await;
    db.exec("CREATE PROCEDURE commits() COMMIT").await;
    db.exec("CREATE PROCEDURE truncates() TRUNCATE entry").await;
    db.exec("CREATE PROCEDURE innocent() SELECT 1").await;
    bench
}

async fn call(tx: &InboxTransaction, procedure: &str) -> Result<(), Failed> {
    tx.execute_unprepared(&format!("CALL {procedure}()")).await?;
    Ok(())
}

/// What the procedure had committed cannot be taken back; the marker is, and the redelivery runs.
fn ended_by_body(outcome: Delivered<()>) {
    let error = aborted(outcome);
    assert!(!error.is_transient() && error.to_string().contains("taken back"), "{error}");
}

async fn taken_back(bench: &Bench) {
    assert_eq!(bench.ledger.markers_of(*bench.key.message_id().as_uuid()).await, 0, "the marker stayed: every redelivery is a duplicate");
    bench.redelivers().await;
    bench.serves().await;
}

backends! {
    [mysql]
    async fn a_procedure_that_commits_and_a_body_that_fails(db: TestDb) {
        let mut bench = bench(&db).await;
        for procedure in ["commits", "truncates"] {
            let outcome = bench
                .deliver(async |tx| {
                    ledger::credit(tx, 1, 1).await?;
                    call(tx, procedure).await?;
                    Err(Failed::Own)
                })
                .await;
            ended_by_body(outcome);
            taken_back(&bench).await;
            bench = bench.again().await;
        }
    }

    /// The rollback of a savepoint fails, because the commit has removed it: the same, with or without the body's `Ok`.
    [mysql]
    async fn inside_a_savepoint(db: TestDb) {
        let mut bench = bench(&db).await;
        for gives_up in [false, true] {
            let outcome = bench
                .deliver(async |tx| {
                    let nested = tx.begin().await?;
                    ledger::credit(&nested, 1, 1).await?;
                    call(&nested, "commits").await?;
                    nested.rollback().await.unwrap_err();
                    ledger::record(tx, "stray", 1).await.unwrap_err();
                    if gives_up { Err(Failed::Own) } else { Ok(()) }
                })
                .await;
            ended_by_body(outcome);
            assert_eq!(bench.ledger.records().await, 0);
            taken_back(&bench).await;
            bench = bench.again().await;
        }
    }

    [mysql]
    async fn a_nested_delivery(db: TestDb) {
        let bench = bench(&db).await;
        let inner_key = key("inner");
        let outcome = bench
            .deliver(async |tx| {
                let inner = process(tx, inner_key.clone(), async |tx| {
                    call(tx, "commits").await?;
                    Err::<(), _>(Failed::Own)
                });
                assert!(matches!(inner.await, Err(Failed::Own)));
                Ok(())
            })
            .await;
        ended_by_body(outcome);
        assert_eq!(bench.ledger.markers().await, 0, "the inner delivery's marker stayed");
        taken_back(&bench).await;
    }

    [mysql]
    async fn a_body_that_panics(db: TestDb) {
        let bench = bench(&db).await;
        let pool = bench.pool.clone();
        let key = bench.key.clone();
        let panicked = tokio::spawn(async move {
            let _ = process(&pool, key, async |tx| {
                call(tx, "commits").await?;
                assert_eq!(tx.key().consumer().as_str(), "the body's own panic");
                Ok::<_, Failed>(())
            })
            .await;
        });
        assert!(panicked.await.unwrap_err().is_panic());
        until(&db, "SELECT COUNT(*) = 0 FROM inbox_message").await;
        taken_back(&bench).await;
    }

    /// Dropped between two statements, in the middle of one, and in the middle of a stream.
    [mysql]
    async fn a_delivery_that_is_dropped(db: TestDb) {
        let mut bench = bench(&db).await;
        for sql in [None, Some("SELECT SLEEP(0.3)"), Some("SELECT SLEEP(0.1) UNION ALL SELECT SLEEP(0.1) UNION ALL SELECT SLEEP(0.1)")] {
            let delivery = bench.deliver(async |tx| {
                call(tx, "commits").await?;
                match sql {
                    Some(sql) if sql.contains("UNION") => {
                        let statement = Statement::from_string(db.backend().db_backend(), sql);
                        let mut rows = tx.stream_raw(statement).await?;
                        while rows.try_next().await?.is_some() {}
                    }
                    Some(sql) => {
                        tx.execute_unprepared(sql).await?;
                    }
                    None => {}
                }
                std::future::pending::<Result<(), Failed>>().await
            });
            tokio::select! {
                outcome = delivery => panic!("{outcome:?}"),
                () = async {
                    until(&db, "SELECT COUNT(*) = 1 FROM inbox_message").await;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                } => {}
            }
            until(&db, "SELECT COUNT(*) = 0 FROM inbox_message").await;
            taken_back(&bench).await;
            bench = bench.again().await;
        }
    }

    /// Given up after the body failed, while the marker is looked for.
    [mysql]
    async fn a_delivery_that_is_dropped_while_it_looks(db: TestDb) {
        let mut bench = bench(&db).await;
        let proxy = Proxy::start(&db).await;
        bench.pool = proxy.pool(1).await;
        for passing in ["ROLLBACK", "SELECT id FROM inbox_message", "DELETE FROM inbox_message"] {
            let hit = proxy.on(Passing::Statement(passing.into()), Moment::BeforeRequest, Action::Hold);
            let delivery = bench.deliver(async |tx| {
                call(tx, "commits").await?;
                Err::<(), _>(Failed::Own)
            });
            tokio::select! {
                outcome = delivery => panic!("{passing} was held, and yet: {outcome:?}"),
                () = hit.reached() => {}
            }
            hit.release();
            until(&db, "SELECT COUNT(*) = 0 FROM inbox_message").await;
            taken_back(&bench).await;
            bench = Bench { pool: bench.pool.clone(), ..bench.again().await };
        }
    }

    /// The marker that a redelivery wrote meanwhile is another one, with the same message and consumer.
    [mysql]
    async fn a_redelivery_meanwhile(db: TestDb) {
        let bench = bench(&db).await;
        db.exec("CREATE PROCEDURE rolls_back() ROLLBACK").await;
        let replica = db.pool(1).await;
        let outcome = bench
            .deliver(async |tx| {
                call(tx, "rolls_back").await?;
                let redelivery = process(&replica, bench.key.clone(), async |tx| Ok::<_, Failed>(ledger::credit(tx, 1, 1).await?));
                assert!(!redelivery.await?.is_duplicate());
                Err::<(), _>(Failed::Own)
            })
            .await;
        assert!(matches!(outcome, Err(Failed::Own)), "{outcome:?}");
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (1, 1), "the other delivery's marker is gone");
        bench.serves().await;
    }

    /// In a caller's transaction, which is over, too.
    [mysql]
    async fn in_a_callers_transaction(db: TestDb) {
        let bench = bench(&db).await;
        let outer = bench.pool.begin().await.unwrap();
        let outcome = process(&outer, bench.key.clone(), async |tx| {
            call(tx, "commits").await?;
            Err::<(), _>(Failed::Own)
        })
        .await;
        let error = aborted(outcome);
        assert!(error.to_string().contains("your own transaction is over"), "{error}");
        outer.rollback().await.unwrap();
        taken_back(&bench).await;
    }

    /// A failed delivery looks once, and a procedure that commits nothing is none of its business.
    [mysql]
    async fn a_procedure_that_is_innocent(db: TestDb) {
        let bench = bench(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                call(tx, "innocent").await?;
                Err::<(), _>(Failed::Own)
            })
            .await;
        assert!(matches!(outcome, Err(Failed::Own)), "{outcome:?}");
        bench.unharmed().await;
    }

    /// PostgreSQL lets no procedure end a transaction that it did not begin: the CALL is an error like any other.
    [postgres]
    async fn postgres_refuses_it(db: TestDb) {
        let bench = Bench::new(&db).await;
        db.exec("CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$").await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                call(tx, "commits").await.unwrap_err();
                tx.execute_unprepared("DO $$ BEGIN ROLLBACK; END $$").await.unwrap_err();
                Ok(())
            })
            .await;
        aborted(outcome);
        bench.unharmed().await;
    }
}
