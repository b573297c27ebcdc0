use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

struct Credit;

#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    Ok(())
}

fn main() {}
