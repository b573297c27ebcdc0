use std::{borrow::Cow, error::Error as StdError, fmt, io};

use sea_orm::sqlx::{
    Error as SqlxError,
    error::{DatabaseError, ErrorKind},
};
use sea_orm::{ConnAcquireErr, DbBackend, DbErr, RuntimeErr};

use super::is_refusal;

#[test]
fn the_answers_that_say_that_nothing_was_stored() {
    for code in ["40001", "40P01", "23505", "23503", "23P01"] {
        assert!(is_refusal(DbBackend::Postgres, &answer(code, 0, ErrorKind::Other)), "{code}");
    }
    for number in [1213, 3101] {
        assert!(is_refusal(DbBackend::MySql, &answer("40001", number, ErrorKind::Other)), "{number}");
    }
    assert!(is_refusal(DbBackend::Sqlite, &answer("787", 0, ErrorKind::ForeignKeyViolation)));
}

#[test]
fn every_other_answer_is_unknown() {
    for code in ["57P01", "57P02", "57P03", "57014", "08006", "08003", "53100", "53200", "58030", "40003", "25P02", "XX000"] {
        assert!(!is_refusal(DbBackend::Postgres, &answer(code, 0, ErrorKind::Other)), "{code}");
    }
    // An error during commit, a shutdown, no cluster, a killed connection, a lock wait timeout; and 1213 in a text only.
    for number in [1180, 1053, 1047, 1927, 1205, 1290] {
        assert!(!is_refusal(DbBackend::MySql, &answer("40001", number, ErrorKind::Other)), "{number}");
    }
    // Busy and full: the transaction is still open, and nobody says what the file holds.
    for code in ["5", "13", "10"] {
        assert!(!is_refusal(DbBackend::Sqlite, &answer(code, 0, ErrorKind::Other)), "{code}");
    }
    // Another backend's code says nothing.
    assert!(!is_refusal(DbBackend::Sqlite, &answer("40001", 1213, ErrorKind::Other)));
}

#[test]
fn no_answer_is_unknown() {
    for backend in [DbBackend::Postgres, DbBackend::MySql, DbBackend::Sqlite] {
        for error in [
            DbErr::Query(RuntimeErr::SqlxError(SqlxError::Io(io::Error::new(io::ErrorKind::ConnectionReset, "40001")).into())),
            DbErr::Exec(RuntimeErr::SqlxError(SqlxError::WorkerCrashed.into())),
            DbErr::Exec(RuntimeErr::Internal("40001".into())),
            DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed),
            DbErr::Custom("40001".into()),
        ] {
            assert!(!is_refusal(backend, &error), "{backend:?}: {error:?}");
        }
    }
}

fn answer(code: &'static str, number: u16, kind: ErrorKind) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(SqlxError::Database(Box::new(Answer { code, number, kind })).into()))
}

/// Printed as sqlx's MySQL driver does, where it has a number.
#[derive(Debug)]
struct Answer {
    code: &'static str,
    number: u16,
    kind: ErrorKind,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => f.write_str(self.message()),
            number => write!(f, "{number} ({}): {}", self.code, self.message()),
        }
    }
}

impl StdError for Answer {}

impl DatabaseError for Answer {
    fn message(&self) -> &'static str {
        "1213 (40001): refused"
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(self.code.into())
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

    fn kind(&self) -> ErrorKind {
        match self.kind {
            ErrorKind::ForeignKeyViolation => ErrorKind::ForeignKeyViolation,
            _ => ErrorKind::Other,
        }
    }
}
