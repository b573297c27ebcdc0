use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

trait Handles {
    #[idempotent(consumer = "credit")]
    fn credit(&self, db: &DatabaseConnection, msg: &Credit) -> impl Future<Output = Result<(), DbErr>> + Send;
}

fn main() {}
