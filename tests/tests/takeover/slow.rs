//! Duplicates of a slow message (case 39): they wait, no longer than they are told to, and everybody ends in time.

use std::{sync::Arc, time::Duration};

use inbox_core::{Options, process};
use inbox_tests::{
    Ledger, TestDb, backends,
    race::{Count, how_many},
};
use sea_orm::{ConnectOptions, DatabaseConnection, DbErr, sqlx};
use tokio::sync::Notify;

use crate::delivery::{Answer, assert_clean, assert_effects, deliver, duplicate, effect, fresh, processed, transient};

backends! {
    /// Five of one message and one other, on a pool of five.
    async fn behind_a_slow_handler(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(5).await;
        let (key, bodies) = (fresh(), Count::new());
        let deliveries: Vec<_> = (0..5)
            .map(|n| {
                let (pool, key, bodies) = (pool.clone(), key.clone(), bodies.clone());
                tokio::spawn(async move {
                    process(&pool, key, async |tx| {
                        bodies.hit();
                        effect(tx, &format!("slow {n}")).await?;
                        tokio::time::sleep(Duration::from_millis(700)).await;
                        Ok::<_, DbErr>(())
                    })
                    .await
                })
            })
            .collect();
        let other = ended(vec![spawn(&pool, &fresh(), &Count::new())]).await.remove(0);
        assert!(processed(&other), "{other:?}");
        let answers = ended(deliveries).await;
        assert_eq!((bodies.get(), how_many(&answers, processed), how_many(&answers, duplicate)), (1, 1, 4), "{answers:?}");
        assert_effects(&ledger, 2).await;
        assert_clean(&ledger, &pool).await;
    }

    /// With `lock_timeout`, `innodb_lock_wait_timeout` or the busy timeout: transient, and a duplicate when it comes again.
    async fn behind_a_handler_that_is_slower_than_the_lock_timeout(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let (key, bodies) = (fresh(), Count::new());
        let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let slow = tokio::spawn({
            let (pool, key, bodies, reached, go) = (db.pool(1).await, key.clone(), bodies.clone(), reached.clone(), go.clone());
            async move {
                process(&pool, key, async |tx| {
                    bodies.hit();
                    effect(tx, "slow").await?;
                    reached.notify_one();
                    go.notified().await;
                    Ok::<_, DbErr>(())
                })
                .await
            }
        });
        reached.notified().await;
        let pool = db.pool_with(bounded).await;
        let deliveries = (0..4).map(|_| spawn(&pool, &key, &bodies)).collect();
        let answers = ended(deliveries).await;
        assert_eq!(how_many(&answers, transient), 4, "{answers:?}");
        go.notify_one();
        assert!(processed(&slow.await.unwrap()));
        let answers = ended((0..4).map(|_| spawn(&pool, &key, &bodies)).collect()).await;
        assert_eq!(how_many(&answers, duplicate), 4, "{answers:?}");
        assert_eq!(bodies.get(), 1);
        assert_effects(&ledger, 1).await;
        assert_clean(&ledger, &pool).await;
    }
}

fn spawn(pool: &DatabaseConnection, key: &inbox_core::InboxKey, bodies: &Count) -> tokio::task::JoinHandle<Answer> {
    let (pool, key, bodies) = (pool.clone(), key.clone(), bodies.clone());
    tokio::spawn(async move { deliver(&pool, key, Options::new(), &bodies, "again").await })
}

/// The shortest wait that each of them can be told to.
fn bounded(options: &mut ConnectOptions) {
    options
        .max_connections(4)
        .map_sqlx_postgres_opts(|postgres| postgres.options([("lock_timeout", "200ms")]))
        .map_sqlx_mysql_pool_opts(|pool| {
            pool.after_connect(|connection, _| {
                Box::pin(async move {
                    sqlx::query("SET SESSION innodb_lock_wait_timeout = 1").execute(connection).await?;
                    Ok(())
                })
            })
        })
        .map_sqlx_sqlite_opts(|sqlite| sqlite.busy_timeout(Duration::from_millis(100)));
}

async fn ended(deliveries: Vec<tokio::task::JoinHandle<Answer>>) -> Vec<Answer> {
    let mut answers = Vec::new();
    for delivery in deliveries {
        answers.push(tokio::time::timeout(Duration::from_secs(20), delivery).await.expect("it has to end in time").unwrap());
    }
    answers
}
