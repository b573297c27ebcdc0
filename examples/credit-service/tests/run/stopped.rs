//! Killed and interrupted with deliveries in hand.

use std::process::{Child, Command};
use std::time::Duration;

use inbox_tests::{Backend, TestDb, backends};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, Statement};

use crate::databases::balances;
use crate::files::events;
use crate::program::{Run, run, start};
use crate::recount::{Recount, SAMPLE, assert_table};

backends! {
    /// One of two replicas is killed with deliveries in its hands; the other one gets them.
    async fn a_replica_is_killed(db: TestDb) {
        let file = Recount::of(SAMPLE);
        run(Some(db.url()), &["--events", events("").path().to_str().unwrap()]).assert_good();
        let blocked = Blocked::start(&db).await;
        let replicas = blocked.replicas();
        assert_eq!(replicas.len(), 2);
        signal("KILL", replicas[0]);
        let ended = blocked.let_go().await;
        assert_table(&ended, &file, file.amounts.len());
        assert!(ended.count("delivered again") > 0, "{ended:?}");
        assert!(ended.out.contains("replica 1: a replica failed: signal: 9 (SIGKILL)"), "{ended:?}");
        assert_eq!(balances(&db).await, file.balances());
    }

    /// Ctrl-C: what is on the way is finished, the rest is left to the next run.
    async fn interrupted(db: TestDb) {
        let file = Recount::of(SAMPLE);
        run(Some(db.url()), &["--events", events("").path().to_str().unwrap()]).assert_good();
        let blocked = Blocked::start(&db).await;
        // As a terminal does it: to everyone in the group.
        for process in blocked.replicas().into_iter().chain([blocked.process.id()]) {
            signal("INT", process);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        let ended = blocked.let_go().await;
        ended.assert_bad("interrupted: not every event was delivered");
        assert!(ended.count("processed") > 0 && ended.count("processed") < file.amounts.len(), "{ended:?}");
        let rest = run(Some(db.url()), &[]);
        assert_table(&rest, &file, file.amounts.len() - ended.count("processed"));
    }
}

/// A run that gets nowhere, because somebody holds what it needs.
struct Blocked {
    process: Child,
    holder: DatabaseConnection,
    backend: Backend,
}

impl Blocked {
    /// On a database where a run has been.
    async fn start(db: &TestDb) -> Self {
        // Accounts that are there already, so that only the replicas are held up.
        for account in Recount::of(SAMPLE).balances().keys() {
            db.exec(&format!("INSERT INTO account (id, balance) VALUES ({account}, 0)")).await;
        }
        let holder = db.pool(1).await;
        let lock = db.backend().pick("BEGIN; SELECT * FROM account FOR UPDATE", "LOCK TABLES account READ", "BEGIN IMMEDIATE");
        holder.execute_unprepared(lock).await.unwrap();
        let process = start(Some(db.url()), &[]);
        let blocked = Self { process, holder, backend: db.backend() };
        if db.backend() == Backend::Sqlite {
            // It shows nobody who waits.
            tokio::time::sleep(Duration::from_millis(700)).await;
            return blocked;
        }
        // One waits for the accounts, at least; what it is given meanwhile waits behind it, or for another copy of the same event.
        let waiting = db.backend().pick(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
            // Markers that are not committed.
            "SELECT COUNT(*) FROM inbox_message",
            "",
        );
        let observer = db.pool(1).await;
        observer
            .execute_unprepared(db.backend().pick("SELECT 1", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", ""))
            .await
            .unwrap();
        let waiting = Statement::from_string(db.backend().db_backend(), waiting);
        for _ in 0..500 {
            let row = observer.query_one_raw(waiting.clone()).await.unwrap().unwrap();
            if row.try_get_by_index::<i64>(0).unwrap() > 0 {
                return blocked;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the replicas are not held up");
    }

    /// The processes that it has started.
    fn replicas(&self) -> Vec<u32> {
        let mut replicas: Vec<u32> = Vec::new();
        for task in std::fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap() {
            let children = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap();
            replicas.extend(children.split_whitespace().map(|id| id.parse::<u32>().unwrap()));
        }
        // In the order in which they were started.
        replicas.sort_unstable();
        replicas
    }

    async fn let_go(self) -> Run {
        self.holder.execute_unprepared(self.backend.pick("ROLLBACK", "UNLOCK TABLES", "ROLLBACK")).await.unwrap();
        Run::of(self.process.wait_with_output().unwrap())
    }
}

fn signal(signal: &str, process: u32) {
    assert!(Command::new("kill").args([&format!("-{signal}"), &process.to_string()]).status().unwrap().success());
}
