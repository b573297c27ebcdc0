use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

#[allow(async_fn_in_trait)]
trait Handles {
    #[idempotent(consumer = "credit")]
    async fn credit(&self, db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr>;
}

fn main() {}
