use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use sea_orm::sqlx::Error as SqlxError;
use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr};

use super::{is_transient, mysql_number};
use crate::fake::{Fake, statement};
use crate::{Error, InvalidMessageId};

#[test]
fn postgres() {
    for code in [
        "40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300", "25006", "25P03", "42P05", "26000", "08000", "08003", "08006",
        "08P01",
    ] {
        assert!(is_transient(&Fake::postgres(code, "x", None).statement()), "{code}");
    }
    for code in [
        "23505", "23503", "40002", "40003", "55000", "55006", "57014", "57P04", "53100", "53200", "54000", "25P02", "42601", "P0001",
        "XX000", "00000",
    ] {
        assert!(!is_transient(&Fake::postgres(code, "40001", None).statement()), "{code}");
    }
}

#[test]
fn mysql() {
    let transient = [1205, 1213, 1040, 1047, 1053, 1180, 1290, 1792, 1836, 1927, 3101];
    for number in 1..=4000 {
        // Neither the state nor the text has a say: HY000, 23000 and 40001 stand for many.
        for (state, message) in [(Some("HY000"), "x"), (Some("23000"), "1213 (40001): x"), (None, "1205: x")] {
            let error = Fake::mysql(number, state, message).statement();
            assert_eq!(is_transient(&error), transient.contains(&number), "{error}");
        }
    }
    assert!(!is_transient(&Fake::mysql(1062, Some("40001"), "x").statement()));
}

#[test]
fn sqlite() {
    for code in ["5", "6", "261", "262", "517", "518", "773"] {
        assert!(is_transient(&Fake::sqlite(code, "x").statement()), "{code}");
    }
    for code in ["1", "8", "10", "11", "13", "19", "787", "1555", "2067", "1205", "1213"] {
        assert!(!is_transient(&Fake::sqlite(code, "5: x").statement()), "{code}");
    }
}

#[test]
fn sqlx_and_sea_orm() {
    let io = || SqlxError::Io(io::Error::new(io::ErrorKind::ConnectionReset, "x"));
    for error in [
        statement(io()),
        DbErr::Query(RuntimeErr::SqlxError(io().into())),
        DbErr::Conn(RuntimeErr::SqlxError(io().into())),
        statement(SqlxError::PoolTimedOut),
        statement(SqlxError::PoolClosed),
        statement(SqlxError::WorkerCrashed),
        statement(SqlxError::BeginFailed),
        DbErr::ConnectionAcquire(ConnAcquireErr::Timeout),
        DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed),
    ] {
        assert!(is_transient(&error), "{error:?}");
    }
    for error in [
        statement(SqlxError::RowNotFound),
        statement(SqlxError::Protocol("x".into())),
        statement(SqlxError::Decode("x".into())),
        statement(SqlxError::ColumnNotFound("x".into())),
        DbErr::Exec(RuntimeErr::Internal("x".into())),
        DbErr::Conn(RuntimeErr::Internal("x".into())),
        DbErr::RecordNotFound("account 7".into()),
        DbErr::RecordNotUpdated,
        DbErr::Custom("40001".into()),
        DbErr::Type("x".into()),
    ] {
        assert!(!is_transient(&error), "{error:?}");
    }
    assert!(is_transient(&SqlxError::PoolTimedOut));
    assert!(is_transient(&ConnAcquireErr::Timeout));
    assert!(is_transient(&RuntimeErr::SqlxError(SqlxError::PoolTimedOut.into())));
}

