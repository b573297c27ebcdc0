//! COMMIT itself may fail: nothing is stored, it is never a duplicate, and the connection is as good as before.

use inbox_core::{Error, Options, process_with};
use inbox_tests::{TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, IsolationLevel, TransactionTrait as _};

use super::support::{Bench, Delivered, Failed};

fn refused(outcome: Delivered<()>) -> Error {
    match outcome {
        Err(Failed::Inbox(error @ Error::Refused(_))) => error,
        other => panic!("not refused: {other:?}"),
    }
}

backends! {
    /// A unique violation that arrives with COMMIT is not the marker's.
    [postgres]
    async fn a_deferred_unique_constraint(db: TestDb) {
        let bench = Bench::new(&db).await;
        db.exec("ALTER TABLE biz ADD CONSTRAINT later UNIQUE (v) DEFERRABLE INITIALLY DEFERRED").await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::record(tx, "a", 7).await?;
                ledger::record(tx, "b", 7).await?;
                Ok(())
            })
            .await;
        assert!(!refused(outcome).is_transient());
        db.exec("ALTER TABLE biz DROP CONSTRAINT later").await;
        bench.unharmed().await;
    }

    [postgres, sqlite]
    async fn a_deferred_foreign_key(db: TestDb) {
        let bench = Bench::new(&db).await;
        let defer = db.backend().pick("SET CONSTRAINTS ALL DEFERRED", "", "PRAGMA defer_foreign_keys = ON");
        let alter = db.backend().pick("ALTER TABLE entry ALTER CONSTRAINT entry_acct DEFERRABLE", "", "SELECT 1");
        db.exec(alter).await;
        let outcome = bench
            .deliver(async |tx| {
                tx.execute_unprepared(defer).await?;
                tx.execute_unprepared("INSERT INTO entry (acct_id, qty) VALUES (404, 1)").await?;
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!refused(outcome).is_transient());
        assert_eq!(db.count("entry").await, 0);
        bench.unharmed().await;
    }

    /// Two transactions that read what the other wrote; the other one is committed first.
    [postgres]
    async fn a_serialization_failure(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rival = db.pool(1).await;
        let rivals = rival.begin_with_config(Some(IsolationLevel::Serializable), None).await.unwrap();
        let options = Options::new().isolation(IsolationLevel::Serializable);
        let outcome = process_with(&bench.pool, bench.key.clone(), &options, async |tx| {
            tx.execute_unprepared("SELECT bal FROM acct WHERE id = 2").await?;
            ledger::credit(tx, 1, 1).await?;
            rivals.execute_unprepared("SELECT bal FROM acct WHERE id = 1").await?;
            ledger::credit(&rivals, 2, 0).await?;
            rivals.commit().await?;
            Ok(())
        })
        .await;
        assert!(refused(outcome).is_transient());
        bench.unharmed().await;
    }
}
