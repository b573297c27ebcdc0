//! `forbid` cannot be lifted by an `allow` in an expansion, so the usual expansion has none.

#![forbid(warnings, unused, missing_docs, unsafe_code, clippy::all, clippy::pedantic)]

use inbox_core::{Message, MessageId, idempotent};
use sea_orm::{DatabaseConnection, DbErr};

#[derive(Clone, Message)]
struct Credit(#[message(id)] MessageId);

#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> { replayed(db, msg).await }

#[idempotent(consumer = "replayed", retries = 1, fast_path, isolation = "serializable")]
async fn by_value(db: &DatabaseConnection, msg: Credit, mut n: i64) -> Result<(), DbErr> {
    n += 1;
    replayed(db, &msg).await.map(|()| println!("{n}"))
}

async fn replayed(db: &impl sea_orm::ConnectionTrait, msg: &Credit) -> Result<(), DbErr> {
    db.execute_unprepared(&msg.0.to_string()).await.map(drop)
}

fn main() {
    let db = DatabaseConnection::default();
    let msg = Credit(MessageId::from_text("orders", "1").unwrap());
    drop(credit(&db, &msg));
    drop(by_value(&db, msg.clone(), 1));
}
