use inbox_core::idempotent;
use sea_orm::DatabaseConnection;

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

use inbox_core::Outcome;

#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, msg: &Credit) -> Outcome<()> {
    Outcome::Processed(())
}

fn main() {}
