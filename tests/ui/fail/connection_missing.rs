use inbox_core::idempotent;
use sea_orm::DbErr;

#[idempotent(consumer = "credit", key = inbox_core::MessageId::from_text("orders", "1"))]
async fn credit() -> Result<(), DbErr> {
    Ok(())
}

fn main() {}
