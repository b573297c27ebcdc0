//! What can go wrong, named by the step that failed, and what it means for the message.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sea_orm::DbErr;
use sea_orm::prelude::ChronoDateTimeUtc;

use crate::InvalidMessageId;
use crate::guard::Aborted;
use crate::transient::{Redelivery, is_transient};
use crate::verify::SchemaError;

/// Why a delivery must not be acknowledged. A duplicate is no error: it is [`Outcome::Duplicate`](crate::Outcome).
///
/// Each variant names the step that failed and says what to do with the message. [`is_transient`](Self::is_transient) sorts
/// them for a pump.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The message has no usable id. Nothing was written, the database was not asked, the handler did not run. The same
    /// message will fail again: dead-letter it.
    Key(InvalidMessageId),
    /// These options cannot be had here. Nothing was written, the handler did not run. Mend the call; let the message be
    /// redelivered.
    Options(&'static str),
    /// No transaction could be begun. Nothing was written, the handler did not run. Let the message be redelivered.
    Begin(DbErr),
    /// The marker could not be written, and not because it exists. Nothing was written, the handler did not run. Let the
    /// message be redelivered.
    Marker(DbErr),
    /// The handler said `Ok`, but its transaction could not be committed any more, or it ended the transaction itself. It was
    /// rolled back. Let the message be redelivered; where it is not transient, the handler needs mending.
    Aborted(Aborted),
    /// The database refused the COMMIT and said so: nothing was stored. Let the message be redelivered.
    Refused(DbErr),
    /// The COMMIT was sent and its outcome is unknown. Let the message be redelivered: the marker decides.
    Commit(DbErr),
    /// Another delivery has the message in work, and it is not done. Nothing was written by this one. Never acknowledge it:
    /// the other may still fail. Let it be redelivered, best after `retry_after`.
    InProgress {
        /// The end of the other's lease, by the database's clock; `None` where it is not known.
        until: Option<ChronoDateTimeUtc>,
        /// How long to wait, as computed by the database.
        retry_after: Duration,
    },
    /// The message failed for good and waits for an operator. Nothing was written, the handler did not run. Dead-letter it.
    Parked {
        /// How often it was tried.
        attempts: i32,
        /// Why the last attempt failed.
        last_error: Option<String>,
    },
    /// The inbox table is not what this version needs. Refuse to start.
    Schema(SchemaError),
    /// A look at the inbox table failed. Nothing was written by this delivery. Let the message be redelivered.
    Query(DbErr),
}

impl Error {
    /// Whether delivering the message again, as it is, may well succeed. See [`is_transient`](crate::is_transient()).
    #[must_use]
    pub fn is_transient(&self) -> bool {
        is_transient(self)
    }

    /// What the variant says, whatever its source does.
    pub(crate) const fn is_transient_by_itself(&self) -> bool {
        match self {
            Self::Commit(_) | Self::InProgress { .. } => true,
            Self::Aborted(aborted) => aborted.is_transient_by_itself(),
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(error) => write!(
                f,
                "the message has no usable identity: {error}. Nothing was written and the handler did not run; the same message will \
                 fail again: dead-letter it and mend its sender"
            ),
            Self::Options(what) => {
                write!(f, "{what}. Nothing was written and the handler did not run: do not acknowledge, and mend the call")
            }
            Self::Begin(error) => write!(
                f,
                "no transaction could be begun: {error}.{} Nothing was written and the handler did not run: do not acknowledge",
                pool_hint(error)
            ),
            Self::Marker(error) => {
                write!(f, "the marker could not be written: {error}. Nothing was stored and the handler did not run: do not acknowledge")
            }
            Self::Aborted(aborted) => aborted.fmt(f),
            Self::Refused(error) => write!(f, "the database refused the commit: {error}. Nothing was stored: do not acknowledge"),
            Self::Commit(error) => write!(
                f,
                "the commit was sent and its outcome is unknown: {error}. Do not acknowledge: the redelivery finds the marker, or runs the \
                 handler"
            ),
            Self::InProgress { retry_after, .. } => write!(
                f,
                "another delivery has this message in work and is not done. Nothing was written: do not acknowledge, deliver again in \
                 {retry_after:?}"
            ),
            Self::Parked { attempts, last_error } => write!(
                f,
                "the message is parked after {attempts} attempts ({}). Nothing was written: dead-letter it; an operator frees it",
                last_error.as_deref().unwrap_or("no error is recorded")
            ),
            Self::Schema(error) => error.fmt(f),
            Self::Query(error) => {
                write!(f, "the inbox table could not be read: {error}. Nothing was written by this delivery: do not acknowledge")
            }
        }
    }
}

/// An exhausted pool has one usual cause, and it is not the database.
fn pool_hint(error: &DbErr) -> &'static str {
    match error {
        DbErr::ConnectionAcquire(_) => {
            " Every connection of the pool is in use: a body that uses the pool instead of the transaction it was handed waits for \
             itself; otherwise raise `max_connections` above the number of deliveries at once."
        }
        _ => "",
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Key(error) => Some(error),
            Self::Begin(error) | Self::Marker(error) | Self::Refused(error) | Self::Query(error) => Some(error),
            // Through a transparent wrapper only the sources are seen, so what the database's error does not say must stand there.
            Self::Commit(error) if is_transient(error) => Some(error),
            Self::Commit(_) | Self::InProgress { .. } => Some(&Redelivery),
            Self::Aborted(aborted) => aborted.source(),
            Self::Schema(error) => error.source(),
            Self::Options(_) | Self::Parked { .. } => None,
        }
    }
}

impl From<InvalidMessageId> for Error {
    fn from(error: InvalidMessageId) -> Self {
        Self::Key(error)
    }
}

/// For handlers that return `Result<(), DbErr>`: hands back the database's own error where it says the same about a
/// redelivery, else carries the whole [`Error`], which [`is_transient`](crate::is_transient()) finds.
impl From<Error> for DbErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Begin(source) | Error::Marker(source) | Error::Refused(source) | Error::Query(source) => source,
            Error::Commit(source) if is_transient(&source) => source,
            other => Self::TryIntoErr { from: "delivery", into: "effect", source: Arc::new(other) },
        }
    }
}
