//! What a failed statement did to its transaction, per backend. Pure.

use sea_orm::sqlx::Error as SqlxError;
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::{DbBackend, DbErr, RuntimeErr};

use crate::transient::mysql_number;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// The error did not come from the server, or the server rolled back the statement and nothing else.
    None,
    /// PostgreSQL: everything since the innermost savepoint is lost, and the rest until it is rolled back to.
    Savepoint,
    /// SQLite: only a `BEGIN` tells (`OR ROLLBACK`, a full disk and others end the transaction).
    AskSqlite,
    /// The whole transaction is gone, or may be.
    Transaction,
}

/// What `error` did to the transaction on `backend`.
pub(crate) fn of(backend: DbBackend, error: &DbErr) -> Damage {
    match error {
        DbErr::Exec(error) | DbErr::Query(error) => match error {
            RuntimeErr::SqlxError(error) => of_sqlx(backend, error),
            // SeaORM's own, or a mock's: as bad as any statement's.
            RuntimeErr::Internal(_) if backend == DbBackend::Postgres => Damage::Savepoint,
            RuntimeErr::Internal(_) => Damage::None,
        },
        DbErr::Conn(_) | DbErr::ConnectionAcquire(_) => Damage::Transaction,
        // Found out on this side, from an answer that was no error.
        _ => Damage::None,
    }
}

fn of_sqlx(backend: DbBackend, error: &SqlxError) -> Damage {
    match error {
        SqlxError::Database(error) => match backend {
            DbBackend::Postgres => postgres(&error.code().unwrap_or_default()),
            DbBackend::MySql => mysql(&**error),
            _ => Damage::AskSqlite,
        },
        // Found out on this side: the server answered well, or was not asked.
        SqlxError::RowNotFound
        | SqlxError::TypeNotFound { .. }
        | SqlxError::ColumnIndexOutOfBounds { .. }
        | SqlxError::ColumnNotFound(_)
        | SqlxError::ColumnDecode { .. }
        | SqlxError::Decode(_)
        | SqlxError::Encode(_)
        | SqlxError::InvalidArgument(_) => Damage::None,
        // A lost connection, or something that this version of sqlx does not tell apart from one.
        _ => Damage::Transaction,
    }
}

/// Never forgiven, not even after a rollback to a savepoint: the classes transaction rollback (40) and connection (08), the
/// shutdowns and timeouts that end the session, and "the transaction is aborted already", which means that the guard missed
/// why.
fn postgres(sqlstate: &str) -> Damage {
    let fatal = ["40", "08", "57P"].iter().any(|class| sqlstate.starts_with(class)) || ["25P02", "25P03", "25P04"].contains(&sqlstate);
    if fatal { Damage::Transaction } else { Damage::Savepoint }
}

/// Deadlock (rolls everything back), lock wait timeout (one statement or, by a setting, everything; a swallowed one would
/// commit the marker without the change), record changed (MariaDB's snapshot isolation), lock table full, error during
/// commit, XA rollback and deadlock, no cluster, shutdown, connection killed, rolled back by group replication; and every
/// SQLSTATE of the class 40.
/// Sources: [InnoDB error handling](https://dev.mysql.com/doc/refman/8.0/en/innodb-error-handling.html), and
/// [MariaDB error codes](https://mariadb.com/kb/en/mariadb-error-code-reference/).
fn mysql(error: &dyn DatabaseError) -> Damage {
    const FATAL: [u16; 12] = [1020, 1047, 1053, 1180, 1205, 1206, 1213, 1402, 1613, 1614, 1927, 3101];
    let by_number = mysql_number(error).is_none_or(|number| FATAL.contains(&number));
    let by_state = error.code().is_some_and(|state| state.starts_with("40") || state.starts_with("08"));
    if by_number || by_state { Damage::Transaction } else { Damage::None }
}

#[cfg(test)]
mod tests;
