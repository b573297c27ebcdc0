//! SQLite ends a transaction on its own (`OR ROLLBACK`, `RAISE(ROLLBACK)`, a full disk), and no error code tells.

use sea_orm::{ConnectionTrait, DatabaseTransaction};

/// Asks by a `BEGIN`, which SQLite refuses inside a transaction and which costs no round trip.
///
/// Where it is accepted the transaction was over, and sqlx's depth counter with it: the new, empty one (and `savepoints`
/// inside it) makes the counter right again, so that the pooled connection is not poisoned.
pub(super) async fn has_ended(transaction: &DatabaseTransaction, savepoints: usize) -> bool {
    match transaction.execute_unprepared("BEGIN").await {
        Ok(_) => {
            for depth in 1..=savepoints {
                if let Err(error) = transaction.execute_unprepared(&format!("SAVEPOINT _sqlx_savepoint_{depth}")).await {
                    tracing::warn!(%error, "could not restore a savepoint after SQLite ended the transaction");
                }
            }
            true
        }
        // Refused for any other reason, it is not known to be alive.
        Err(error) => !error.to_string().contains("within a transaction"),
    }
}
