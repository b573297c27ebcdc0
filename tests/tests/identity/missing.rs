//! A message without a usable id: a typed error, before the database is asked.

use std::sync::Arc;

use inbox_core::{Consumer, Error, InboxKey, InvalidMessageId, Message, MessageId, Options, idempotent, process, process_replayed, seen};
use inbox_tests::{Ledger, TestDb, backends};
use sea_orm::{DatabaseBackend, DatabaseConnection, MockDatabase, TransactionTrait as _};
use uuid::Uuid;

#[derive(Message)]
struct Text {
    #[message(id, domain = "orders")]
    id: Option<String>,
}

#[derive(Message)]
struct Binary {
    #[message(id)]
    id: Option<Uuid>,
}

struct Event {
    source: String,
    id: String,
}

impl Message for Event {
    fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
        MessageId::cloud_event(&self.source, &self.id)
    }
}

/// By hand, and careless: what a default gives is not looked at.
struct Careless;

impl Message for Careless {
    fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
        Ok(MessageId::from(Uuid::default()))
    }
}

#[idempotent(consumer = "credit")]
async fn credit<M: Message + Sync>(db: &DatabaseConnection, message: &M) -> Result<(), Error> {
    unreachable!("the handler ran on {db:?}")
}

#[idempotent(consumer = "credit", retries = 3)]
async fn credit_replayed<M: Message + Sync>(db: &DatabaseConnection, message: &M) -> Result<(), Error> {
    unreachable!("the handler ran on {db:?}")
}

#[idempotent(consumer = "credit", fast_path)]
async fn credit_fast<M: Message + Sync>(db: &DatabaseConnection, message: &M) -> Result<(), Error> {
    unreachable!("the handler ran on {db:?}")
}

#[idempotent(consumer = "credit", key = Uuid::nil())]
async fn credit_nil(db: &DatabaseConnection) -> Result<(), Error> {
    unreachable!("the handler ran on {db:?}")
}

/// Everything that is no id, on this connection, each with the error that says why.
async fn refused(db: &DatabaseConnection) {
    use InvalidMessageId::{Blank, Missing, Nil};
    let text = |id: Option<&str>| Text { id: id.map(str::to_owned) };
    let event = |source: &str, id: &str| Event { source: source.to_owned(), id: id.to_owned() };
    let is = |answer: Result<(), Error>, expected: InvalidMessageId| match answer {
        Err(Error::Key(error)) => assert_eq!(error, expected),
        other => panic!("{expected:?} expected, got {other:?}"),
    };
    is(credit(db, &text(None)).await, Missing);
    for blank in ["", " ", "\t\r\n", "\0", "\u{3000}", "\u{feff}"] {
        is(credit(db, &text(Some(blank))).await, Blank("id"));
        is(credit_replayed(db, &text(Some(blank))).await, Blank("id"));
        is(credit_fast(db, &text(Some(blank))).await, Blank("id"));
        is(credit(db, &event("/shop", blank)).await, Blank("id"));
        is(credit(db, &event(blank, "1")).await, Blank("source"));
    }
    is(credit(db, &Binary { id: None }).await, Missing);
    is(credit(db, &Binary { id: Some(Uuid::nil()) }).await, Nil);
    is(credit(db, &Careless).await, Nil);
    is(credit(db, &Arc::new(Careless)).await, Nil);
    is(credit_replayed(db, &Careless).await, Nil);
    is(credit_fast(db, &Careless).await, Nil);
    is(credit_nil(db).await, Nil);

    // Without the macro: a key cannot be made without an id, and the nil id is no id.
    let nil = InboxKey::new(Consumer::from_static("credit"), MessageId::from(Uuid::nil()));
    is(process(db, nil.clone(), async |_| unreachable!("the body ran")).await.map(drop::<inbox_core::Outcome<()>>), Nil);
    let replayed = process_replayed(db, nil.clone(), &Options::new(), 3, || async |_| unreachable!("the body ran")).await;
    is(replayed.map(drop::<inbox_core::Outcome<()>>), Nil);
    is(seen(db, &nil).await.map(drop), Nil);
}

/// SeaORM's mock writes down whatever it is asked.
#[tokio::test]
async fn the_database_is_not_asked() {
    for backend in [DatabaseBackend::Postgres, DatabaseBackend::MySql, DatabaseBackend::Sqlite] {
        let db = MockDatabase::new(backend).into_connection();
        refused(&db).await;
        assert_eq!(db.into_transaction_log(), []);
    }
}

backends! {
    /// A pool that can give no connection does not matter either.
    async fn not_even_a_connection_is_taken(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let all_there_is = pool.begin().await.unwrap();
        tokio::time::timeout(std::time::Duration::from_secs(5), refused(&pool)).await.expect("nobody waits for a connection");
        all_there_is.rollback().await.unwrap();
        pool.clone().close().await.unwrap();
        refused(&pool).await;
        assert_eq!(ledger.markers().await, 0);
    }
}

/// Case 80: two such deliveries never end as processed and duplicate, and a pump knows that a redelivery does not help.
#[tokio::test]
async fn it_is_final_and_says_so() {
    let db = MockDatabase::new(DatabaseBackend::Postgres).into_connection();
    for _ in 0..2 {
        let error = credit(&db, &Text { id: None }).await.unwrap_err();
        assert!(!error.is_transient());
        let text = error.to_string();
        assert!(text.contains("the id is missing") && text.contains("dead-letter it"), "{text}");
    }
}
