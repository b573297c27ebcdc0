//! Statements whose effect outlives the transaction on the pooled connection, where it meets deliveries that know nothing of it;
//! one that takes the connection for itself; and those that put something in front of the inbox. Pure.

use sea_orm::DbBackend;

use super::scan::{keyword, skip_blanks};
use crate::entity::TABLE;

/// What it is, and what to do instead.
///
/// What a function does (`set_config`) cannot be seen.
pub(super) fn outlives(statement: &str, backend: DbBackend) -> Option<(&'static str, &'static str)> {
    let (first, rest) = keyword(statement);
    let (first, upper) = (first.to_ascii_uppercase(), rest.to_ascii_uppercase());
    let second = keyword(skip_blanks(&upper, backend)).0;
    match (backend, first.as_str()) {
        (_, "CREATE" | "ALTER" | "DROP" | "TRUNCATE") if upper.contains(&TABLE.to_ascii_uppercase()) => {
            Some(("DDL on a table of the inbox's name", "run it outside of handlers"))
        }
        (DbBackend::Postgres, "SET") if !matches!(second, "LOCAL" | "TRANSACTION" | "CONSTRAINTS") => {
            Some(("`SET`", "write `SET LOCAL`, which ends with the transaction"))
        }
        (DbBackend::Postgres, "RESET" | "DISCARD" | "DEALLOCATE") => {
            Some(("`RESET`, `DISCARD` and `DEALLOCATE`", "they are for whoever owns the connection"))
        }
        (DbBackend::Postgres, "COPY") if upper.contains("STDIN") => {
            Some(("`COPY … FROM STDIN`", "the server would wait for data that nobody can send it here; insert the rows"))
        }
        // Without a scope it is meant for the next transaction, which is another delivery's.
        (DbBackend::MySql, "SET") if upper.contains("TRANSACTION") && second != "GLOBAL" => {
            Some(("`SET TRANSACTION`", "give the handler its `isolation`"))
        }
        (DbBackend::MySql, "USE") => Some(("`USE`", "write the database's name before the table's")),
        (DbBackend::Sqlite, "PRAGMA") if upper.contains("QUERY_ONLY") || upper.contains("LOCKING_MODE") => {
            Some(("`PRAGMA query_only` and `PRAGMA locking_mode`", "set them where the pool is made"))
        }
        _ => None,
    }
}
