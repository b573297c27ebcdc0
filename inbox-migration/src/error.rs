//! What can go wrong with the schema, and what to do about it.

use std::time::Duration;

use inbox_core::entity::TABLE;
use sea_orm::DbErr;

use crate::{HISTORY_TABLE, HalfApplied};

/// Why the schema was not changed.
///
/// On PostgreSQL and SQLite nothing at all was changed then; MySQL commits every DDL statement at once, and what that
/// can leave behind is [`HalfApplied`](Self::HalfApplied) for the next call.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The table and the history do not agree, or the table is not the one that the history promises. Nothing was changed:
    /// the text says what is there, what is missing and what to do.
    #[error("{0}")]
    HalfApplied(HalfApplied),

    /// [`down`](crate::down()) with [`Rows::Keep`](crate::Rows::Keep) found markers. Nothing was changed.
    #[error(
        "{TABLE} holds {rows} marker(s): without them a redelivered message is processed again. Nothing was dropped. \
         Let the brokers run dry first, or run `inbox down --force` (in code: `Rows::Lose`) to lose them"
    )]
    RowsExist {
        /// How many.
        rows: u64,
    },

    /// Another process held the migration lock all the time. Nothing was changed: call again.
    #[error(
        "another process holds the inbox's migration lock, and still did after {} s. Nothing was changed; run it again",
        .waited.as_secs()
    )]
    Locked {
        /// How long it was waited for.
        waited: Duration,
    },

    /// The history names migrations that this version does not know, so it cannot undo them. Nothing was changed: use the
    /// version that applied them.
    #[error(
        "{HISTORY_TABLE} records migrations that this version does not know ({}): a newer version applied them, run its \
         `inbox down`", .names.join(", ")
    )]
    Newer {
        /// The migrations' names.
        names: Vec<String>,
    },

    /// MySQL would silently commit the caller's transaction at the first DDL statement. Nothing was changed: pass the
    /// `DatabaseConnection`.
    #[error(
        "MySQL commits a transaction at its first DDL statement, the caller's other work with it: pass the \
         DatabaseConnection instead of a transaction. Nothing was changed"
    )]
    InTransaction,

    /// There is no inbox in the schema where one would be created, and there is one further back in PostgreSQL's search path. A
    /// second, empty one in front of it would let every redelivered message take effect again. Nothing was changed.
    #[error(
        "the inbox of this search_path is in schema {there}, and a new one would be created in {here}, in front of it: every \
         message that was done would take effect again. Nothing was changed. Put {there} first (`?options=-csearch_path%3D{there}` \
         behind the URL), or leave it out of the path if {here} is to have an inbox of its own"
    )]
    Elsewhere {
        /// The schema where a table is created.
        here: String,
        /// The schema where the inbox is.
        there: String,
    },

    /// The caller's transaction on PostgreSQL reads a snapshot: what was committed while it waited for the lock, markers
    /// included, would not be seen. Nothing was changed: begin it as READ COMMITTED, or pass the `DatabaseConnection`.
    #[error(
        "this transaction is {level}: it would not see what others commit while it waits for the migration lock, and `down` \
         would drop their markers. Begin it as READ COMMITTED, or pass the DatabaseConnection. Nothing was changed"
    )]
    Snapshot {
        /// The transaction's isolation level.
        level: String,
    },

    /// Not called from a Tokio runtime, or from one that is shutting down.
    #[error("the inbox's migrations need a running Tokio runtime: {0}")]
    Runtime(&'static str),

    /// The database refused a step.
    #[error("{step}: {source}")]
    Database {
        /// What was being done.
        step: &'static str,
        /// What the database said.
        source: DbErr,
    },
}

impl Error {
    pub(crate) fn database(step: &'static str) -> impl Fn(DbErr) -> Self {
        move |source| Self::Database { step, source }
    }
}

impl From<Error> for DbErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Database { source, .. } => source,
            other => Self::Migration(other.to_string()),
        }
    }
}
