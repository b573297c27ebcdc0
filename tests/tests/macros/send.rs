//! A consumer spawns its handlers: their futures are `Send` wherever the body's is.

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;

use inbox_core::{Message, MessageId, Outcome, idempotent};
use sea_orm::{DatabaseConnection, DbErr};

use super::{Credit, database, effects, pay};

#[idempotent(consumer = "plain")]
async fn plain(db: &DatabaseConnection, msg: &Credit, by_value: String) -> Result<(), DbErr> {
    pay(db, msg.amount).await?;
    drop(by_value);
    Ok(())
}

#[idempotent(consumer = "replayed", retries = 3, isolation = "serializable", fast_path)]
async fn replayed(db: &DatabaseConnection, msg: &Credit, by_value: String) -> Result<(), DbErr> {
    pay(db, msg.amount).await?;
    drop(by_value);
    Ok(())
}

#[idempotent(consumer = "generic")]
async fn generic<D: inbox_core::Database, M: Message + Send + Sync>(db: &D, msg: M, amount: &i64) -> Result<Outcome<M>, DbErr> {
    pay(db, *amount).await?;
    Ok(Outcome::Processed(msg))
}

#[idempotent(consumer = "generic-replayed", retries = 1)]
async fn generic_replayed<M: Message + Clone + Send + Sync>(db: &DatabaseConnection, msg: M, amount: &i64) -> Result<Outcome<M>, DbErr> {
    pay(db, *amount).await?;
    Ok(Outcome::Processed(msg))
}

/// Taken by value, it is never shared between threads.
#[derive(Clone, Message)]
struct NotSync(#[message(id)] MessageId, Cell<i64>);

#[idempotent(consumer = "not-sync")]
async fn not_sync(db: &DatabaseConnection, msg: NotSync) -> Result<(), DbErr> {
    pay(db, msg.1.replace(0)).await
}

#[idempotent(consumer = "not-sync-replayed", retries = 1)]
async fn not_sync_replayed(db: &DatabaseConnection, msg: NotSync) -> Result<(), DbErr> {
    pay(db, msg.1.replace(0)).await
}

trait Handler: Send + Sync + 'static {
    fn handle(&self, db: &DatabaseConnection, msg: &Credit) -> impl Future<Output = Result<(), DbErr>> + Send;
}

struct Plain(i64);

impl Handler for Plain {
    #[idempotent(consumer = "native")]
    async fn handle(&self, db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
        pay(db, msg.amount + self.0).await
    }
}

struct Replayed(i64);

impl Handler for Replayed {
    #[idempotent(consumer = "native-replayed", retries = 2)]
    async fn handle(&self, db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
        pay(db, msg.amount + self.0).await
    }
}

async fn spawned<H: Handler>(handler: H, db: &DatabaseConnection) {
    let (handler, db) = (Arc::new(handler), db.clone());
    tokio::spawn(async move { handler.handle(&db, &Credit::new("1")).await }).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_are_spawned() {
    let db = database().await;
    let other = db.clone();
    tokio::spawn(async move {
        let msg = Credit::new("1");
        plain(&other, &msg, String::new()).await.unwrap();
        replayed(&other, &msg, String::new()).await.unwrap();
        assert!(!generic(&other, msg.clone(), &1).await.unwrap().is_duplicate());
        assert!(!generic_replayed(&other, &msg, &2).await.unwrap().is_duplicate());
        not_sync(&other, NotSync(msg.id, Cell::new(3))).await.unwrap();
        not_sync_replayed(&other, NotSync(msg.id, Cell::new(4))).await.unwrap();
    })
    .await
    .unwrap();
    spawned(Plain(1), &db).await;
    spawned(Replayed(2), &db).await;
    assert_eq!(effects(&db).await, [100, 100, 1, 2, 3, 4, 101, 102]);
}
