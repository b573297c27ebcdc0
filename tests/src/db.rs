//! A fresh database per test, and pools on it.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use sea_orm::{
    ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbErr, QueryResult, Statement, sqlx::sqlite::SqliteSynchronous,
};
use sea_orm_migration::MigratorTrait;
use tempfile::TempDir;
use uuid::Uuid;

use crate::{
    Backend,
    server::{ServerUrl, create_database, drop_database},
};

/// How SQLite keeps its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// Readers and the writer do not wait for each other; what a service should use, and the default here.
    Wal,
    /// SQLite's own default: a writer waits for the readers.
    Delete,
}

/// A database of one test: created empty, dropped when the test succeeds, kept when it fails.
///
/// Clones name the same database.
#[derive(Clone, Debug)]
pub struct TestDb(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    backend: Backend,
    name: String,
    url: String,
    /// SQLite's file lies in it.
    dir: Mutex<Option<TempDir>>,
    /// The pool that [`TestDb::exec`] and the other direct questions use: never the one under test.
    observer: DatabaseConnection,
    keep: AtomicBool,
}

impl TestDb {
    /// Creates an empty database.
    ///
    /// # Panics
    /// When the server is not there.
    pub async fn new(backend: Backend) -> Self {
        Self::with_journal(backend, Journal::Wal).await
    }

    /// As [`new`](Self::new), with SQLite's journal chosen.
    pub async fn with_journal(backend: Backend, journal: Journal) -> Self {
        let name = unique_name();
        let (url, dir) = if backend == Backend::Sqlite {
            let dir = sqlite_dir(&name);
            let url = format!("sqlite://{}?mode=rwc", dir.path().join("db.sqlite").display());
            (url, Some(dir))
        } else {
            create_database(backend, &name).await.unwrap_or_else(|error| panic!("{backend} cannot create {name}: {error}"));
            (ServerUrl::of(backend).with_database(&name).to_string(), None)
        };
        if backend == Backend::Sqlite && journal == Journal::Wal {
            // The file remembers it. On a connection of its own: a pool that goes on after the change keeps a read lock.
            let first = connect(options(&url, 1)).await;
            first.execute_unprepared("PRAGMA journal_mode = WAL").await.unwrap();
            first.close().await.unwrap();
        }
        let observer = connect(options(&url, 4)).await;
        Self(Arc::new(Inner { backend, name, url, dir: Mutex::new(dir), observer, keep: AtomicBool::new(false) }))
    }

    /// On which backend.
    pub fn backend(&self) -> Backend {
        self.0.backend
    }

    /// The database's name on its server.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Where it is, for a child process or a command line.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// The same through a proxy on this machine.
    ///
    /// # Panics
    /// On SQLite, which has no network.
    pub fn url_through(&self, port: u16) -> String {
        self.server().with_port(port).to_string()
    }

    /// The server's `host:port`.
    ///
    /// # Panics
    /// On SQLite.
    pub fn address(&self) -> String {
        self.server().address()
    }

    fn server(&self) -> ServerUrl {
        assert_ne!(self.0.backend, Backend::Sqlite, "SQLite has no server");
        ServerUrl::of(self.0.backend).with_database(&self.0.name)
    }

    /// A pool of its own on this database, as another replica would have.
    ///
    /// SQLite waits ten seconds for its lock.
    pub async fn pool(&self, max_connections: u32) -> DatabaseConnection {
        connect(options(&self.0.url, max_connections)).await
    }

    /// A pool with other options than [`pool`](Self::pool)'s.
    pub async fn pool_with(&self, change: impl FnOnce(&mut ConnectOptions)) -> DatabaseConnection {
        let mut options = options(&self.0.url, 10);
        change(&mut options);
        connect(options).await
    }

    /// Creates the inbox table.
    pub async fn migrated(&self) {
        // Up to two connections: one holds the migrator's lock.
        <inbox_migration::Migrator as MigratorTrait>::up(&self.0.observer, None).await.unwrap();
    }

