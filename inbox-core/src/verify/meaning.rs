//! What an error of a tried statement says about the table. Pure.
//!
//! Only what speaks of the schema may be answered with a remedy for it: a full disk is mended by no `inbox down --force`.

use sea_orm::sqlx::Error as SqlxError;
use sea_orm::{DbBackend, DbErr, RuntimeErr};

use crate::transient::{is_transient, mysql_number};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    NoTable,
    NoRight,
    WrongTable,
    /// It speaks of something else: the network, the disk, a time limit.
    Nothing,
}

pub(super) fn meaning(backend: DbBackend, error: &DbErr) -> Meaning {
    if is_transient(error) {
        return Meaning::Nothing;
    }
    let (DbErr::Exec(RuntimeErr::SqlxError(sqlx)) | DbErr::Query(RuntimeErr::SqlxError(sqlx))) = error else {
        // A value that does not come back as what it is.
        return if matches!(error, DbErr::Conn(_)) { Meaning::Nothing } else { Meaning::WrongTable };
    };
    match &**sqlx {
        SqlxError::Database(error) => of_code(backend, &error.code().unwrap_or_default(), mysql_number(&**error)),
        SqlxError::ColumnDecode { .. } | SqlxError::Decode(_) | SqlxError::ColumnNotFound(_) | SqlxError::TypeNotFound { .. } => {
            Meaning::WrongTable
        }
        _ => Meaning::Nothing,
    }
}

/// SQLSTATEs and `SQLite`'s result codes; `number` is MySQL's.
pub(super) fn of_code(backend: DbBackend, code: &str, number: Option<u16>) -> Meaning {
    if backend == DbBackend::Sqlite {
        // One code stands for a missing table, a missing column and more; its catalogue hides nothing, so it is not the first.
        return match code.parse::<u32>().map(|code| code & 0xff) {
            Ok(8) => Meaning::NoRight,
            Ok(1 | 19 | 20) => Meaning::WrongTable,
            _ => Meaning::Nothing,
        };
    }
    match (code, number) {
        ("42P01" | "42S02", _) => Meaning::NoTable,
        // Denied: on the database, the table, the column.
        ("42501", _) | (_, Some(1044 | 1142 | 1143)) => Meaning::NoRight,
        // A column without a default, a value that it does not take.
        (_, Some(1364 | 1366)) => Meaning::WrongTable,
        // Data, constraints, syntax and names, views' checks, what a trigger raises.
        _ if ["22", "23", "42", "44", "45", "P0"].iter().any(|class| code.starts_with(class)) => Meaning::WrongTable,
        _ => Meaning::Nothing,
    }
}
