use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

struct Context<'a>(&'a DatabaseConnection);

#[idempotent(consumer = "credit")]
async fn credit(Context(db): Context<'_>, msg: &Credit) -> Result<(), DbErr> {
    Ok(())
}

fn main() {}