    /// Runs one statement past the pools under test.
    ///
    /// # Panics
    /// When the statement fails.
    pub async fn exec(&self, sql: &str) {
        self.try_exec(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// As [`exec`](Self::exec), and says how many rows were affected.
    pub async fn try_exec(&self, sql: &str) -> Result<u64, DbErr> {
        let result = self.0.observer.execute_unprepared(sql).await?;
        Ok(result.rows_affected())
    }

    /// The number of rows in a table: `count("biz")`, `count("biz WHERE k = 'a'")`.
    pub async fn count(&self, table_where: &str) -> i64 {
        self.scalar_i64(&format!("SELECT COUNT(*) FROM {table_where}")).await
    }

    /// The first column of the first row as an integer.
    ///
    /// # Panics
    /// When there is no row, or no integer in it.
    pub async fn scalar_i64(&self, sql: &str) -> i64 {
        let row = self.row(sql).await;
        row.try_get_by_index::<i64>(0)
            .or_else(|_| row.try_get_by_index::<i32>(0).map(i64::from))
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The first column of the first row as text; `None` is NULL.
    ///
    /// # Panics
    /// When there is no row, or no text in it.
    pub async fn scalar_text(&self, sql: &str) -> Option<String> {
        self.row(sql).await.try_get_by_index(0).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    async fn row(&self, sql: &str) -> QueryResult {
        let statement = Statement::from_string(self.0.backend.db_backend(), sql);
        self.0
            .observer
            .query_one_raw(statement)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
            .unwrap_or_else(|| panic!("{sql}: no row"))
    }

    /// The pool behind [`exec`](Self::exec): another replica's view of the database.
    pub fn observer(&self) -> &DatabaseConnection {
        &self.0.observer
    }

    /// Does not drop the database in the end.
    pub fn keep(&self) {
        self.0.keep.store(true, Ordering::Relaxed);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.keep.load(Ordering::Relaxed) || thread::panicking() {
            eprintln!("kept as long as its server runs: {}", self.url);
            if let Some(mut dir) = self.dir.get_mut().unwrap().take() {
                dir.disable_cleanup(true);
            }
            return;
        }
        let (backend, name) = (self.backend, self.name.clone());
        if backend == Backend::Sqlite {
            return;
        }
        // A destructor cannot wait for a future on the test's own runtime.
        let dropped = thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(drop_database(backend, &name))
        })
        .join();
        // The server is thrown away after the run: a database that stays costs disk space only.
        match dropped {
            Ok(Ok(())) => {}
            Ok(Err(error)) => eprintln!("{} was not dropped: {error}", self.name),
            Err(_) => eprintln!("{} was not dropped", self.name),
        }
    }
}

/// Says which test it belongs to, and fits every server's limit of 63 characters.
fn unique_name() -> String {
    let test: String = thread::current()
        .name()
        .unwrap_or("test")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .take(40)
        .collect();
    let unique = Uuid::new_v4().simple().to_string();
    format!("it_{test}_{}", &unique[..12])
}

fn sqlite_dir(name: &str) -> TempDir {
    let root = std::env::var_os("INBOX_TEST_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::Builder::new().prefix(name).tempdir_in(root).unwrap()
}

pub(crate) fn options(url: &str, max_connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options.max_connections(max_connections).acquire_timeout(Duration::from_secs(30)).sqlx_logging(false).map_sqlx_sqlite_opts(|sqlite| {
        // Like the servers' fsync = off: what a killed process wrote stays, only a power cut would lose it.
        sqlite.busy_timeout(Duration::from_secs(10)).synchronous(SqliteSynchronous::Off)
    });
    options
}

pub(crate) async fn connect(options: ConnectOptions) -> DatabaseConnection {
    let url = options.get_url().to_owned();
    Database::connect(options).await.unwrap_or_else(|error| panic!("cannot connect to {url}: {error}"))
}
