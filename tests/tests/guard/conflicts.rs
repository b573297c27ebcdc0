//! Deadlocks, lock timeouts and serialization failures, each from two real sessions, swallowed by the body.

use inbox_core::{InboxTransaction, Options, is_transient, process_with};
use inbox_tests::{Backend, TestDb, backends, ledger};
use sea_orm::{
    ConnectionTrait as _, DatabaseConnection, DatabaseTransaction, DbBackend, IsolationLevel, TransactionSession as _,
    TransactionTrait as _,
};
use tokio::task::JoinHandle;

use super::support::{Bench, aborted};

/// Holds account 1 until told to want account 2, which the body holds by then.
struct Rival {
    pool: DatabaseConnection,
    tx: DatabaseTransaction,
}

impl Rival {
    async fn holding_account_1(bench: &Bench) -> Self {
        let pool = bench.db().pool(1).await;
        let tx = pool.begin().await.unwrap();
        match bench.db().backend() {
            // The heavier transaction survives: InnoDB rolls back the one that changed less.
            Backend::MySql => {
                for n in 0..50 {
                    ledger::record(&tx, &format!("rival-{n}"), 0).await.unwrap();
                }
            }
            // PostgreSQL kills who looks first, and looks after this long.
            _ => {
                tx.execute_unprepared("SET LOCAL deadlock_timeout = '60s'").await.unwrap();
            }
        }
        ledger::credit(&tx, 1, 0).await.unwrap();
        Self { pool, tx }
    }

    /// Waits for account 2 in a task of its own, and rolls back once it has it.
    fn want_account_2(self) -> JoinHandle<()> {
        tokio::spawn(async move {
            ledger::credit(&self.tx, 2, 0).await.unwrap();
            self.tx.rollback().await.unwrap();
            drop(self.pool);
        })
    }
}

/// Takes account 2, has the rival wait for it, and wants account 1: the database kills this side.
async fn deadlock(db: &TestDb, tx: &InboxTransaction, rival: Rival) -> JoinHandle<()> {
    if tx.get_database_backend() == DbBackend::Postgres {
        tx.execute_unprepared("SET LOCAL deadlock_timeout = '50ms'").await.unwrap();
    }
    ledger::credit(tx, 2, 1).await.unwrap();
    let rival = rival.want_account_2();
    db.lock_waiters(1).await;
    let error = ledger::credit(tx, 1, 1).await.expect_err("no deadlock");
    assert!(is_transient(&error), "{error}");
    rival
}

backends! {
    /// SQLite has one writer and no deadlock.
    [postgres, mysql]
    async fn swallowed_deadlock(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rival = Rival::holding_account_1(&bench).await;
        let mut joined = None;
        let outcome = bench
            .deliver(async |tx| {
                joined = Some(deadlock(&db, tx, rival).await);
                // On MySQL this would be committed on its own, and no rollback would take it back.
                let refused = ledger::record(tx, "stray", 1).await.unwrap_err();
                assert!(is_transient(&refused), "{refused}");
                Ok(())
            })
            .await;
        let error = aborted(outcome);
        assert!(error.is_transient(), "{error}");
        joined.unwrap().await.unwrap();
        bench.unharmed().await;
    }

    /// At any depth, whatever is rolled back to.
    [postgres, mysql]
    async fn a_deadlock_in_a_savepoint_is_not_forgiven(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rival = Rival::holding_account_1(&bench).await;
        let mut joined = None;
        let outcome = bench
            .deliver(async |tx| {
                let nested = tx.begin().await?;
                let inner = nested.begin().await?;
                joined = Some(deadlock(&db, &inner, rival).await);
                let _ = inner.rollback().await;
                let _ = nested.rollback().await;
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        assert!(aborted(outcome).is_transient());
        joined.unwrap().await.unwrap();
        bench.unharmed().await;
    }

    /// MySQL rolls back the one statement, and the marker would be committed without the change. PostgreSQL's is an error
    /// like any other.
    [postgres, mysql]
    async fn swallowed_lock_timeout(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rival = Rival::holding_account_1(&bench).await;
        let outcome = bench
            .deliver(async |tx| {
                let patience = db.backend().pick("SET LOCAL lock_timeout = '100ms'", "SET SESSION innodb_lock_wait_timeout = 1", "");
                tx.execute_unprepared(patience).await?;
                let error = ledger::credit(tx, 1, 1).await.unwrap_err();
                assert!(is_transient(&error), "{error}");
                ledger::record(tx, "stray", 1).await.unwrap_err();
                Ok(())
            })
            .await;
        assert!(aborted(outcome).is_transient());
        rival.tx.rollback().await.unwrap();
        bench.unharmed().await;
    }

    /// Inside a savepoint MySQL's is final; PostgreSQL's goes with the savepoint, and the rest is committed.
    [postgres, mysql]
    async fn a_lock_timeout_in_a_savepoint(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rival = Rival::holding_account_1(&bench).await;
        let outcome = bench
            .deliver(async |tx| {
                let patience = db.backend().pick("SET LOCAL lock_timeout = '100ms'", "SET SESSION innodb_lock_wait_timeout = 1", "");
                tx.execute_unprepared(patience).await?;
                let nested = tx.begin().await?;
                ledger::credit(&nested, 1, 1).await.unwrap_err();
                let _ = nested.rollback().await;
                let recorded = ledger::record(tx, "instead", 1).await;
                assert_eq!(recorded.is_ok(), db.backend() == Backend::Postgres);
                Ok(())
            })
            .await;
        rival.tx.rollback().await.unwrap();
        if db.backend() == Backend::Postgres {
            assert!(!outcome.unwrap().is_duplicate());
            assert_eq!((bench.ledger.records().await, bench.ledger.markers().await), (1, 1));
            bench.serves().await;
        } else {
            assert!(aborted(outcome).is_transient());
            bench.unharmed().await;
        }
    }

    /// Only PostgreSQL answers a statement with one.
    [postgres]
    async fn swallowed_serialization_failure(db: TestDb) {
        let bench = Bench::new(&db).await;
        let rival = db.pool(1).await;
        let options = Options::new().isolation(IsolationLevel::RepeatableRead);
        let outcome = process_with(&bench.pool, bench.key.clone(), &options, async |tx| {
            ledger::record(tx, "first", 1).await?;
            ledger::credit(&rival, 1, 0).await?;
            let nested = tx.begin().await?;
            let error = ledger::credit(&nested, 1, 1).await.unwrap_err();
            assert!(is_transient(&error), "{error}");
            let _ = nested.rollback().await;
            ledger::record(tx, "stray", 1).await.unwrap_err();
            Ok(())
        })
        .await;
        assert!(aborted(outcome).is_transient());
        bench.unharmed().await;
    }
}
