//! The winner rolls back while others wait for it.

use std::{sync::Arc, time::Duration};

use inbox_core::{InboxKey, Options, Outcome, process};
use inbox_tests::{
    Backend, Ledger, TestDb, backends,
    race::{Count, Replicas, how_many},
};
use sea_orm::{DatabaseConnection, DbErr};
use tokio::sync::Notify;

use crate::delivery::{Answer, assert_effects, deliver, duplicate, effect, fresh, processed, transient};

backends! {
    /// The first body fails, whoever runs it. One waiter processes; where it may not, its redelivery does.
    async fn the_first_of_eight_fails(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let replicas = Replicas::new(&db, 8).await;
        for round in 1..=db.backend().pick(100, 100, 40) {
            let (key, bodies) = (fresh(), Count::new());
            let answers = replicas
                .race(|n, db| {
                    let (key, bodies, row) = (key.clone(), bodies.clone(), format!("{round}/{n}"));
                    async move {
                        process(&db, key, async |tx| {
                            bodies.hit();
                            effect(tx, &row).await?;
                            if bodies.get() == 1 { Err(own_error()) } else { Ok(()) }
                        })
                        .await
                    }
                })
                .await;
            took_over(&ledger, round, &answers).await;
            again(&replicas, &key, &bodies).await;
            assert_effects(&ledger, round).await;
        }
    }

    /// All seven wait in the database before the winner fails. InnoDB kills some of them.
    [postgres, mysql]
    async fn everybody_waits_and_the_winner_fails(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let replicas = Replicas::new(&db, 8).await;
        for round in 1..=5 {
            let (key, bodies) = (fresh(), Count::new());
            let answers = fails_before(&ledger, &replicas, &key, &bodies).await;
            took_over(&ledger, round, &answers).await;
            again(&replicas, &key, &bodies).await;
            assert_effects(&ledger, round).await;
        }
    }

    /// Case 42. Two waiters get a shared lock on the dead row when the winner rolls back, and both want it alone.
    [mysql]
    async fn the_deadlock_of_three_sessions(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let replicas = Replicas::new(&db, 3).await;
        let mut deadlocks = 0;
        for round in 1..=10 {
            let (key, bodies) = (fresh(), Count::new());
            let answers = fails_before(&ledger, &replicas, &key, &bodies).await;
            took_over(&ledger, round, &answers).await;
            deadlocks += how_many(&answers, |answer| answer.as_ref().is_err_and(|error| error.to_string().contains("1213")));
            // The winner, and the one that took over.
            assert_eq!(bodies.get(), 2, "a deadlock strikes where nothing has run: {answers:?}");
            again(&replicas, &key, &bodies).await;
            assert_effects(&ledger, round).await;
        }
        assert!(deadlocks > 0, "InnoDB's deadlock did not happen in ten rounds");
    }

    /// The winner's process is gone, not its error: the connection drops, and the server rolls back.
    async fn the_winner_is_dropped_while_another_waits(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let (one, two) = (db.pool(1).await, db.pool(1).await);
        let (key, bodies, reached) = (fresh(), Count::new(), Arc::new(Notify::new()));
        let winner = tokio::spawn({
            let (key, reached) = (key.clone(), reached.clone());
            async move {
                process(&one, key, async |tx| {
                    effect(tx, "dropped").await?;
                    reached.notify_one();
                    std::future::pending::<()>().await;
                    Ok::<_, DbErr>(())
                })
                .await
            }
        });
        reached.notified().await;
        let waiter = tokio::spawn({
            let (key, bodies) = (key.clone(), bodies.clone());
            async move { deliver(&two, key, Options::new(), &bodies, "taken over").await }
        });
        wait_for_waiters(&ledger, 1).await;
        winner.abort();
        assert!(processed(&waiter.await.unwrap()));
        assert_eq!((bodies.get(), ledger.records_of("taken over").await), (1, 1));
        assert_effects(&ledger, 1).await;
    }
}

fn own_error() -> DbErr {
    DbErr::Custom("the handler's own error".to_owned())
}

/// The first replica's body runs until all the others wait for it in the database, and then fails.
async fn fails_before(ledger: &Ledger, replicas: &Replicas, key: &InboxKey, bodies: &Count) -> Vec<Answer> {
    let (winner, waiters) = replicas.pools().split_first().unwrap();
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let first = tokio::spawn({
        let (winner, key, bodies, reached, go) = (winner.clone(), key.clone(), bodies.clone(), reached.clone(), go.clone());
        async move {
            process(&winner, key, async |tx| {
                bodies.hit();
                effect(tx, "failed").await?;
                reached.notify_one();
                go.notified().await;
                Err::<(), _>(own_error())
            })
            .await
        }
    });
    reached.notified().await;
    let others: Vec<_> = waiters.iter().enumerate().map(|(n, pool)| spawn(pool, key, bodies, format!("{key} {n}"))).collect();
    wait_for_waiters(ledger, i64::try_from(waiters.len()).unwrap()).await;
    go.notify_one();
    let mut answers = vec![first.await.unwrap()];
    for other in others {
        answers.push(other.await.unwrap());
    }
    answers
}

fn spawn(pool: &DatabaseConnection, key: &InboxKey, bodies: &Count, row: String) -> tokio::task::JoinHandle<Answer> {
    let (pool, key, bodies) = (pool.clone(), key.clone(), bodies.clone());
    tokio::spawn(async move { deliver(&pool, key, Options::new(), &bodies, &row).await })
}

/// Until so many sessions wait for a lock, as the server sees it. SQLite's waiters only sleep: they get their time.
async fn wait_for_waiters(ledger: &Ledger, n: i64) {
    let db = ledger.db();
    match db.backend() {
        Backend::Sqlite => tokio::time::sleep(Duration::from_millis(50)).await,
        Backend::Postgres | Backend::MySql => db.lock_waiters(n).await,
    }
}

/// One failed by its own error; nobody was told `Duplicate` unless another's effect is there.
async fn took_over(ledger: &Ledger, round: i64, answers: &[Answer]) {
    let effects = ledger.records().await - (round - 1);
    let failed = how_many(answers, |answer| answer.as_ref().is_err_and(|error| *error == own_error()));
    let (done, same) = (how_many(answers, processed), how_many(answers, duplicate));
    assert_eq!(failed, 1, "{answers:?}");
    assert_eq!(i64::try_from(done).unwrap(), effects, "{answers:?}");
    assert!(effects == 1 || (effects == 0 && same == 0), "a duplicate without an effect: {answers:?}");
    let refused = how_many(answers, transient);
    assert_eq!(failed + done + same + refused, answers.len(), "{answers:?}");
    assert!(refused == 0 || ledger.db().backend() == Backend::MySql, "only InnoDB kills waiters: {answers:?}");
}

/// The broker delivers what was not acknowledged: now it is done, or a duplicate.
async fn again(replicas: &Replicas, key: &InboxKey, bodies: &Count) {
    for pool in replicas.pools() {
        let again = deliver(pool, key.clone(), Options::new(), bodies, &format!("{key} again")).await;
        assert!(matches!(again, Ok(Outcome::Processed(()) | Outcome::Duplicate)), "{again:?}");
    }
}
