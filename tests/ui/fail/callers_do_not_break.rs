use inbox_core::idempotent;
use sea_orm::{DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

/// The mistake is in the attribute; the calls are right.
#[idempotent(consumer = "credit", retries = 0)]
async fn credit<'a>(db: &DatabaseConnection, msg: &'a Credit) -> Result<&'a Credit, DbErr> {
    nonsense(db).await
}

async fn call(db: &DatabaseConnection, msg: &Credit) -> Result<String, DbErr> {
    Ok(credit(db, msg).await?.id.to_string())
}

fn main() {}
