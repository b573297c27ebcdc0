use async_trait::async_trait;
use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

#[async_trait]
trait Handles {
    async fn credit(&self, db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr>;
}

struct Service;

#[idempotent(consumer = "credit")]
#[async_trait]
impl Handles for Service {
    async fn credit(&self, _: &DatabaseConnection, _: &Credit) -> Result<(), DbErr> {
        Ok(())
    }
}

fn main() {}