#[derive(Debug, thiserror::Error)]
enum Wrapped {
    #[error("crediting failed")]
    Source(#[source] DbErr),
    #[error(transparent)]
    Transparent(#[from] DbErr),
    #[error(transparent)]
    Inbox(#[from] Error),
    #[error(transparent)]
    Other(Box<dyn StdError + Send + Sync>),
    #[error("deeper")]
    Deeper(#[source] Box<Wrapped>),
    #[error("nothing below")]
    Nothing,
}

fn deadlock() -> DbErr {
    Fake::postgres("40P01", "x", None).statement()
}

fn violation() -> DbErr {
    Fake::postgres("23505", "x", None).statement()
}

/// A transparent wrapper hands on its source's source: the link in between is not seen.
#[test]
fn through_the_applications_own_errors() {
    for (cause, expected) in [(deadlock as fn() -> DbErr, true), (violation, false)] {
        for wrapped in [
            Wrapped::Source(cause()),
            Wrapped::Transparent(cause()),
            Wrapped::Inbox(Error::Marker(cause())),
            Wrapped::Other(cause().into()),
            Wrapped::Other(Box::new(Wrapped::Transparent(cause()))),
            Wrapped::Deeper(Wrapped::Transparent(cause()).into()),
            Wrapped::Deeper(Box::new(Wrapped::Deeper(Wrapped::Inbox(Error::Begin(cause())).into()))),
        ] {
            assert_eq!(is_transient(&wrapped), expected, "{wrapped:?}");
            let boxed: Box<dyn StdError + Send + Sync> = wrapped.into();
            assert_eq!(is_transient(&*boxed), expected, "{boxed:?}");
            let shared: Arc<dyn StdError> = Arc::from(boxed as Box<dyn StdError>);
            assert_eq!(is_transient(&*shared), expected);
        }
    }
    assert!(!is_transient(&Wrapped::Nothing));
    assert!(is_transient(&Wrapped::Transparent(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))), "whose own link is skipped");
    assert!(!is_transient(&fmt::Error));
}

/// What no database error says: the variant's own word, through a transparent wrapper, too.
#[test]
fn our_own_errors() {
    let waiting = || Error::InProgress { until: None, retry_after: Duration::ZERO };
    let parked = || Error::Parked { attempts: 3, last_error: None };
    for (error, expected) in [
        (Error::Begin(deadlock()), true),
        (Error::Begin(violation()), false),
        (Error::Marker(deadlock()), true),
        (Error::Marker(violation()), false),
        (Error::Refused(deadlock()), true),
        (Error::Refused(violation()), false),
        (Error::Query(deadlock()), true),
        (Error::Query(violation()), false),
        // Its outcome is unknown whatever the database said.
        (Error::Commit(deadlock()), true),
        (Error::Commit(violation()), true),
        (waiting(), true),
        (parked(), false),
        (Error::Key(InvalidMessageId::Missing), false),
        (Error::Options("x"), false),
    ] {
        assert_eq!(error.is_transient(), expected, "{error:?}");
        assert_eq!(is_transient(&Wrapped::Inbox(error.clone())), expected, "transparent: {error:?}");
        assert_eq!(is_transient(&DbErr::from(error.clone())), expected, "as a DbErr: {error:?}");
        assert_eq!(is_transient(&Wrapped::Transparent(error.clone().into())), expected, "both: {error:?}");
    }
}

#[test]
fn the_number_is_read_from_the_front_and_nowhere_else() {
    for (error, expected) in [
        (Fake::mysql(1205, Some("HY000"), "Lock wait timeout exceeded"), Some(1205)),
        (Fake::mysql(1205, None, "x"), Some(1205)),
        (Fake::mysql(1062, Some("23000"), "1205 (HY000): x"), Some(1062)),
        (Fake::mysql(1062, Some("23000"), ""), Some(1062)),
        (Fake::mysql(1062, Some("23000"), ": : x"), Some(1062)),
        (Fake::mysql(0, Some("HY000"), "x"), Some(0)),
        (Fake::postgres("HY000", "1205 (HY000): x", None), None),
        (Fake::postgres("40001", "", None), None),
        (Fake::sqlite("5", "1205: x"), None),
        (Fake::sqlite("5", ""), None),
    ] {
        assert_eq!(mysql_number(&error), expected, "{error}");
    }
}
