//! A return type is refused only where it certainly is no `Result`, because a macro cannot see through an alias.

use inbox_core::{MessageId, Outcome, idempotent};
use sea_orm::{DatabaseConnection, DbErr};

type Handled = Result<(), DbErr>;
type Swapped<E, T> = Result<T, E>;

trait Consumer {
    type Answer;
}

struct Credit;

impl Consumer for Credit {
    type Answer = Result<(), DbErr>;
}

macro_rules! answer {
    () => { Result<(), DbErr> };
}

#[idempotent(consumer = "alias", key = *id)]
async fn alias(_db: &DatabaseConnection, id: &MessageId) -> Handled {
    Ok(())
}

#[idempotent(consumer = "swapped", key = *id)]
async fn swapped(_db: &DatabaseConnection, id: &MessageId) -> Swapped<DbErr, Outcome<u8>> {
    Ok(Outcome::Processed(1))
}

#[idempotent(consumer = "anyhow", key = *id)]
async fn anyhow(_db: &DatabaseConnection, id: &MessageId) -> anyhow::Result<()> {
    Ok(())
}

#[idempotent(consumer = "boxed", key = *id)]
async fn boxed(_db: &DatabaseConnection, id: &MessageId) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Ok(())
}

#[idempotent(consumer = "associated", key = *id)]
async fn associated(_db: &DatabaseConnection, id: &MessageId) -> <Credit as Consumer>::Answer {
    Ok(())
}

#[idempotent(consumer = "macro", key = *id)]
async fn by_macro(_db: &DatabaseConnection, id: &MessageId) -> answer!() {
    Ok(())
}

fn main() {}
