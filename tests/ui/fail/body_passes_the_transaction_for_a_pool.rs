use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

async fn pay(_: &DatabaseConnection) -> Result<(), DbErr> {
    Ok(())
}

#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    pay(db).await
}

fn main() {}
