use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

#[idempotent(consumer = "credit", isolation = "read_uncommitted")]
async fn credit(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    Ok(())
}

fn main() {}
