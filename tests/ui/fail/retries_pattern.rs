use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

#[idempotent(consumer = "credit", retries = 3)]
async fn credit(db: &DatabaseConnection, msg: &Credit, (a, b): (i64, i64)) -> Result<(), DbErr> {
    Ok(())
}

fn main() {}
