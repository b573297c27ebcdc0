//! PostgreSQL or MariaDB.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Child,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use sea_orm::{ConnectOptions, ConnectionTrait as _, DatabaseConnection, Statement};
use tempfile::TempDir;

use super::{LIMIT, as_user, folder_of, free_port, log, processes, run, spawn};
use crate::Backend;

/// A database server of one test's own.
#[derive(Debug)]
pub struct Database {
    backend: Backend,
    folder: TempDir,
    port: u16,
    process: Child,
}

impl Database {
    /// Makes a database and starts its server.
    ///
    /// # Panics
    /// For SQLite, which has no server, and when it does not answer within a minute, with its log.
    pub async fn new(backend: Backend) -> Self {
        let folder = folder_of(user(backend));
        let data = folder.path().join("data");
        let mut make = if backend == Backend::Postgres {
            let mut make = as_user(user(backend), &postgres("initdb"));
            make.args(["-U", "postgres", "-A", "trust", "--no-sync", "--no-instructions", "-D"]).arg(&data);
            make
        } else {
            let mut make = as_user(user(backend), Path::new("mariadb-install-db"));
            make.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
            make.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
            make
        };
        run(&mut make);
        Self::started(backend, folder).await
    }

    /// A standby of it, as it is now: PostgreSQL only.
    pub async fn replica(&self) -> Self {
        let folder = folder_of(user(self.backend));
        let mut copy = as_user(user(self.backend), &postgres("pg_basebackup"));
        copy.args(["-h", "127.0.0.1", "-U", "postgres", "--checkpoint=fast", "--write-recovery-conf", "-p", &self.port.to_string(), "-D"]);
        run(copy.arg(folder.path().join("data")));
        Self::started(self.backend, folder).await
    }

    /// SIGKILL: no checkpoint, no goodbye.
    pub fn kill(&mut self) {
        processes::kill(&mut self.process);
    }

    /// Its sessions are ended, and what is committed is written; blocks the thread until it has ended.
    ///
    /// # Panics
    /// When that takes more than a minute, with its log.
    pub fn stop(&mut self) {
        // PostgreSQL would wait for its clients at SIGTERM.
        let signal = self.backend.pick(Signal::INT, Signal::TERM, Signal::TERM);
        assert!(processes::stop(&mut self.process, signal), "it does not end: {}", log(&self.folder));
    }

    /// Starts it again, where it was.
    pub async fn start(&mut self) {
        let begun = Instant::now();
        // What is left of a killed PostgreSQL holds its memory for a moment, and a new one refuses to start meanwhile.
        while !self.is_ready(begun).await {
            assert!(begun.elapsed() < LIMIT, "it does not start: {}", log(&self.folder));
            self.process = serve(self.backend, self.folder.path(), self.port);
        }
    }

    /// A standby becomes the primary.
    pub async fn promote(&self) {
        self.pool().await.execute_unprepared("SELECT pg_promote(true, 60)").await.unwrap();
    }

    /// Where its first database is, which every server has.
    pub fn url(&self) -> String {
        let url = self.backend.pick("postgres://postgres@127.0.0.1:{}/postgres", "mysql://root@127.0.0.1:{}/mysql", "");
        url.replace("{}", &self.port.to_string())
    }

    /// A pool of one connection, which finds the server again when it comes back.
    pub async fn pool(&self) -> DatabaseConnection {
        sea_orm::Database::connect(self.options()).await.unwrap()
    }

    async fn started(backend: Backend, folder: TempDir) -> Self {
        let port = free_port();
        let process = serve(backend, folder.path(), port);
        let mut server = Self { backend, folder, port, process };
        server.start().await;
        server
    }

    /// Whether it answers; false when its process has ended.
    async fn is_ready(&mut self, begun: Instant) -> bool {
        loop {
            if self.process.try_wait().unwrap().is_some() {
                return false;
            }
            if self.answers().await {
                return true;
            }
            assert!(begun.elapsed() < LIMIT, "it did not start: {}", log(&self.folder));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether it is this server that answers there, and no other test's.
    async fn answers(&self) -> bool {
        let Ok(pool) = sea_orm::Database::connect(self.options()).await else { return false };
        let sql = self.backend.pick("SELECT current_setting('data_directory')", "SELECT @@datadir", "");
        let row = pool.query_one_raw(Statement::from_string(self.backend.db_backend(), sql)).await;
        let data = row.ok().flatten().and_then(|row| row.try_get_by_index::<String>(0).ok());
        pool.close().await.unwrap();
        data.is_some_and(|data| Path::new(&data) == self.folder.path().join("data"))
    }

    fn options(&self) -> ConnectOptions {
        let mut options = ConnectOptions::new(self.url());
        options.max_connections(1).acquire_timeout(Duration::from_secs(2)).sqlx_logging(false);
        options
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.kill();
    }
}

fn serve(backend: Backend, folder: &Path, port: u16) -> Child {
    let data = folder.join("data");
    let mut server = if backend == Backend::Postgres {
        let mut server = as_user(user(backend), &postgres("postgres"));
        // Nothing is lost with a process, only with the machine.
        server.args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-c",
            "fsync=off",
            "-p",
            &port.to_string(),
            "-D",
        ]);
        server.arg(data);
        server
    } else {
        let mut server = as_user(user(backend), Path::new("mariadbd"));
        server.arg("--no-defaults").arg(format!("--datadir={}", data.display())).arg(format!("--port={port}"));
        server.args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-buffer-pool-size=32M", "--pid-file=mariadbd.pid"]);
        server.arg(format!("--socket={}", folder.join("socket").display()));
        server
    };
    spawn(&mut server, folder)
}

fn user(backend: Backend) -> &'static str {
    backend.pick("postgres", "mysql", "")
}

/// One of PostgreSQL's programs, of the newest version that is here.
fn postgres(program: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<_> = versions.map(|version| version.path().join("bin").join(program)).filter(|path| path.exists()).collect();
    found.sort();
    found.pop().unwrap_or_else(|| PathBuf::from(program))
}
