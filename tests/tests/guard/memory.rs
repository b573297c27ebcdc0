//! The guard knows that a failure was transient, whatever the handler made of it, and `retries` goes by that.

use std::sync::atomic::{AtomicBool, Ordering};

use inbox_core::{InboxTransaction, Options, Outcome, is_transient, process_replayed};
use inbox_tests::{Backend, TestDb, backends, ledger, race::Count};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr, TransactionSession as _, TransactionTrait as _};
use tokio::sync::Mutex;

use super::cancelled::slow;
use super::support::{Bench, Delivered, Failed};

/// Something that makes a statement fail for a transient reason until it is over.
struct Busy {
    statement: &'static str,
    rival: Mutex<Option<DatabaseTransaction>>,
    over: AtomicBool,
}

impl Busy {
    /// PostgreSQL and MySQL wait for a row that another session holds. SQLite, whose writer is alone once it has begun, is told
    /// that the database is locked when it is asked for what a writer cannot do.
    async fn new(bench: &Bench) -> Self {
        let db = bench.db();
        let mut rival = None;
        if db.backend() != Backend::Sqlite {
            let patience = db.backend().pick("SET lock_timeout = '100ms'", "SET SESSION innodb_lock_wait_timeout = 1", "");
            bench.pool.execute_unprepared(patience).await.unwrap();
            let tx = db.pool(1).await.begin().await.unwrap();
            ledger::credit(&tx, 2, 0).await.unwrap();
            rival = Some(tx);
        }
        let update = "UPDATE acct SET bal = bal + 0 WHERE id = 2";
        let statement = db.backend().pick(update, update, "PRAGMA wal_checkpoint(TRUNCATE)");
        Self { statement, rival: Mutex::new(rival), over: AtomicBool::new(false) }
    }

    async fn meet(&self, tx: &impl ConnectionTrait) -> Result<(), DbErr> {
        if self.over.load(Ordering::SeqCst) {
            return Ok(());
        }
        let error = tx.execute_unprepared(self.statement).await.expect_err("nothing was busy");
        assert!(is_transient(&error), "{error}");
        Err(error)
    }

    async fn is_over(&self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(rival) = self.rival.lock().await.take() {
            rival.rollback().await.unwrap();
        }
    }
}

async fn replayed(bench: &Bench, retries: u32, body: impl AsyncFn(&InboxTransaction) -> Result<(), Failed>) -> Delivered<()> {
    process_replayed(&bench.pool, bench.key.clone(), &Options::new(), retries, || &body).await
}

backends! {
    async fn a_handler_that_hides_the_cause_is_replayed(db: TestDb) {
        let bench = Bench::new(&db).await;
        let (busy, bodies) = (Busy::new(&bench).await, Count::new());
        let outcome = replayed(&bench, 3, async |tx| {
            bodies.hit();
            ledger::credit(tx, 1, 1).await?;
            if busy.meet(tx).await.is_err() {
                busy.is_over().await;
                return Err(Failed::Own);
            }
            Ok(())
        })
        .await;
        assert_eq!(outcome.unwrap(), Outcome::Processed(()));
        assert_eq!((bodies.get(), bench.ledger.balance(1).await, bench.ledger.markers().await), (2, 1, 1));
        bench.serves().await;
    }

    /// A swallowed failure that ended the transaction is replayed, too. SQLite's did not, and the body's `Ok` is committed.
    [postgres, mysql]
    async fn a_body_that_goes_on_is_replayed(db: TestDb) {
        let bench = Bench::new(&db).await;
        let (busy, bodies) = (Busy::new(&bench).await, Count::new());
        let outcome = replayed(&bench, 3, async |tx| {
            bodies.hit();
            ledger::credit(tx, 1, 1).await?;
            let _ = busy.meet(tx).await;
            busy.is_over().await;
            Ok(())
        })
        .await;
        assert_eq!(outcome.unwrap(), Outcome::Processed(()));
        assert_eq!((bodies.get(), bench.ledger.balance(1).await, bench.ledger.markers().await), (2, 1, 1));
        bench.serves().await;
    }

    async fn a_cancelled_statement_is_replayed(db: TestDb) {
        let bench = Bench::new(&db).await;
        let bodies = Count::new();
        let outcome = replayed(&bench, 3, async |tx| {
            bodies.hit();
            if bodies.get() == 1 {
                slow(tx, db.backend()).await;
                return Err(Failed::Own);
            }
            Ok(ledger::credit(tx, 1, 1).await?)
        })
        .await;
        assert_eq!(outcome.unwrap(), Outcome::Processed(()));
        assert_eq!((bodies.get(), bench.ledger.balance(1).await, bench.ledger.records().await), (2, 1, 0));
        bench.serves().await;
    }

    async fn it_stops_in_the_end(db: TestDb) {
        let bench = Bench::new(&db).await;
        let (busy, bodies) = (Busy::new(&bench).await, Count::new());
        let outcome = replayed(&bench, 1, async |tx| {
            bodies.hit();
            busy.meet(tx).await.map_err(|_| Failed::Own)?;
            Ok(())
        })
        .await;
        assert!(matches!(outcome, Err(Failed::Own)), "{outcome:?}");
        assert_eq!(bodies.get(), 2);
        busy.is_over().await;
        bench.unharmed().await;
    }

    /// What is wrong with the message itself is not replayed; nor is a transient failure that a savepoint took back.
    async fn what_is_not_transient_is_not_replayed(db: TestDb) {
        let bench = Bench::new(&db).await;
        let (busy, bodies) = (Busy::new(&bench).await, Count::new());
        let outcome = replayed(&bench, 3, async |tx| {
            bodies.hit();
            if db.backend() == Backend::Postgres {
                let nested = tx.begin().await?;
                busy.meet(&nested).await.unwrap_err();
                nested.rollback().await?;
            }
            ledger::record(tx, "once", 1).await?;
            ledger::record(tx, "once", 2).await?;
            Ok(())
        })
        .await;
        assert!(matches!(outcome, Err(Failed::Db(_))), "{outcome:?}");
        assert_eq!(bodies.get(), 1);
        busy.is_over().await;
        bench.unharmed().await;
    }
}
