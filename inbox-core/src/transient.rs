//! What an error means for a message pump: will the same delivery, repeated, be right? One table (D5).

use std::error::Error as StdError;

use sea_orm::sqlx::Error as SqlxError;
use sea_orm::sqlx::error::DatabaseError;
use sea_orm::{DbErr, RuntimeErr};

use crate::Error;

/// Whether delivering the message again, as it is, may well succeed: a deadlock, a serialization failure, a lost connection,
/// an exhausted pool, a busy SQLite file, a claim that another worker holds.
///
/// It walks the error's [`source`](StdError::source)s, so it sees through the application's own error types, `anyhow` and
/// boxes. `false` means *not known to be transient*: a pump should requeue such an error too, within the limits of its
/// broker's delivery count, and dead-letter only what it knows to be final.
///
/// ```
/// use inbox_core::is_transient;
/// use sea_orm::{ConnAcquireErr, DbErr};
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("crediting failed")]
/// struct CreditError(#[source] DbErr);
///
/// assert!(is_transient(&CreditError(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))));
/// assert!(!is_transient(&CreditError(DbErr::RecordNotFound("account 7".into()))));
/// ```
#[must_use]
pub fn is_transient(error: &(dyn StdError + 'static)) -> bool {
    let mut link = Some(error);
    while let Some(error) = link {
        if link_is_transient(error) {
            return true;
        }
        link = error.source();
    }
    false
}

/// One link of the chain. A transparent wrapper skips its own link, so every type on the way down is known.
fn link_is_transient(link: &(dyn StdError + 'static)) -> bool {
    if let Some(error) = link.downcast_ref::<Error>() {
        return error.is_transient_by_itself();
    }
    if link.is::<Redelivery>() {
        return true;
    }
    if let Some(error) = link.downcast_ref::<DbErr>() {
        return matches!(error, DbErr::ConnectionAcquire(_));
    }
    if let Some(RuntimeErr::SqlxError(error)) = link.downcast_ref::<RuntimeErr>() {
        return sqlx(error);
    }
    if link.is::<sea_orm::ConnAcquireErr>() {
        return true;
    }
    if let Some(error) = link.downcast_ref::<SqlxError>() {
        return sqlx(error);
    }
    link.downcast_ref::<Box<dyn DatabaseError>>().is_some_and(|error| database(&**error))
}

/// The link of our own errors that says "transient" where no database error does. It survives transparent wrappers.
#[derive(Debug, thiserror::Error)]
#[error("delivering the message again is the remedy")]
pub(crate) struct Redelivery;

fn sqlx(error: &SqlxError) -> bool {
    match error {
        SqlxError::Io(_) | SqlxError::PoolTimedOut | SqlxError::PoolClosed | SqlxError::WorkerCrashed | SqlxError::BeginFailed => true,
        SqlxError::Database(error) => database(&**error),
        _ => false,
    }
}

fn database(error: &dyn DatabaseError) -> bool {
    let code = error.code().unwrap_or_default();
    if let Some(number) = mysql_number(error) {
        return MYSQL.contains(&number);
    }
    if code.len() == 5 {
        return POSTGRES.contains(&&*code) || code.starts_with("08");
    }
    code.parse().is_ok_and(|code: u32| SQLITE.contains(&code))
}

/// Serialization failure, deadlock, lock not available, admin shutdown, crash shutdown, cannot connect now, too many
/// connections, read-only transaction (a failover), idle-in-transaction timeout, and the two of a pooler that lost a
/// prepared statement. Class 08 is added above.
/// Source: [PostgreSQL, appendix A](https://www.postgresql.org/docs/current/errcodes-appendix.html).
const POSTGRES: [&str; 11] = ["40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300", "25006", "25P03", "42P05", "26000"];

/// Lock wait timeout, deadlock, too many connections, WSREP not ready, shutdown in progress, error during commit, the three
/// kinds of read-only server (a failover), connection killed, rolled back by group replication.
/// Source: [MySQL](https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html),
/// [MariaDB](https://mariadb.com/kb/en/mariadb-error-code-reference/).
const MYSQL: [u16; 11] = [1205, 1213, 1040, 1047, 1053, 1180, 1290, 1792, 1836, 1927, 3101];

/// Busy and locked, with their extended codes.
/// Source: [SQLite](https://www.sqlite.org/rescode.html).
const SQLITE: [u32; 7] = [5, 6, 261, 262, 517, 518, 773];

/// What the server answered to a statement, where the error is such an answer. SeaORM says `Exec` or `Query` by how the
/// statement was sent, not by what failed.
pub(crate) fn answer(error: &DbErr) -> Option<&dyn DatabaseError> {
    match error {
        DbErr::Exec(RuntimeErr::SqlxError(error)) | DbErr::Query(RuntimeErr::SqlxError(error)) => match &**error {
            SqlxError::Database(error) => Some(&**error),
            _ => None,
        },
        _ => None,
    }
}

/// The number of a MySQL or MariaDB error, `None` for the other backends.
///
/// Without the driver's feature only the SQLSTATE is a method, and HY000 and 23000 cover hundreds of errors. sqlx prints the
/// number in front: `NUMBER (SQLSTATE): message`, or `NUMBER: message`. The other drivers print other things, which can
/// imitate this only in the message, and the message is accounted for.
pub(crate) fn mysql_number(error: &dyn DatabaseError) -> Option<u16> {
    let text = error.to_string();
    let head = text.strip_suffix(error.message())?.strip_suffix(": ")?;
    let number = match error.code() {
        Some(code) => head.strip_suffix(')')?.strip_suffix(&*code)?.strip_suffix(" (")?,
        None => head,
    };
    number.parse().ok()
}

#[cfg(test)]
mod tests;
