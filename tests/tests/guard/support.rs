//! One delivery on a pool of one connection, and what has to be true after it failed.

use std::fmt::Debug;
use std::time::Duration;

use inbox_core::{Consumer, Error, InboxKey, InboxTransaction, MessageId, Outcome, process};
use inbox_tests::{Ledger, TestDb, ledger};
use sea_orm::{DatabaseConnection, DbErr};

/// What a body under test fails with. It tells the delivery's own errors from the database's and from the handler's.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(transparent)]
    Inbox(#[from] Error),
    #[error(transparent)]
    Db(#[from] DbErr),
    #[error("the body's own")]
    Own,
}

pub(crate) type Delivered<T> = Result<Outcome<T>, Failed>;

/// A ledger, and one pool of one connection: what a delivery does to its connection, the next one meets.
pub(crate) struct Bench {
    pub(crate) ledger: Ledger,
    pub(crate) pool: DatabaseConnection,
    /// The message under test.
    pub(crate) key: InboxKey,
}

impl Bench {
    pub(crate) async fn new(db: &TestDb) -> Self {
        let ledger = Ledger::new(db).await;
        ledger.open(2, 0).await;
        Self { ledger, pool: db.pool(1).await, key: key("under-test") }
    }

    /// The same once more, in a test of two halves: another message, another connection, and nothing left of the first.
    pub(crate) async fn again(self) -> Self {
        let db = self.db().clone();
        for sql in ["DELETE FROM biz", "DELETE FROM inbox_message", "UPDATE acct SET bal = 0"] {
            db.exec(sql).await;
        }
        Self { pool: db.pool(1).await, key: key("under-test-again"), ..self }
    }

    pub(crate) fn db(&self) -> &TestDb {
        self.ledger.db()
    }

    /// Delivers the message under test.
    pub(crate) async fn deliver<T>(&self, body: impl AsyncFnOnce(&InboxTransaction) -> Result<T, Failed>) -> Delivered<T> {
        process(&self.pool, self.key.clone(), body).await
    }

    /// Nothing of the delivery stayed.
    pub(crate) async fn nothing_stored(&self) {
        assert_eq!(self.ledger.markers_of(*self.key.message_id().as_uuid()).await, 0, "a marker stayed");
        assert_eq!(self.ledger.records().await, 0, "a row stayed");
        assert_eq!((self.ledger.balance(1).await, self.ledger.balance(2).await), (0, 0), "an update stayed");
    }

    /// What the delivery left is nothing: the redelivery runs and takes effect once, and the connection serves 20 more.
    pub(crate) async fn unharmed(&self) {
        self.nothing_stored().await;
        self.redelivers().await;
        self.serves().await;
    }

    /// The redelivery runs the body, and the one after it does not.
    pub(crate) async fn redelivers(&self) {
        let before = self.ledger.balance(1).await;
        for delivery in 1..=2 {
            let outcome = self.deliver(async |tx| Ok(ledger::credit(tx, 1, 100).await?)).await.expect("the redelivery failed");
            assert_eq!(outcome.is_duplicate(), delivery == 2);
            assert_eq!(self.ledger.balance(1).await, before + 100, "after delivery {delivery} of the same message");
        }
        assert_eq!(self.ledger.markers_of(*self.key.message_id().as_uuid()).await, 1);
    }

    /// The next 20 transactions on the same connection are stored.
    pub(crate) async fn serves(&self) {
        let before = self.ledger.records_of("next").await;
        assert_eq!(before, 0);
        for n in 0..20 {
            let next = format!("next-{n}");
            let outcome = process(&self.pool, key(&next), async |tx| ledger::record(tx, &next, n).await).await;
            assert!(matches!(outcome, Ok(Outcome::Processed(()))), "transaction {n} afterwards: {outcome:?}");
            assert_eq!(self.ledger.records_of(&next).await, 1, "transaction {n} afterwards was not stored");
        }
    }
}

/// A message at the consumer `guard`.
pub(crate) fn key(message: &str) -> InboxKey {
    InboxKey::new(Consumer::from_static("guard"), MessageId::from_text("tests", message).unwrap())
}

/// The delivery's own verdict: not committed.
pub(crate) fn aborted<T: Debug>(outcome: Delivered<T>) -> Error {
    match outcome {
        Err(Failed::Inbox(error @ Error::Aborted(_))) => error,
        other => panic!("not aborted: {other:?}"),
    }
}

/// Waits until the database answers this question with true.
pub(crate) async fn until(db: &TestDb, question: &str) {
    let question = format!("SELECT CASE WHEN ({question}) THEN 1 ELSE 0 END");
    for _ in 0..1_000 {
        if db.scalar_i64(&question).await == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never became true: {question}");
}

/// Whether this server of the MySQL kind is MariaDB.
pub(crate) async fn is_mariadb(db: &TestDb) -> bool {
    db.scalar_text("SELECT CAST(VERSION() AS CHAR)").await.unwrap().contains("MariaDB")
}
