//! Which statements a handler must not send: those that end the transaction under the guard, and those that outlive it on the
//! pooled connection. Pure.
//!
//! The first keyword of every statement of the text decides, before anything is sent. What hides in a `CALL` cannot be seen
//! here; see `settle` for what happens then.

use sea_orm::DbBackend;

use super::outlives::outlives;
use super::scan::{keyword, next_statement, readings, skip_blanks};

/// Refuses a text that controls the transaction, that commits implicitly on this backend, or that outlives the transaction.
pub(crate) fn refuse(backend: DbBackend, sql: &str) -> Result<(), String> {
    // Where a string ends depends on the session's settings: what any reading finds is refused.
    readings(backend).iter().try_for_each(|strings| {
        let mut rest = sql;
        loop {
            rest = skip_blanks(rest, backend);
            if let Some(what) = refused_statement(rest, backend) {
                return Err(format!(
                    "refused before it was sent: `{what}` would end the delivery's transaction (or may hide what does), and with it \
                     the guarantee that the message takes effect once. Return an error to roll back; open nested transactions with \
                     `TransactionTrait::begin`; run DDL outside of handlers"
                ));
            }
            if let Some((what, instead)) = outlives(rest, backend) {
                return Err(format!(
                    "refused before it was sent: {what} would outlive the delivery's transaction on its pooled connection, or hide the \
                     inbox from later deliveries: {instead}"
                ));
            }
            match next_statement(rest, backend, *strings) {
                Some(next) => rest = next,
                None => return Ok(()),
            }
        }
    })
}

/// SQLite runs a second statement only when all rows of the first were read; who wants one row leaves it undone, and `Ok`.
pub(crate) fn refuse_second(backend: DbBackend, sql: &str) -> Result<(), String> {
    let second = |strings| next_statement(sql, backend, strings).is_some_and(|rest| !skip_blanks(rest, backend).is_empty());
    if backend == DbBackend::Sqlite && readings(backend).iter().any(|strings| second(*strings)) {
        return Err("refused before it was sent: SQLite would run the second statement of this text only if all rows of the first were \
                    read. Send them one by one"
            .into());
    }
    Ok(())
}

/// Transaction control by text.
/// Sources: PostgreSQL's and SQLite's SQL commands; `XA` and `LOCK` are MySQL's.
const CONTROL: [&str; 8] = ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE"];

/// Commit implicitly on MySQL or MariaDB, by their first keyword. `EXECUTE` may hide any of them; `UNTIL` ends the one compound
/// statement of MariaDB that does not end in `END`.
/// Sources: [MySQL](https://dev.mysql.com/doc/refman/8.0/en/implicit-commit.html),
/// [MariaDB](https://mariadb.com/kb/en/sql-statements-that-cause-an-implicit-commit/).
const MYSQL_COMMITS: [&str; 29] = [
    "ALTER",
    "ANALYZE",
    "BACKUP",
    "CACHE",
    "CHANGE",
    "CHECK",
    "CLONE",
    "CREATE",
    "DROP",
    "EXECUTE",
    "FLUSH",
    "GRANT",
    "IMPORT",
    "INSTALL",
    "LOCK",
    "OPTIMIZE",
    "PURGE",
    "RENAME",
    "REPAIR",
    "RESET",
    "RESTART",
    "REVOKE",
    "SHUTDOWN",
    "STOP",
    "TRUNCATE",
    "UNINSTALL",
    "UNLOCK",
    "UNTIL",
    "XA",
];

fn refused_statement(statement: &str, backend: DbBackend) -> Option<&str> {
    let mysql = backend == DbBackend::MySql;
    // What stands behind a parenthesis is not looked for; an executable comment runs on some servers only.
    if mysql && let Some(what) = ["(", "/*!", "/*M!"].into_iter().find(|opening| statement.starts_with(opening)) {
        return Some(what);
    }
    let (first, rest) = keyword(statement);
    let (second, rest_of_second) = keyword(skip_blanks(rest, backend));
    let is = |word: &str, names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(word));
    let temporary_table =
        || is(first, &["CREATE", "DROP"]) && is(second, &["TEMPORARY"]) && is(keyword(skip_blanks(rest_of_second, backend)).0, &["TABLE"]);
    let refused = is(first, &CONTROL)
        || is(first, &["PREPARE"]) && is(second, &["TRANSACTION"])
        || mysql
            && (is(first, &MYSQL_COMMITS) && !temporary_table()
                || is(first, &["LOAD"]) && is(second, &["INDEX"])
                || is(first, &["SET"]) && sets_what_commits(rest));
    refused.then_some(first)
}

/// `SET autocommit = 1` and `SET PASSWORD` commit, also behind another assignment; `SET STATEMENT … FOR` hides another statement,
/// and an executable comment anything; `completion_type` makes every COMMIT begin another transaction.
fn sets_what_commits(rest: &str) -> bool {
    let upper = rest.to_ascii_uppercase();
    let first = keyword(skip_blanks(&upper, DbBackend::MySql)).0;
    ["AUTOCOMMIT", "COMPLETION_TYPE", "PASSWORD", "/*!", "/*M!"].iter().any(|hidden| upper.contains(hidden))
        || matches!(first, "STATEMENT" | "DEFAULT" | "ROLE")
}

#[cfg(test)]
mod tests;
