//! Which statements a handler must not send: those that end the transaction under the guard. Pure.
//!
//! The first keyword of every statement of the text decides, before anything is sent. What hides in a `CALL` cannot be seen
//! here; see `settle` for what happens then.

use sea_orm::DbBackend;

/// Refuses a text that controls the transaction, or that commits implicitly on this backend.
pub(crate) fn refuse(backend: DbBackend, sql: &str) -> Result<(), String> {
    let mut rest = sql;
    loop {
        rest = skip_blanks(rest, backend);
        if let Some(what) = refused_statement(rest, backend) {
            return Err(format!(
                "refused before it was sent: `{what}` would end the delivery's transaction (or may hide what does), and with it the \
                 guarantee that the message takes effect once. Return an error to roll back; open nested transactions with \
                 `TransactionTrait::begin`; run DDL outside of handlers"
            ));
        }
        match next_statement(rest, backend) {
            Some(next) => rest = next,
            None => return Ok(()),
        }
    }
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

/// `SET autocommit = 1` and `SET PASSWORD` commit; `SET STATEMENT … FOR` hides another statement; `completion_type` makes every
/// COMMIT begin another transaction.
fn sets_what_commits(rest: &str) -> bool {
    let upper = rest.to_ascii_uppercase();
    let first = keyword(skip_blanks(&upper, DbBackend::MySql)).0;
    upper.contains("AUTOCOMMIT") || upper.contains("COMPLETION_TYPE") || matches!(first, "PASSWORD" | "STATEMENT" | "DEFAULT" | "ROLE")
}

fn keyword(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    text.split_at(end)
}

/// Skips white space and comments, but not MySQL's executable ones, and empty statements.
fn skip_blanks(mut text: &str, backend: DbBackend) -> &str {
    let mysql = backend == DbBackend::MySql;
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || c == ';' || c == '\u{feff}');
        let executable = mysql && (text.starts_with("/*!") || text.starts_with("/*M!"));
        if is_line_comment(text, backend) {
            text = skip_line(text);
        } else if text.starts_with("/*") && !executable {
            text = skip_comment(text, backend);
        } else {
            return text;
        }
    }
}

/// MySQL wants a blank behind the two dashes: `5--1` is arithmetic there.
fn is_line_comment(text: &str, backend: DbBackend) -> bool {
    if backend == DbBackend::MySql {
        text.starts_with('#') || text.strip_prefix("--").is_some_and(|rest| !rest.starts_with(|c: char| c > ' '))
    } else {
        text.starts_with("--")
    }
}

fn skip_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// PostgreSQL's comments nest, the others' do not.
fn skip_comment(text: &str, backend: DbBackend) -> &str {
    let nested = backend == DbBackend::Postgres;
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") && (nested || depth == 0) {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return &text[at..];
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    ""
}

/// What follows the first `;` that stands outside of quotes and comments.
fn next_statement(statement: &str, backend: DbBackend) -> Option<&str> {
    if !statement.contains(';') {
        return None;
    }
    let (postgres, mysql, sqlite) = (backend == DbBackend::Postgres, backend == DbBackend::MySql, backend == DbBackend::Sqlite);
    let mut rest = statement;
    while let Some(c) = rest.chars().next() {
        rest = match c {
            ';' => return Some(&rest[1..]),
            '\'' | '"' => skip_quoted(&rest[1..], c, mysql || postgres && c == '\'' && is_escape_string(statement, rest)),
            '`' if !postgres => skip_quoted(&rest[1..], c, false),
            '[' if sqlite => skip_quoted(&rest[1..], ']', false),
            '$' if postgres && !follows_word(statement, rest) => skip_dollar_quoted(rest),
            // Code on some servers, a comment on others: refused where the statements that it may hold or end matter.
            '/' if mysql && (rest.starts_with("/*!") || rest.starts_with("/*M!")) => return Some(rest),
            '/' if rest.starts_with("/*") => skip_comment(rest, backend),
            '-' | '#' if is_line_comment(rest, backend) => skip_line(rest),
            _ => &rest[c.len_utf8()..],
        };
    }
    None
}

/// Whether `rest` begins inside of a word: `a$b$c` is a name.
fn follows_word(statement: &str, rest: &str) -> bool {
    statement[..statement.len() - rest.len()].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$')
}

/// PostgreSQL's `E'…'`, where a backslash escapes.
fn is_escape_string(statement: &str, rest: &str) -> bool {
    let before = &statement[..statement.len() - rest.len()];
    before.ends_with(['e', 'E']) && !follows_word(statement, &statement[before.len() - 1..])
}

/// What follows the closing quote. A doubled quote ends one string and begins the next, which comes to the same.
fn skip_quoted(text: &str, quote: char, backslash_escapes: bool) -> &str {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && backslash_escapes {
            chars.next();
        } else if c == quote {
            return &text[at + c.len_utf8()..];
        }
    }
    ""
}

/// PostgreSQL's `$tag$ … $tag$`; a `$1` is a parameter.
fn skip_dollar_quoted(text: &str) -> &str {
    let Some(end) = text[1..].find('$').map(|at| at + 2) else {
        return &text[1..];
    };
    let tag = &text[..end];
    let name = &tag[1..tag.len() - 1];
    if name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return &text[1..];
    }
    text[end..].split_once(tag).map_or("", |(_, rest)| rest)
}

#[cfg(test)]
mod tests;
