//! Whether a transaction is open that nobody knows of: what a pool looks like from the server.

use std::time::Duration;

use sea_orm::ConnectionTrait as _;

use crate::{
    Backend, TestDb,
    db::{connect, options},
};

/// How long a dropped connection's rollback may take to arrive.
const LIMIT: Duration = Duration::from_secs(10);

impl TestDb {
    /// Open transactions of this database, as the server sees them.
    ///
    /// PostgreSQL shows all of them. MariaDB shows a transaction from its first statement on a table on, and renews its view
    /// only when nobody looked for a tenth of a second. SQLite shows the writer, as 1.
    pub async fn open_transactions(&self) -> i64 {
        match self.backend() {
            Backend::Postgres => {
                self.count(
                    "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
                     AND backend_type = 'client backend' AND xact_start IS NOT NULL",
                )
                .await
            }
            Backend::MySql => {
                self.count(
                    "information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id \
                     WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()",
                )
                .await
            }
            Backend::Sqlite => i64::from(self.has_writer().await),
        }
    }

    /// Waits until no transaction is open: a rollback that a dropped future queued has happened then.
    ///
    /// # Panics
    /// When one is still open after ten seconds.
    pub async fn no_open_transaction(&self) {
        let settled = async {
            while self.open_transactions().await > 0 {
                // Asked more often, MariaDB would repeat its first answer; and two tests that take turns would both hear it.
                let pause = if self.backend() == Backend::MySql { 120 + fastrand::u64(..200) } else { 20 };
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        };
        let waited = tokio::time::timeout(LIMIT, settled).await;
        assert!(waited.is_ok(), "a transaction is still open on {} after {LIMIT:?}", self.backend());
    }

    /// Waits until so many sessions of this database wait for a lock, as the server sees it.
    ///
    /// # Panics
    /// When they do not within ten seconds. On SQLite, whose waiters only sleep.
    pub async fn lock_waiters(&self, n: i64) {
        let waiting = self.backend().pick(
            "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
            // Not InnoDB's own view, which is not renewed while anybody looks at it. This one shows what runs, too: a statement
            // that is seen twice waits.
            "information_schema.processlist WHERE db = DATABASE() AND LOWER(state) IN ('update', 'updating')",
            "",
        );
        let waited = tokio::time::timeout(LIMIT, async {
            let mut seen = 0;
            while seen < 2 {
                seen = if self.count(waiting).await >= n { seen + 1 } else { 0 };
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(waited.await.is_ok(), "no {n} sessions wait for a lock on {} after {LIMIT:?}", self.backend());
    }

    /// Tries to be the writer, without waiting for another one.
    async fn has_writer(&self) -> bool {
        let mut options = options(self.url(), 1);
        options.map_sqlx_sqlite_opts(|sqlite| sqlite.busy_timeout(Duration::ZERO));
        let db = connect(options).await;
        let outcome = db.execute_unprepared("BEGIN IMMEDIATE").await;
        db.close().await.unwrap();
        match outcome {
            Ok(_) => false,
            Err(error) if error.to_string().contains("database is locked") => true,
            Err(error) => panic!("BEGIN IMMEDIATE: {error}"),
        }
    }
}
