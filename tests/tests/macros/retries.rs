//! `retries`: each try has arguments of its own. What is tried again, and when, is the runtime's matter.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use inbox_core::idempotent;
use sea_orm::sqlx::Error::PoolTimedOut;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, MockDatabase, MockExecResult, RuntimeErr};

use super::Credit;

fn transient() -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(Arc::new(PoolTimedOut)))
}

/// The marker is written, the body's statement fails; `failures` times.
fn failing(failures: usize) -> DatabaseConnection {
    let written = || MockExecResult { last_insert_id: 0, rows_affected: 1 };
    let mut mock = MockDatabase::new(DbBackend::Postgres);
    for _ in 0..failures {
        mock = mock.append_exec_results([written()]).append_exec_errors([transient()]);
    }
    mock.append_exec_results([written(), written()]).into_connection()
}

#[derive(Default)]
struct Runs(AtomicUsize);

impl Runs {
    #[idempotent(consumer = "runs", retries = 2)]
    async fn handle(
        &self,
        db: &DatabaseConnection,
        mut msg: Credit,
        by_value: Vec<u8>,
        mut mutable: String,
        by_ref: &str,
        mut moving: &str,
    ) -> Result<(), DbErr> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let given = (msg.amount, mutable.as_str(), moving);
        assert_eq!(given, (100, by_ref, "moving"), "as the caller gave it, not as the last try left it");
        msg.amount = 0;
        mutable.push('!');
        moving = &moving[1..];
        drop((msg, mutable, by_value, moving.len()));
        db.execute_unprepared("UPDATE account").await.map(drop)
    }
}

#[tokio::test]
async fn each_try_has_its_own_arguments() {
    for (failures, runs) in [(0, 1), (1, 2), (2, 3)] {
        let handler = Runs::default();
        handler.handle(&failing(failures), Credit::new("1"), vec![1], "a".into(), "a", "moving").await.unwrap();
        assert_eq!(handler.0.into_inner(), runs);
    }
    let handler = Runs::default();
    assert!(handler.handle(&failing(3), Credit::new("1"), vec![1], "a".into(), "a", "moving").await.is_err());
    assert_eq!(handler.0.into_inner(), 3, "`retries = 2` is three tries");
}

static WITHOUT: AtomicUsize = AtomicUsize::new(0);

#[idempotent(consumer = "without")]
async fn without(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    WITHOUT.fetch_add(usize::try_from(msg.amount / 100).unwrap(), Ordering::Relaxed);
    db.execute_unprepared("UPDATE account").await.map(drop)
}

#[tokio::test]
async fn nothing_is_tried_again_by_default() {
    assert!(without(&failing(1), &Credit::new("1")).await.is_err());
    assert_eq!(WITHOUT.load(Ordering::Relaxed), 1);
}
