//! SQLite with both journals (case 51).

use std::sync::Arc;

use inbox_core::Options;
use inbox_tests::{
    Backend, Ledger, TestDb,
    db::Journal,
    race::{Count, Replicas, how_many},
};

use crate::delivery::{assert_effects, deliver, duplicate, fresh, processed};

const TASKS: usize = 8;
const MESSAGES: usize = 200;
/// Each third message of a task or so is one that another task gets, too: 30 in 100.
const REPEATED: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_tasks_and_a_write_ahead_log() {
    no_failure(Journal::Wal).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_tasks_and_a_rollback_journal() {
    no_failure(Journal::Delete).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_two_with_a_rollback_journal() {
    let db = TestDb::with_journal(Backend::Sqlite, Journal::Delete).await;
    let ledger = Ledger::new(&db).await;
    let replicas = Replicas::new(&db, 2).await;
    for round in 1..=200 {
        let (key, bodies) = (fresh(), Count::new());
        let answers = replicas
            .race(|n, db| {
                let (key, bodies) = (key.clone(), bodies.clone());
                async move { deliver(&db, key, Options::new(), &bodies, &format!("{round}/{n}")).await }
            })
            .await;
        assert_eq!((bodies.get(), how_many(&answers, processed), how_many(&answers, duplicate)), (1, 1, 1), "{answers:?}");
        assert_effects(&ledger, round).await;
    }
}

/// Two pools, eight tasks, 200 messages each, of which 60 are the same for all: not one `database is locked`.
async fn no_failure(journal: Journal) {
    let db = TestDb::with_journal(Backend::Sqlite, journal).await;
    let ledger = Ledger::new(&db).await;
    let pools = [db.pool(4).await, db.pool(4).await];
    let shared: Arc<Vec<_>> = Arc::new((0..REPEATED).map(|_| fresh()).collect());
    let bodies = Count::new();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (pool, shared, bodies) = (pools[task % 2].clone(), shared.clone(), bodies.clone());
            tokio::spawn(async move {
                let mut answers = Vec::new();
                for n in 0..MESSAGES {
                    // Spread over the whole run, and in the same order everywhere, so that they meet.
                    let key = if n * 3 / 10 < (n + 1) * 3 / 10 { shared[n * 3 / 10].clone() } else { fresh() };
                    answers.push(deliver(&pool, key, Options::new(), &bodies, &format!("{task}/{n}")).await);
                }
                answers
            })
        })
        .collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.extend(task.await.unwrap());
    }
    let failed: Vec<_> = answers.iter().filter(|answer| answer.is_err()).collect();
    assert!(failed.is_empty(), "{} of {}: {:?}", failed.len(), answers.len(), failed[0]);
    let once = TASKS * (MESSAGES - REPEATED) + REPEATED;
    assert_eq!((how_many(&answers, processed), how_many(&answers, duplicate)), (once, TASKS * MESSAGES - once));
    assert_eq!(bodies.get(), once as u64);
    assert_effects(&ledger, i64::try_from(once).unwrap()).await;
}
