//! What `#[idempotent]` and `#[derive(Message)]` make of a user's code. Their messages are in `ui.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "macros/async_trait.rs"]
mod async_trait;
#[path = "macros/bodies.rs"]
mod bodies;
#[path = "macros/hygiene.rs"]
mod hygiene;
#[path = "macros/key.rs"]
mod key;
#[path = "macros/lints.rs"]
mod lints;
#[path = "macros/message.rs"]
mod message;
#[path = "macros/retries.rs"]
mod retries;
#[path = "macros/send.rs"]
mod send;
#[path = "macros/signatures.rs"]
mod signatures;
#[path = "macros/size.rs"]
mod size;
#[path = "macros/transaction.rs"]
mod transaction;

use inbox_core::{Message, MessageId};
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbErr};

/// The message of most tests.
#[derive(Clone, Debug, Message)]
struct Credit {
    #[message(id)]
    id: MessageId,
    amount: i64,
}

impl Credit {
    fn new(id: &str) -> Self {
        Self { id: MessageId::from_text("macros", id).unwrap(), amount: 100 }
    }
}

/// A database of its own, with the inbox table and a table for effects.
async fn database() -> DatabaseConnection {
    let db = Database::connect("sqlite::memory:").await.unwrap();
    inbox_migration::up(&db).await.unwrap();
    db.execute_unprepared("CREATE TABLE effect (amount BIGINT NOT NULL)").await.unwrap();
    db
}

/// What a handler does.
async fn pay(db: &impl ConnectionTrait, amount: i64) -> Result<(), DbErr> {
    db.execute_unprepared(&format!("INSERT INTO effect VALUES ({amount})")).await.map(drop)
}

/// What stayed of it.
async fn effects(db: &DatabaseConnection) -> Vec<i64> {
    let rows =
        db.query_all_raw(sea_orm::Statement::from_string(sea_orm::DbBackend::Sqlite, "SELECT amount FROM effect ORDER BY rowid")).await;
    rows.unwrap().iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
}
