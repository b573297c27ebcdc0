//! From an error to an exit code and a text that says what to do.

use std::error::Error as StdError;
use std::time::Duration;

use sea_orm::sqlx::error::DatabaseError;
use sea_orm::{DbBackend, DbErr, RuntimeErr, sqlx};

use super::database_url::DatabaseUrl;
use super::exit::Exit;
use crate::Error;

/// How long a server may take to answer; sqlx tries again while the connection is refused.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why there is no answer.
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) message: String,
}

impl Failure {
    /// From opening the first connection. SeaORM's own texts here quote the URL, so they are not used.
    pub(super) fn connect(error: &DbErr, url: &DatabaseUrl) -> Self {
        let Some(sqlx) = sqlx_error(error) else {
            return Self { exit: Exit::BadUrl, message: format!("the database URL of {url} cannot be parsed") };
        };
        match sqlx {
            sqlx::Error::Configuration(error) => {
                Self { exit: Exit::BadUrl, message: format!("the database URL of {url} cannot be used: {error}") }
            }
            _ => Self::database(sqlx, url, "connecting", "")
                .unwrap_or_else(|| Self { exit: Exit::Unreachable, message: format!("{url} cannot be reached: {sqlx}") }),
        }
    }

    pub(super) fn migration(error: &Error, command: &str, url: &DatabaseUrl) -> Self {
        let exit = match error {
            Error::HalfApplied(_) => Exit::HalfApplied,
            Error::RowsExist { .. } => Exit::RowsExist,
            Error::Locked { .. } => Exit::Locked,
            Error::Database { step, source } => {
                let known = sqlx_error(source).and_then(|sqlx| Self::database(sqlx, url, step, rights(command)));
                return known.unwrap_or_else(|| Self::other(error, url));
            }
            _ => Exit::Other,
        };
        Self { exit, message: error.to_string() }
    }

