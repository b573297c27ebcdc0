//! Is this error the violation of *our* unique index? Pure functions over what each server says (D3).
//!
//! They are the second of two witnesses. The first is the statement: only the error of the marker `INSERT` is ever asked, so
//! an error of the handler's body can be no duplicate, whatever it says.

use sea_orm::sqlx::error::{DatabaseError, ErrorKind};
use sea_orm::{DbBackend, DbErr};

use crate::entity::{TABLE, UNIQUE_INDEX};
use crate::transient::answer;

/// What the error of a marker `INSERT` says about the unique index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// A unique violation of the index on (`message_id`, `consumer`): the marker exists.
    Duplicate,
    /// A unique violation whose index the message does not show: only a look at the table can tell.
    Unreadable,
    /// Any other error, the violation of another index included.
    Other,
}

/// PostgreSQL: SQLSTATE 23505 and the `constraint` field of the error. Never the text, which is translated.
///
/// A partition's index has another name, and wire-compatible servers leave the field empty: both are
/// [`Unreadable`](Verdict::Unreadable), because the table is the only witness left. A primary key has PostgreSQL's own name
/// or none of ours, and a look at the table is right for it, too.
/// Source: [Error and Notice Message Fields](https://www.postgresql.org/docs/current/protocol-error-fields.html).
#[must_use]
pub fn postgres(sqlstate: &str, constraint: Option<&str>) -> Verdict {
    match (sqlstate, constraint) {
        ("23505", Some(name)) if name == UNIQUE_INDEX => Verdict::Duplicate,
        ("23505", _) => Verdict::Unreadable,
        _ => Verdict::Other,
    }
}

/// MySQL and MariaDB: a unique violation (by error number, which sqlx maps to its kind) whose last quoted token is `INDEX`,
/// `TABLE.INDEX` or `DATABASE.TABLE.INDEX`.
///
/// A value that the sender chose stands before it, and MariaDB translates the words around it, so neither `contains` nor a
/// match on the words would do.
/// Source: [`ER_DUP_ENTRY`](https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html#error_er_dup_entry);
/// the table's name is there since MySQL 8.0.19.
#[must_use]
pub fn mysql(is_unique_violation: bool, message: &str) -> Verdict {
    if !is_unique_violation {
        return Verdict::Other;
    }
    match last_quoted(message) {
        Some(name) if names_our_index(name) => Verdict::Duplicate,
        // `for key 2`: what is quoted last is the value. The same holds for words that follow the name in another language.
        _ if !message.ends_with('\'') => Verdict::Unreadable,
        _ => Verdict::Other,
    }
}

/// SQLite: extended code 2067 and exactly our table and columns. SQLite names the columns, or the index where it is one on
/// expressions.
/// Source: [Result and Error Codes](https://www.sqlite.org/rescode.html#constraint_unique), `sqlite3UniqueConstraint` in
/// `insert.c`.
#[must_use]
pub fn sqlite(extended_code: &str, message: &str) -> Verdict {
    if extended_code != "2067" {
        return Verdict::Other;
    }
    let Some(what) = message.strip_prefix("UNIQUE constraint failed: ") else {
        return Verdict::Unreadable;
    };
    let columns =
        what.split_once(", ").is_some_and(|(message_id, consumer)| is_column(message_id, "message_id") && is_column(consumer, "consumer"));
    let index = what.strip_prefix("index '").and_then(|rest| rest.strip_suffix('\'')) == Some(UNIQUE_INDEX);
    if columns || index { Verdict::Duplicate } else { Verdict::Other }
}

/// SQL Server: error 2601 or 2627 and the quoted index or constraint name at its fixed place, which is before the value.
///
/// SeaORM 2.0 has no driver for it: this is what such a driver will need, tested on the documented texts.
/// Source: [2601](https://learn.microsoft.com/sql/relational-databases/errors-events/mssqlserver-2601-database-engine-error),
/// [2627](https://learn.microsoft.com/sql/relational-databases/errors-events/database-engine-events-and-errors-2000-to-2999).
#[must_use]
pub fn mssql(number: i32, message: &str) -> Verdict {
    // 2601: Cannot insert duplicate key row in object '%.*ls' with unique index '%.*ls'. The duplicate key value is %ls.
    // 2627: Violation of %ls constraint '%.*ls'. Cannot insert duplicate key in object '%.*ls'. …
    let place = match number {
        2601 => 1,
        2627 => 0,
        _ => return Verdict::Other,
    };
    match message.split('\'').skip(1).step_by(2).nth(place) {
        Some(UNIQUE_INDEX) => Verdict::Duplicate,
        Some(_) => Verdict::Other,
        None => Verdict::Unreadable,
    }
}

/// What the error of a marker `INSERT` through SeaORM says.
#[must_use]
pub fn marker(backend: DbBackend, error: &DbErr) -> Verdict {
    answer(error).map_or(Verdict::Other, |error| database(backend, error))
}

fn database(backend: DbBackend, error: &dyn DatabaseError) -> Verdict {
    let code = error.code().unwrap_or_default();
    match backend {
        DbBackend::Postgres => postgres(&code, error.constraint()),
        DbBackend::MySql => mysql(error.kind() == ErrorKind::UniqueViolation, error.message()),
        DbBackend::Sqlite => sqlite(&code, error.message()),
        // `DbBackend` may grow; a backend that we do not know has no duplicates, only errors.
        _ => Verdict::Other,
    }
}

/// The text between the last two apostrophes.
fn last_quoted(message: &str) -> Option<&str> {
    let (before, _) = message.rsplit_once('\'')?;
    Some(before.rsplit_once('\'')?.1)
}

fn names_our_index(name: &str) -> bool {
    let Some(qualifier) = name.strip_suffix(UNIQUE_INDEX) else {
        return false;
    };
    match qualifier.strip_suffix('.') {
        Some(table) => table == TABLE || table.strip_suffix(TABLE).is_some_and(|database| database.ends_with('.')),
        None => qualifier.is_empty(),
    }
}

fn is_column(what: &str, column: &str) -> bool {
    what.strip_prefix(TABLE).and_then(|rest| rest.strip_prefix('.')) == Some(column)
}

#[cfg(test)]
mod tests;
