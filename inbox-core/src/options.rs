//! How a delivery is processed, where it is not the default.

use sea_orm::{IsolationLevel, SqliteTransactionMode, TransactionOptions};

/// How [`process_with`](crate::process_with) works, where it differs from [`process`](crate::process()).
///
/// None of it can be had on a caller's own transaction: that is [`Error::Options`](crate::Error::Options).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub(crate) fast_path: bool,
    pub(crate) isolation: Option<IsolationLevel>,
}

impl Options {
    /// The defaults: no fast path, the database's own isolation level.
    #[must_use]
    pub const fn new() -> Self {
        Self { fast_path: false, isolation: None }
    }

    /// Whether one `SELECT` outside any transaction asks first, and a processed message ends there.
    ///
    /// It costs every fresh message a round trip and saves a late redelivery the transaction. It is for consumers with many
    /// late redeliveries, and it is never the guard: the unique index decides all the same.
    #[must_use]
    pub const fn fast_path(mut self, fast_path: bool) -> Self {
        self.fast_path = fast_path;
        self
    }

    /// The isolation level of the delivery's transaction. SQLite has only one, which is serializable, and ignores it.
    #[must_use]
    pub const fn isolation(mut self, isolation: IsolationLevel) -> Self {
        self.isolation = Some(isolation);
        self
    }

    pub(crate) fn transaction(self, backend: sea_orm::DbBackend) -> TransactionOptions {
        let sqlite = backend == sea_orm::DbBackend::Sqlite;
        TransactionOptions {
            isolation_level: self.isolation.filter(|_| !sqlite),
            access_mode: None,
            // A writer from the start: a read snapshot that must be upgraded fails at once, and the busy timeout does not apply (D1).
            sqlite_transaction_mode: sqlite.then_some(SqliteTransactionMode::Immediate),
        }
    }
}
