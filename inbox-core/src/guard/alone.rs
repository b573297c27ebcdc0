//! One delivery at a time in a transaction of the caller's.
//!
//! Each has a savepoint of its own, and SeaORM names savepoints by their depth: of two at once, one's rollback would take the
//! other's marker and effect along, or leave its own (seen). Inside a delivery's own transaction the session watches over that;
//! here only the caller's reference is shared. To wait would not do: a body that delivers on the caller's transaction would wait
//! for itself.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use sea_orm::{DatabaseTransaction, DbErr};

/// The addresses of callers' transactions with a delivery at work. They stay where they are: the delivery borrows them.
static AT_WORK: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// A delivery's right to be the only one, until it is dropped.
pub(crate) struct Alone(usize);

impl Alone {
    pub(crate) fn on(transaction: &DatabaseTransaction) -> Result<Self, DbErr> {
        let address = std::ptr::from_ref(transaction).addr();
        if AT_WORK.lock().unwrap_or_else(PoisonError::into_inner).insert(address) {
            return Ok(Self(address));
        }
        Err(DbErr::Custom(
            "refused: another delivery is at work in this transaction of the caller's, and a rollback of one would take the other along. \
             Nothing was written; deliver one after the other, or each on the pool"
                .into(),
        ))
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        AT_WORK.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}
