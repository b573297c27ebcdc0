//! An attribute macro sees arguments before `cfg` removes them, and must not clone what is not there.

use inbox_core::{MessageId, idempotent};
use sea_orm::{DatabaseConnection, DbErr};

#[idempotent(consumer = "credit", key = id, retries = 1)]
async fn credit(
    _db: &DatabaseConnection,
    id: MessageId,
    #[cfg(any())] gone: ThereIsNoSuchType,
    #[cfg(not(any()))] there: String,
) -> Result<(), DbErr> {
    drop(there);
    Ok(())
}

fn main() {
    drop(credit(&DatabaseConnection::default(), MessageId::from_text("orders", "1").unwrap(), String::new()));
}
