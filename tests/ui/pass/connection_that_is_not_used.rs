//! `_db` is what the compiler asks for where the body does not use it.

#![deny(warnings)]

use inbox_core::{Message, MessageId, idempotent};
use sea_orm::{DatabaseConnection, DbErr};

#[derive(Message)]
pub struct Credit(#[message(id)] MessageId);

#[idempotent(consumer = "credit")]
pub async fn credit(_db: &DatabaseConnection, _msg: &Credit) -> Result<(), DbErr> {
    Ok(())
}

fn main() {}
