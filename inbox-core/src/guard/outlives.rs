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
    let is = |word: &str| first.eq_ignore_ascii_case(word);
    let second = |words: &[&str]| {
        let word = keyword(skip_blanks(rest, backend)).0;
        words.iter().any(|other| other.eq_ignore_ascii_case(word))
    };
    let mentions = |word: &str| rest.to_ascii_uppercase().contains(word);
    let ddl = ["CREATE", "ALTER", "DROP", "TRUNCATE"].into_iter().any(is);
    if ddl && mentions(&TABLE.to_ascii_uppercase()) {
        return Some(("DDL on a table of the inbox's name", "run it outside of handlers"));
    }
    match backend {
        DbBackend::Postgres if is("SET") && !second(&["LOCAL", "TRANSACTION", "CONSTRAINTS"]) => {
            Some(("`SET`", "write `SET LOCAL`, which ends with the transaction"))
        }
        DbBackend::Postgres if is("RESET") || is("DISCARD") => Some(("`RESET` and `DISCARD`", "they are for whoever owns the connection")),
        // A body may give up what it has prepared itself, but not what the pool has.
        DbBackend::Postgres if is("DEALLOCATE") && (mentions(" ALL") || mentions("SQLX")) => {
            Some(("`DEALLOCATE ALL`", "it is for whoever owns the connection"))
        }
        DbBackend::Postgres if is("COPY") && mentions("STDIN") => {
            Some(("`COPY … FROM STDIN`", "the server would wait for data that nobody can send it here; insert the rows"))
        }
        // Without a scope it is meant for the next transaction, which is another delivery's.
        DbBackend::MySql if is("SET") && mentions("TRANSACTION") && !second(&["GLOBAL"]) => {
            Some(("`SET TRANSACTION`", "give the handler its `isolation`"))
        }
        DbBackend::MySql if is("USE") => Some(("`USE`", "write the database's name before the table's")),
        DbBackend::Sqlite if is("PRAGMA") && (mentions("QUERY_ONLY") || mentions("LOCKING_MODE")) => {
            Some(("`PRAGMA query_only` and `PRAGMA locking_mode`", "set them where the pool is made"))
        }
        _ => None,
    }
}
