//! SQLite's own hooks, where the servers have the proxy: code that runs inside a COMMIT or an INSERT.
//!
//! A crash at COMMIT is a child process whose pool dies in its commit hook:
//!
//! ```no_run
//! # use inbox_tests::{child, hooks};
//! # async fn f(url: &str) {
//! let mut options = sea_orm::ConnectOptions::new(url);
//! hooks::sqlite(&mut options, hooks::Hooks::new().on_commit(|_| child::die()));
//! let pool = sea_orm::Database::connect(options).await.unwrap();
//! # }
//! ```

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use sea_orm::{ConnectOptions, sqlx::sqlite::SqliteOperation};

/// Called with how often it happened before, over all connections of the pool; false turns the COMMIT into a ROLLBACK.
type OnCommit = Arc<dyn Fn(usize) -> bool + Send + Sync>;
/// Called with the table's name, after the row was inserted and before the statement ends.
type OnInsert = Arc<dyn Fn(&str) + Send + Sync>;

/// What runs inside the database.
#[derive(Clone, Default)]
pub struct Hooks {
    commit: Option<OnCommit>,
    insert: Option<OnInsert>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").field("commit", &self.commit.is_some()).field("insert", &self.insert.is_some()).finish()
    }
}

impl Hooks {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs when a transaction that wrote something is about to be committed, with the number of commits before it on
    /// this pool. Nothing is durable yet. `false` makes it a rollback, which the client sees as an error.
    #[must_use]
    pub fn on_commit(mut self, hook: impl Fn(usize) -> bool + Send + Sync + 'static) -> Self {
        self.commit = Some(Arc::new(hook));
        self
    }

    /// Runs when a row was inserted, with the table's name.
    #[must_use]
    pub fn on_insert(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.insert = Some(Arc::new(hook));
        self
    }
}

/// Sets the hooks on every connection of the pool that these options make.
pub fn sqlite(options: &mut ConnectOptions, hooks: Hooks) {
    let commits = Arc::new(AtomicUsize::new(0));
    options.map_sqlx_sqlite_pool_opts(move |pool| {
        let (hooks, commits) = (hooks.clone(), commits.clone());
        pool.after_connect(move |connection, _| {
            let (hooks, commits) = (hooks.clone(), commits.clone());
            Box::pin(async move {
                let mut handle = connection.lock_handle().await?;
                if let Some(hook) = hooks.commit {
                    handle.set_commit_hook(move || hook(commits.fetch_add(1, Ordering::SeqCst)));
                }
                if let Some(hook) = hooks.insert {
                    handle.set_update_hook(move |change| {
                        if change.operation == SqliteOperation::Insert {
                            hook(change.table);
                        }
                    });
                }
                Ok(())
            })
        })
    });
}
