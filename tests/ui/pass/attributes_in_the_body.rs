//! `#![allow(...)]` may stand in a function's body but not in a closure's.

#![deny(unused_variables)]

use inbox_core::{MessageId, idempotent};
use sea_orm::{DatabaseConnection, DbErr};

#[idempotent(consumer = "credit", key = id)]
async fn credit(db: &DatabaseConnection, id: MessageId) -> Result<(), DbErr> {
    #![allow(unused_variables)]
    //! And so may its documentation.
    let unused = 1;
    Ok(())
}

fn main() {}
