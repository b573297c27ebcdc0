use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

use inbox_core::{InboxTransaction, Outcome};

#[idempotent(consumer = "credit")]
async fn credit<'a>(db: &'a DatabaseConnection, msg: &Credit) -> Result<Outcome<&'a InboxTransaction>, DbErr> {
    Ok(Outcome::Processed(db))
}

fn main() {}
