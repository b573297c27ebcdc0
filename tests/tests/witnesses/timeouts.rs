//! The marker's INSERT waits for another delivery of the same message, and the server ends the wait: not a duplicate, because
//! the other one may still fail.

use inbox_core::{Error, process};
use inbox_tests::{Backend, TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, DatabaseConnection};
use tokio::sync::oneshot;

use super::support::{Bench, Failed, is_mariadb};

/// Another replica, in the middle of the same message.
struct Other {
    end: oneshot::Sender<bool>,
    delivery: tokio::task::JoinHandle<bool>,
}

impl Other {
    async fn in_work(bench: &Bench) -> Self {
        let (end, ended) = oneshot::channel();
        let (started, start) = oneshot::channel();
        let (pool, key) = (bench.db().pool(1).await, bench.key.clone());
        let delivery = tokio::spawn(async move {
            let outcome = process(&pool, key, async |tx| {
                ledger::credit(tx, 2, 1).await?;
                started.send(()).unwrap();
                if ended.await.unwrap() { Ok(()) } else { Err(Failed::Own) }
            });
            outcome.await.is_ok()
        });
        start.await.unwrap();
        Self { end, delivery }
    }

    async fn ends(self, commits: bool) {
        self.end.send(commits).unwrap();
        assert_eq!(self.delivery.await.unwrap(), commits);
    }
}

/// What a server may be told, whether its answer is transient, and how the limit is taken back.
fn limits(backend: Backend) -> &'static [(&'static str, bool, &'static str)] {
    backend.pick(
        &[
            ("SET lock_timeout = '100ms'", true, "SET lock_timeout = 0"),
            ("SET statement_timeout = '100ms'", false, "SET statement_timeout = 0"),
        ],
        &[
            ("SET SESSION innodb_lock_wait_timeout = 1", true, "SET SESSION innodb_lock_wait_timeout = 50"),
            ("SET SESSION max_statement_time = 0.2", false, "SET SESSION max_statement_time = 0"),
        ],
        &[("PRAGMA busy_timeout = 50", true, "PRAGMA busy_timeout = 10000")],
    )
}

async fn set(pool: &DatabaseConnection, sql: &str) {
    pool.execute_unprepared(sql).await.unwrap();
}

backends! {
    async fn the_wait_is_ended(db: TestDb) {
        let mut bench = Bench::new(&db).await;
        for commits in [false, true] {
            for (limit, transient, without) in limits(db.backend()) {
                // MySQL itself limits the time of a SELECT only.
                if limit.contains("max_statement_time") && !is_mariadb(&db).await {
                    continue;
                }
                let other = Other::in_work(&bench).await;
                set(&bench.pool, limit).await;
                let outcome = bench.deliver(async |tx| Ok(ledger::credit(tx, 1, 1).await?)).await;
                match outcome {
                    Err(Failed::Inbox(error @ (Error::Marker(_) | Error::Begin(_)))) => {
                        // SQLite's writers meet at BEGIN.
                        assert_eq!(matches!(error, Error::Begin(_)), db.backend() == Backend::Sqlite, "{error}");
                        assert_eq!(error.is_transient(), *transient, "{limit}: {error}");
                    }
                    other => panic!("{limit}: {other:?}"),
                }
                set(&bench.pool, without).await;
                bench.nothing_stored().await;
                other.ends(commits).await;
                if commits {
                    let redelivery = bench.deliver(async |_| Err::<(), _>(Failed::Own)).await;
                    assert!(redelivery.unwrap().is_duplicate());
                    assert_eq!((bench.ledger.balance(2).await, bench.ledger.markers().await), (1, 1));
                    bench.serves().await;
                } else {
                    bench.unharmed().await;
                }
                bench = bench.again().await;
            }
        }
    }
}