    pub(super) fn verify(error: &inbox_core::Error, url: &DatabaseUrl) -> Self {
        if matches!(error, inbox_core::Error::Schema(_)) {
            return Self { exit: Exit::NotVerified, message: error.to_string() };
        }
        let chain = std::iter::successors(Some(error as &(dyn StdError + 'static)), |link| (*link).source());
        let known = chain
            .filter_map(|link| link.downcast_ref::<DbErr>())
            .find_map(|error| Self::database(sqlx_error(error)?, url, "verifying", rights("verify")));
        known.unwrap_or_else(|| Self::other(error, url))
    }

    fn other(error: &dyn StdError, url: &DatabaseUrl) -> Self {
        Self { exit: Exit::Other, message: format!("{url}: {error}") }
    }

    /// `None` where the error is none of those with a code of their own.
    fn database(error: &sqlx::Error, url: &DatabaseUrl, step: &str, rights: &str) -> Option<Self> {
        let (exit, message) = match error {
            sqlx::Error::Io(error) => (Exit::Unreachable, format!("{url} cannot be reached: {error}")),
            sqlx::Error::Tls(error) => (Exit::Unreachable, format!("{url} cannot be reached: TLS: {error}")),
            sqlx::Error::PoolTimedOut => (
                Exit::Unreachable,
                format!(
                    "{url} cannot be reached: no connection within {} s (is the server down, starting, or out of connections?)",
                    CONNECT_TIMEOUT.as_secs()
                ),
            ),
            sqlx::Error::Database(error) => {
                let text = error.message();
                match kind(&**error, url.backend())? {
                    Kind::Unreachable => (Exit::Unreachable, format!("{url} cannot be reached: {text}")),
                    Kind::NoFile => {
                        (Exit::Unreachable, format!("{url} cannot be reached: {text} (to create a new file, add ?mode=rwc to the URL)"))
                    }
                    Kind::Credentials => (Exit::MissingRights, format!("{url} refuses this user or password: {text}")),
                    Kind::Busy => (Exit::Locked, format!("{url} is held by another process, while {step}: {text}. Run it again")),
                    Kind::ReadOnly => (Exit::MissingRights, format!("{url} is read-only here, while {step}: {text}")),
                    Kind::Rights => (Exit::MissingRights, format!("missing rights on {url}, while {step}: {text}. {rights}")),
                }
            }
            _ => return None,
        };
        Some(Self { exit, message })
    }
}

fn rights(command: &str) -> &'static str {
    match command {
        "up" => {
            "`inbox up` needs the right to create tables (PostgreSQL: CREATE on the schema; MySQL: CREATE, SELECT and INSERT \
             on the database); `inbox grants --for operator` prints them"
        }
        "down" => {
            "`inbox down` needs the right to drop the inbox table (PostgreSQL: its owner; MySQL: DROP, SELECT, DELETE and \
             LOCK TABLES on the database); `inbox grants --for operator` prints them"
        }
        "verify" => "`inbox verify` needs what a service needs: `inbox grants` prints it",
        _ => "`inbox status` needs SELECT on inbox_migrations: `inbox grants` prints what a service needs",
    }
}

fn sqlx_error(error: &DbErr) -> Option<&sqlx::Error> {
    match error {
        DbErr::Conn(RuntimeErr::SqlxError(error))
        | DbErr::Exec(RuntimeErr::SqlxError(error))
        | DbErr::Query(RuntimeErr::SqlxError(error)) => Some(error),
        DbErr::ConnectionAcquire(_) => Some(&sqlx::Error::PoolTimedOut),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unreachable,
    NoFile,
    Credentials,
    Busy,
    ReadOnly,
    Rights,
}

fn kind(error: &dyn DatabaseError, backend: DbBackend) -> Option<Kind> {
    match backend {
        DbBackend::Postgres => postgres_kind(&error.code()?),
        DbBackend::MySql => mysql_kind(mysql_number(error)?),
        _ => sqlite_kind(error.code()?.parse().ok()?),
    }
}

#[cfg(feature = "sqlx-mysql")]
fn mysql_number(error: &dyn DatabaseError) -> Option<u16> {
    error.try_downcast_ref::<sea_orm::SqlxMySqlError>().map(sea_orm::SqlxMySqlError::number)
}

#[cfg(not(feature = "sqlx-mysql"))]
fn mysql_number(_error: &dyn DatabaseError) -> Option<u16> {
    None
}

/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
fn postgres_kind(code: &str) -> Option<Kind> {
    match code {
        // No such database; no more connections; starting up, shutting down.
        "3D000" | "53300" | "57P01" | "57P02" | "57P03" => Some(Kind::Unreachable),
        "28000" | "28P01" => Some(Kind::Credentials),
        "55P03" => Some(Kind::Busy),
        "25006" => Some(Kind::ReadOnly),
        "42501" => Some(Kind::Rights),
        _ => None,
    }
}

/// <https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html>
fn mysql_kind(number: u16) -> Option<Kind> {
    match number {
        // No such database; no more connections; host not allowed, or blocked; shutting down.
        1049 | 1040 | 1203 | 1226 | 1130 | 1129 | 1053 => Some(Kind::Unreachable),
        1045 | 1698 | 1862 => Some(Kind::Credentials),
        1205 => Some(Kind::Busy),
        1290 | 1792 | 1836 => Some(Kind::ReadOnly),
        1044 | 1142 | 1143 | 1227 | 1370 => Some(Kind::Rights),
        _ => None,
    }
}

/// The primary code is the low byte. <https://www.sqlite.org/rescode.html>
fn sqlite_kind(code: i32) -> Option<Kind> {
    match code & 0xff {
        14 => Some(Kind::NoFile),
        10 | 26 => Some(Kind::Unreachable),
        5 | 6 => Some(Kind::Busy),
        8 => Some(Kind::ReadOnly),
        3 | 23 => Some(Kind::Rights),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        assert_eq!(postgres_kind("42501"), Some(Kind::Rights));
        assert_eq!(postgres_kind("23505"), None);
        assert_eq!(mysql_kind(1142), Some(Kind::Rights));
        assert_eq!(mysql_kind(1062), None);
        assert_eq!([postgres_kind("55P03"), mysql_kind(1205), sqlite_kind(517)], [Some(Kind::Busy); 3]);
        // READONLY_DIRECTORY, CANTOPEN_ISDIR.
        assert_eq!(sqlite_kind(1544), Some(Kind::ReadOnly));
        assert_eq!(sqlite_kind(526), Some(Kind::NoFile));
        assert_eq!(sqlite_kind(19), None);
    }
}
