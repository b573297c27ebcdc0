//! Errors as the three drivers of sqlx make them, for the pure tests.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use sea_orm::sqlx::Error as SqlxError;
use sea_orm::sqlx::error::{DatabaseError, ErrorKind};
use sea_orm::{DbErr, RuntimeErr};

#[derive(Debug)]
pub(crate) struct Fake {
    text: String,
    code: Option<&'static str>,
    message: String,
    constraint: Option<&'static str>,
    kind: ErrorKind,
}

impl Fake {
    pub(crate) fn postgres(code: &'static str, message: &str, constraint: Option<&'static str>) -> Self {
        let kind = if code == "23505" { ErrorKind::UniqueViolation } else { ErrorKind::Other };
        Self { text: message.into(), code: Some(code), message: message.into(), constraint, kind }
    }

    pub(crate) fn mysql(number: u16, code: Option<&'static str>, message: &str) -> Self {
        let kind = if [1022, 1062, 1169, 1586, 1859].contains(&number) { ErrorKind::UniqueViolation } else { ErrorKind::Other };
        let text = code.map_or_else(|| format!("{number}: {message}"), |code| format!("{number} ({code}): {message}"));
        Self { text, code, message: message.into(), constraint: None, kind }
    }

    pub(crate) fn sqlite(code: &'static str, message: &str) -> Self {
        let kind = if ["2067", "1555"].contains(&code) { ErrorKind::UniqueViolation } else { ErrorKind::Other };
        Self { text: format!("(code: {code}) {message}"), code: Some(code), message: message.into(), constraint: None, kind }
    }

    /// As SeaORM reports a failed statement.
    pub(crate) fn statement(self) -> DbErr {
        statement(SqlxError::Database(Box::new(self)))
    }
}

pub(crate) fn statement(error: SqlxError) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}

impl fmt::Display for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Fake {}

impl DatabaseError for Fake {
    fn message(&self) -> &str {
        &self.message
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.code.map(Cow::Borrowed)
    }

    fn constraint(&self) -> Option<&str> {
        self.constraint
    }

    fn kind(&self) -> ErrorKind {
        match self.kind {
            ErrorKind::UniqueViolation => ErrorKind::UniqueViolation,
            _ => ErrorKind::Other,
        }
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }
}
