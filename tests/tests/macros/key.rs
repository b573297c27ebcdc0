//! `key = <expression>`: evaluated once, outside the transaction, with the arguments in scope.

use std::cell::RefCell;
use std::sync::Mutex;

use inbox_core::{InvalidMessageId, MessageId, idempotent};
use sea_orm::{DatabaseConnection, DbErr};
use uuid::Uuid;

use super::{Credit, database, effects, pay};

#[idempotent(consumer = "text", key = MessageId::from_text("orders", text))]
async fn text(db: &DatabaseConnection, text: &str) -> Result<(), anyhow::Error> {
    Ok(pay(db, i64::try_from(text.len())?).await?)
}

#[tokio::test]
async fn a_result_is_a_key() {
    let db = database().await;
    for id in ["a", "bb", "a", " ", "bb"] {
        let result = text(&db, id).await;
        assert_eq!(result.is_err(), id == " ", "{result:?}");
        if let Err(error) = result {
            assert!(matches!(error.downcast::<inbox_core::Error>(), Ok(inbox_core::Error::Key(InvalidMessageId::Blank(_)))));
        }
    }
    assert_eq!(effects(&db).await, [1, 2]);
}

#[idempotent(consumer = "uuid", key = *ids.first().ok_or(InvalidMessageId::Missing)?)]
async fn uuid(db: &DatabaseConnection, ids: Vec<Uuid>) -> Result<(), Failure> {
    pay(db, i64::try_from(ids.len()).unwrap()).await?;
    Ok(())
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Db(#[from] DbErr),
    #[error(transparent)]
    Inbox(#[from] inbox_core::Error),
    #[error("no id")]
    NoId(#[from] InvalidMessageId),
}

#[tokio::test]
async fn a_question_mark_in_the_key_returns_from_the_handler() {
    let db = database().await;
    let ids = vec![Uuid::from_u128(7), Uuid::from_u128(8)];
    uuid(&db, ids.clone()).await.unwrap();
    uuid(&db, ids).await.unwrap();
    assert!(matches!(uuid(&db, Vec::new()).await, Err(Failure::NoId(_))));
    assert_eq!(effects(&db).await, [2]);
}

struct Counting {
    calls: u32,
    ids: Mutex<Vec<MessageId>>,
}

impl Counting {
    #[idempotent(consumer = "counting", key = { self.calls += 1; self.ids.lock().unwrap()[0] })]
    async fn handle(&mut self, db: &DatabaseConnection, (amount, _): (i64, &str)) -> Result<(), DbErr> {
        // Although the guard of the key's expression was a temporary.
        self.ids.try_lock().expect("free again").push(db.key().message_id());
        pay(db, amount + i64::from(self.calls)).await
    }
}

#[tokio::test]
async fn what_the_key_locks_is_free_in_the_body() {
    let db = database().await;
    let mut counting = Counting { calls: 0, ids: Mutex::new(vec![Credit::new("1").id]) };
    counting.handle(&db, (10, "")).await.unwrap();
    counting.handle(&db, (10, "")).await.unwrap();
    assert_eq!((counting.calls, counting.ids.into_inner().unwrap().len()), (2, 2), "one key per call, one body");
    assert_eq!(effects(&db).await, [11]);
}

/// What the key borrows is not kept across the delivery: this would not be `Send`.
#[idempotent(consumer = "send", key = std::rc::Rc::new(RefCell::new(msg)).borrow().id)]
async fn borrowed(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    pay(db, msg.amount).await
}

#[tokio::test]
async fn what_the_key_borrows_may_be_bound_to_a_thread() {
    let db = database().await;
    tokio::spawn(async move {
        borrowed(&db, &Credit::new("1")).await.unwrap();
        assert_eq!(effects(&db).await, [100]);
    })
    .await
    .unwrap();
}
