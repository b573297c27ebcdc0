//! Temporaries of an argument live until the end of the statement, which would hold the key's lock during the whole delivery.

use std::sync::Mutex;

use inbox_core::{MessageId, idempotent};
use sea_orm::{DatabaseConnection, DbErr};

#[idempotent(consumer = "credit", key = ids.lock().unwrap()[0])]
async fn credit(_db: &DatabaseConnection, ids: &Mutex<Vec<MessageId>>) -> Result<(), DbErr> {
    Ok(())
}

fn send(_: impl Send) {}

fn main() {
    // A held `MutexGuard` is not `Send`.
    send(credit(&DatabaseConnection::default(), &Mutex::new(Vec::new())));
}
