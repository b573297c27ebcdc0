//! A broker, a database, and replicas on them; each can be taken away.

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use inbox_tests::{Backend, TestDb, private};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, Statement};

use crate::program::{Run, run, start};

/// The longest that anything here may take.
const LIMIT: Duration = Duration::from_mins(4);

pub(crate) const QUEUE: &str = "credits";

/// A database that can be killed, where it is a server.
enum Store {
    Server(private::Database),
    File(TestDb),
}

pub(crate) struct Stage {
    pub(crate) rabbit: private::RabbitMq,
    store: Store,
    replicas: Vec<Child>,
}

impl Stage {
    pub(crate) async fn new(backend: Backend) -> Self {
        let store = match backend {
            Backend::Sqlite => Store::File(TestDb::new(backend).await),
            Backend::Postgres | Backend::MySql => {
                let server = private::Database::new(backend).await;
                server.pool().await.execute_unprepared("CREATE DATABASE shop").await.unwrap();
                Store::Server(server)
            }
        };
        Self { rabbit: private::RabbitMq::new().await, store, replicas: Vec::new() }
    }

    pub(crate) fn database_url(&self) -> String {
        match &self.store {
            Store::File(db) => db.url().to_owned(),
            Store::Server(server) => {
                let url = server.url();
                format!("{}/shop", url[..url.rfind('/').unwrap()].to_owned())
            }
        }
    }

    pub(crate) fn publish(&self, file: &tempfile::NamedTempFile) {
        let published = run(None, &["--amqp", &self.rabbit.url(), "--publish", file.path().to_str().unwrap()]);
        assert_eq!(published.code, Some(0), "{published:?}");
        assert!(published.out.contains("each confirmed by the broker"), "{published:?}");
    }

    /// One more replica.
    pub(crate) fn start(&mut self) {
        self.replicas.push(start(Some(&self.database_url()), &["--amqp", &self.rabbit.url()]));
    }

    /// SIGKILL for the oldest.
    pub(crate) fn kill(&mut self) {
        let mut oldest = self.replicas.remove(0);
        oldest.kill().unwrap();
        oldest.wait().unwrap();
    }

    /// SIGTERM for the oldest, which ends well.
    pub(crate) fn terminate(&mut self) -> Run {
        let oldest = self.replicas.remove(0);
        assert!(Command::new("kill").args(["-TERM", &oldest.id().to_string()]).status().unwrap().success());
        let run = Run::of(oldest.wait_with_output().unwrap());
        assert_eq!(run.code, Some(0), "{run:?}");
        run
    }

    /// SIGKILL for the server.
    pub(crate) fn kill_database(&mut self) {
        if let Store::Server(server) = &mut self.store {
            server.kill();
        }
    }

    pub(crate) async fn start_database(&mut self) {
        if let Store::Server(server) = &mut self.store {
            server.start().await;
        }
    }

    /// SIGKILL for the broker, as soon as it would find its queue again. RabbitMQ 3.10 writes the name of a new quorum queue to the
    /// disk a moment later; killed before, it makes a new one, without messages and without a leader (seen).
    pub(crate) async fn kill_broker(&mut self) {
        let node = format!("{}@localhost", self.rabbit.folder().file_name().unwrap().to_str().unwrap());
        let names = self.rabbit.folder().join("data").join(&node).join("quorum").join(&node).join("names.dets");
        let name = format!("%2F_{QUEUE}");
        // With its length before it: the other queue's begins alike.
        let name = [&[u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
        self.until("a queue on the disk", async |_| {
            std::fs::read(&names).is_ok_and(|names| names.windows(name.len()).any(|there| there == name))
        })
        .await;
        self.rabbit.kill();
    }

    pub(crate) fn end(&mut self) -> Vec<Run> {
        (0..self.replicas.len()).map(|_| self.terminate()).collect()
    }

    async fn ask(&self, sql: &str) -> Result<Vec<sea_orm::QueryResult>, DbErr> {
        let db: DatabaseConnection = sea_orm::Database::connect(self.database_url()).await?;
        let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await;
        db.close().await?;
        rows
    }

    pub(crate) async fn exec(&self, sql: &str) {
        let db = sea_orm::Database::connect(self.database_url()).await.unwrap();
        db.execute_unprepared(sql).await.unwrap();
        db.close().await.unwrap();
    }

    /// Events that were credited.
    pub(crate) async fn credited(&self) -> i64 {
        let rows = self.ask("SELECT COUNT(*) FROM inbox_message WHERE processed_at IS NOT NULL").await;
        // Before the first replica there is no table.
        rows.map_or(0, |rows| rows[0].try_get_by_index(0).unwrap())
    }

    pub(crate) async fn balances(&self) -> BTreeMap<i64, i64> {
        let rows = self.ask("SELECT id, balance FROM account").await.unwrap();
        rows.iter().map(|row| (row.try_get_by_index(0).unwrap(), row.try_get_by_index(1).unwrap())).collect()
    }

    /// Waits until it is true.
    pub(crate) async fn until(&self, what: &str, mut ask: impl AsyncFnMut(&Self) -> bool) {
        let begun = Instant::now();
        while !ask(self).await {
            assert!(begun.elapsed() < LIMIT, "it never came to this: {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for replica in &mut self.replicas {
            // Of a test that failed.
            _ = replica.kill();
            _ = replica.wait();
        }
    }
}
