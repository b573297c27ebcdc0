//! The server ends the session in the middle of a body.

use std::time::Duration;

use inbox_core::{Error, InboxTransaction};
use inbox_tests::{Backend, TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, Statement, TransactionSession as _, TransactionTrait as _};

use super::support::{Bench, Failed, aborted};

async fn kill(db: &TestDb, tx: &InboxTransaction) {
    let own = db.backend().pick("SELECT pg_backend_pid()::bigint", "SELECT CAST(CONNECTION_ID() AS SIGNED)", "");
    let row = tx.query_one_raw(Statement::from_string(db.backend().db_backend(), own)).await.unwrap().unwrap();
    let session: i64 = row.try_get_by_index(0).unwrap();
    match db.backend() {
        Backend::Postgres => db.exec(&format!("SELECT pg_terminate_backend({session})")).await,
        _ => db.exec(&format!("KILL {session}")).await,
    }
}

backends! {
    [postgres, mysql]
    async fn a_killed_session_swallowed(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                kill(&db, tx).await;
                ledger::credit(tx, 1, 1).await.unwrap_err();
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        assert!(aborted(outcome).is_transient());
        bench.unharmed().await;
    }

    [postgres, mysql]
    async fn in_a_savepoint(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let nested = tx.begin().await?;
                kill(&db, &nested).await;
                ledger::credit(&nested, 1, 1).await.unwrap_err();
                let _ = nested.rollback().await;
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        assert!(aborted(outcome).is_transient());
        bench.unharmed().await;
    }

    /// Found out by COMMIT: the outcome is called unknown, and the redelivery decides.
    [postgres, mysql]
    async fn found_out_by_commit(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                kill(&db, tx).await;
                Ok(())
            })
            .await;
        match outcome {
            Err(Failed::Inbox(error @ Error::Commit(_))) => assert!(error.is_transient()),
            other => panic!("{other:?}"),
        }
        bench.unharmed().await;
    }

    /// PostgreSQL ends a session that idles in its transaction (25P03).
    [postgres]
    async fn idle_for_too_long(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                tx.execute_unprepared("SET LOCAL idle_in_transaction_session_timeout = '50ms'").await?;
                tokio::time::sleep(Duration::from_millis(250)).await;
                ledger::credit(tx, 1, 1).await.unwrap_err();
                Ok(())
            })
            .await;
        assert!(aborted(outcome).is_transient());
        bench.unharmed().await;
    }
}
