//! In the body, the connection's name means the transaction, and nothing else does.

use inbox_core::{Error, InboxTransaction, Outcome, idempotent};
use sea_orm::{DatabaseConnection, DatabaseTransaction, DbErr, TransactionTrait};

use super::{Credit, database, effects, pay};

#[idempotent(consumer = "transaction")]
async fn pay_and_fail(db: &DatabaseConnection, msg: &Credit, fail: bool) -> Result<(), DbErr> {
    let transaction: &InboxTransaction = db;
    assert_eq!(transaction.key().consumer().as_str(), "transaction");
    assert_eq!(transaction.key().message_id(), msg.id);
    pay(db, msg.amount).await?;
    if fail { Err(DbErr::Custom("the body's own".into())) } else { Ok(()) }
}

#[tokio::test]
async fn an_error_takes_the_effect_back() {
    let db = database().await;
    let error = pay_and_fail(&db, &Credit::new("1"), true).await.unwrap_err();
    assert_eq!(error, DbErr::Custom("the body's own".into()));
    assert_eq!(effects(&db).await, [0_i64; 0]);

    pay_and_fail(&db, &Credit::new("1"), false).await.unwrap();
    pay_and_fail(&db, &Credit::new("1"), true).await.unwrap();
    assert_eq!(effects(&db).await, [100], "the redelivery ran, the next one did not");
}

#[idempotent(consumer = "first")]
async fn first(db: &DatabaseConnection, msg: &Credit) -> Result<Outcome<usize>, DbErr> {
    pay(db, 1).await?;
    Ok(Outcome::Processed(msg.id.to_string().len()))
}

#[idempotent(consumer = "second")]
async fn second(db: &DatabaseConnection, msg: &Credit) -> Result<Outcome<usize>, DbErr> {
    pay(db, 2).await?;
    Ok(Outcome::Processed(msg.id.to_string().len()))
}

#[tokio::test]
async fn each_consumer_runs_once() {
    let db = database().await;
    for delivery in 0..2 {
        let expected = if delivery == 0 { Outcome::Processed(36) } else { Outcome::Duplicate };
        assert_eq!(first(&db, &Credit::new("1")).await.unwrap(), expected);
        assert_eq!(second(&db, &Credit::new("1")).await.unwrap(), expected);
    }
    assert_eq!(effects(&db).await, [1, 2]);
}

#[idempotent(consumer = "outer")]
async fn outer(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    pay(db, 1).await?;
    inner(db, msg).await?;
    inner(db, msg).await
}

#[idempotent(consumer = "inner")]
async fn inner(db: &impl inbox_core::Database, msg: &Credit) -> Result<(), DbErr> {
    pay(db, msg.amount).await
}

/// A body hands its transaction to another handler as it is.
#[tokio::test]
async fn handlers_nest() {
    let db = database().await;
    for _ in 0..2 {
        outer(&db, &Credit::new("1")).await.unwrap();
    }
    assert_eq!(effects(&db).await, [1, 100]);
}

#[idempotent(consumer = "fast-path", fast_path)]
async fn with_fast_path(db: &DatabaseTransaction, msg: &Credit) -> Result<(), Error> {
    unreachable!("{db:?} {msg:?}")
}

#[idempotent(consumer = "isolation", isolation = "serializable")]
async fn with_isolation(db: &DatabaseTransaction, msg: &Credit) -> Result<(), Error> {
    unreachable!("{db:?} {msg:?}")
}

#[idempotent(consumer = "retries", retries = 1)]
async fn with_retries(db: &DatabaseTransaction, msg: &Credit) -> Result<(), Error> {
    unreachable!("{db:?} {msg:?}")
}

/// None of them can be had on a caller's transaction, and saying so proves that they arrived.
#[tokio::test]
async fn arguments_reach_the_runtime() {
    let db = database().await.begin().await.unwrap();
    let msg = Credit::new("1");
    for result in [with_fast_path(&db, &msg).await, with_isolation(&db, &msg).await, with_retries(&db, &msg).await] {
        assert!(matches!(result, Err(Error::Options(_))), "{result:?}");
    }
}
