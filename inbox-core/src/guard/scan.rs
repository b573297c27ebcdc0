//! Where the statements of a text begin: quotes, comments and keywords, as each backend reads them. Pure.

use sea_orm::DbBackend;

pub(super) fn keyword(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    text.split_at(end)
}

/// Skips white space and comments, but not MySQL's executable ones, and empty statements.
pub(super) fn skip_blanks(mut text: &str, backend: DbBackend) -> &str {
    let mysql = backend == DbBackend::MySql;
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || c == ';' || c == '\u{feff}');
        let executable = mysql && (text.starts_with("/*!") || text.starts_with("/*M!"));
        if is_line_comment(text, backend) {
            text = skip_line(text, backend);
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
        text.starts_with('#') || text.strip_prefix("--").is_some_and(|rest| !rest.starts_with(|c: char| c > ' ' && c != '\u{7f}'))
    } else {
        text.starts_with("--")
    }
}

/// PostgreSQL's comments end at a carriage return, too.
fn skip_line(text: &str, backend: DbBackend) -> &str {
    text.split_once(|c| c == '\n' || c == '\r' && backend == DbBackend::Postgres).map_or("", |(_, rest)| rest)
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

/// In which strings a backslash escapes the quote behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strings {
    /// In none.
    Plain,
    /// In PostgreSQL's `E'…'`.
    Marked,
    /// In `'…'`.
    Single,
    /// In `'…'` and `"…"`.
    All,
}

/// What a session may have been set to: `standard_conforming_strings` on PostgreSQL, `NO_BACKSLASH_ESCAPES` and `ANSI_QUOTES` on
/// MySQL.
pub(super) fn readings(backend: DbBackend) -> &'static [Strings] {
    match backend {
        DbBackend::Postgres => &[Strings::Marked, Strings::Single],
        DbBackend::MySql => &[Strings::All, Strings::Single, Strings::Plain],
        _ => &[Strings::Plain],
    }
}

/// What follows the first `;` that stands outside of quotes and comments.
pub(super) fn next_statement(statement: &str, backend: DbBackend, strings: Strings) -> Option<&str> {
    if !statement.contains(';') {
        return None;
    }
    let (postgres, mysql, sqlite) = (backend == DbBackend::Postgres, backend == DbBackend::MySql, backend == DbBackend::Sqlite);
    let mut rest = statement;
    while let Some(c) = rest.chars().next() {
        rest = match c {
            ';' => return Some(&rest[1..]),
            '\'' if strings == Strings::Marked && is_escape_string(statement, rest) => skip_escape_string(rest),
            '\'' => skip_quoted(&rest[1..], c, matches!(strings, Strings::Single | Strings::All)),
            '"' => skip_quoted(&rest[1..], c, strings == Strings::All),
            '`' if !postgres => skip_quoted(&rest[1..], c, false),
            '[' if sqlite => skip_quoted(&rest[1..], ']', false),
            '$' if postgres && !follows_word(statement, rest) => skip_dollar_quoted(rest),
            // Code on some servers, a comment on others: refused where the statements that it may hold or end matter.
            '/' if mysql && (rest.starts_with("/*!") || rest.starts_with("/*M!")) => return Some(rest),
            '/' if rest.starts_with("/*") => skip_comment(rest, backend),
            '-' | '#' if is_line_comment(rest, backend) => skip_line(rest, backend),
            _ => &rest[c.len_utf8()..],
        };
    }
    None
}

/// Whether `rest` begins inside of a word: `a$b$c` is a name. Every character outside of ASCII is one of a word.
fn follows_word(statement: &str, rest: &str) -> bool {
    statement[..statement.len() - rest.len()].ends_with(|c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

/// PostgreSQL's `E'…'`, where a backslash escapes.
fn is_escape_string(statement: &str, rest: &str) -> bool {
    let before = &statement[..statement.len() - rest.len()];
    before.ends_with(['e', 'E']) && !follows_word(statement, &statement[before.len() - 1..])
}

/// With what continues it: another quoted text behind blanks with a line break in them belongs to it, escapes and all.
fn skip_escape_string(mut text: &str) -> &str {
    loop {
        text = skip_quoted(&text[1..], '\'', true);
        let next = skip_blanks(text, DbBackend::Postgres);
        let between = &text[..text.len() - next.len()];
        if !next.starts_with('\'') || between.contains(';') || !between.contains(['\n', '\r']) {
            return text;
        }
        text = next;
    }
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
