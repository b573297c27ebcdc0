use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

struct Service;

impl Service {
    #[idempotent(consumer = "credit", retries = 3)]
    async fn credit(self, db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
        Ok(())
    }
}

fn main() {}
