//! Did the database refuse the COMMIT, or is its outcome unknown? Pure (D5).

use sea_orm::sqlx::error::{DatabaseError, ErrorKind};
use sea_orm::{DbBackend, DbErr};

use crate::transient::{answer, mysql_number};

/// Whether a failed COMMIT is known to have stored nothing: the server answered it with a serialization failure, a deadlock,
/// a certification failure of group replication, or a deferred constraint.
///
/// Everything else is unknown, an administrator's shutdown (57P01) and an error during commit (1180) included: the record may
/// have been written before the answer failed.
pub(crate) fn is_refusal(backend: DbBackend, error: &DbErr) -> bool {
    answer(error).is_some_and(|error| is_answer(backend, error))
}

fn is_answer(backend: DbBackend, error: &dyn DatabaseError) -> bool {
    match backend {
        DbBackend::Postgres => {
            let code = error.code().unwrap_or_default();
            code == "40001" || code == "40P01" || code.starts_with("23")
        }
        DbBackend::MySql => mysql_number(error).is_some_and(|number| number == 1213 || number == 3101),
        // A deferred foreign key. The transaction stays open and is rolled back.
        _ => error.kind() == ErrorKind::ForeignKeyViolation,
    }
}

#[cfg(test)]
mod tests;
