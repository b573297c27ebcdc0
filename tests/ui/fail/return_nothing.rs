use inbox_core::idempotent;
use sea_orm::DatabaseConnection;

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, msg: &Credit) {
}

fn main() {}
