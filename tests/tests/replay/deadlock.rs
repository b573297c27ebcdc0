//! Real deadlocks between two sessions.

use std::{sync::Arc, time::Duration};

use inbox_core::{Error, Options, Outcome, process_replayed};
use inbox_tests::{Backend, Ledger, TestDb, backends, ledger, race::Count};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DatabaseTransaction, DbErr, TransactionTrait as _};
use tokio::sync::Barrier;

use crate::delivery::{assert_clean, fresh};

/// A handler's own error, which does not say that a database was involved.
#[derive(Debug, thiserror::Error)]
enum Opaque {
    #[error("it did not work")]
    Failed,
    #[error(transparent)]
    Inbox(#[from] Error),
}

backends! {
    /// Two deliveries, two rows, in opposite order. SQLite has one writer.
    [postgres, mysql]
    async fn two_deliveries_in_opposite_order(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        ledger.open(2, 0).await;
        for round in 1..=3 {
            let (barrier, bodies) = (Arc::new(Barrier::new(2)), Count::new());
            let deliveries: Vec<_> = [(1, 2), (2, 1)]
                .into_iter()
                .map(|(first, second)| tokio::spawn(crossing(db.clone(), first, second, barrier.clone(), bodies.clone())))
                .collect();
            for delivery in deliveries {
                let outcome = delivery.await.unwrap().expect("the victim is replayed");
                assert!(matches!(outcome, Outcome::Processed(())));
            }
            // The victim may be quick enough to take its first row again before the other has woken up.
            assert!((3..=12).contains(&bodies.get()), "one of the two ran again: {} bodies", bodies.get());
            assert_eq!((ledger.balance(1).await, ledger.balance(2).await), (2 * round, 2 * round), "nothing of the victim's first attempt stays");
            assert_eq!((ledger.markers().await, ledger.records().await), (2 * round, 2 * round));
        }
        assert_clean(&ledger, &db.pool(1).await).await;
    }

    /// A deadlock in every attempt: N replays are N + 1 bodies, and the last error arrives.
    [postgres, mysql]
    async fn it_gives_up(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        ledger.open(2, 0).await;
        let pool = db.pool(1).await;
        for retries in [1, 3] {
            let (bodies, opponents) = (Count::new(), db.pool(1).await);
            let error = process_replayed(&pool, fresh(), &Options::new(), retries, || {
                let (db, bodies, opponents) = (db.clone(), bodies.clone(), opponents.clone());
                async move |tx| {
                    bodies.hit();
                    let opponent = heavy(&opponents, bodies.get()).await;
                    ledger::credit(tx, 1, 1).await?;
                    let waiting = tokio::spawn(async move {
                        // Waits for the body's row, so that the body's next step closes the circle.
                        let blocked = ledger::credit(&opponent, 1, 1).await;
                        opponent.rollback().await.unwrap();
                        blocked
                    });
                    db.lock_waiters(1).await;
                    let lost = ledger::credit(tx, 2, 1).await;
                    assert!(lost.is_err(), "the lighter one is the victim");
                    // The opponent goes on only now on a server that rolls back at once.
                    let _ = tokio::time::timeout(Duration::from_millis(50), waiting).await;
                    lost
                }
            })
            .await
            .unwrap_err();
            assert!(inbox_core::is_transient(&error), "{error:?}");
            assert_eq!(bodies.get(), u64::from(retries) + 1);
            db.no_open_transaction().await;
            assert_eq!((ledger.balance(1).await, ledger.balance(2).await), (0, 0));
            assert_eq!((ledger.markers().await, ledger.records().await), (0, 0));
        }
        assert_clean(&ledger, &pool).await;
    }
}

/// Both hold their first row before either asks for its second one. The victim hides what happened to it.
async fn crossing(db: TestDb, first: i64, second: i64, barrier: Arc<Barrier>, bodies: Count) -> Result<Outcome<()>, Opaque> {
    let (pool, key, mut attempt) = (db.pool(1).await, fresh(), 0);
    process_replayed(&pool, key.clone(), &Options::new(), 5, || {
        attempt += 1;
        let (barrier, bodies, row) = (barrier.clone(), bodies.clone(), format!("{key} {attempt}"));
        async move |tx| {
            bodies.hit();
            let hidden = |_: DbErr| Opaque::Failed;
            ledger::credit(tx, first, 1).await.map_err(hidden)?;
            ledger::record(tx, &row, 1).await.map_err(hidden)?;
            if attempt == 1 {
                barrier.wait().await;
            }
            ledger::credit(tx, second, 1).await.map_err(hidden)
        }
    })
    .await
}

/// Another session that holds account 2. It wrote more than the body, so that InnoDB takes the body for the victim; on
/// PostgreSQL the one whose deadlock timeout runs out first is it.
async fn heavy(pool: &DatabaseConnection, n: u64) -> DatabaseTransaction {
    let tx = pool.begin().await.unwrap();
    if tx.get_database_backend() == Backend::Postgres.db_backend() {
        tx.execute_unprepared("SET LOCAL deadlock_timeout = '1min'").await.unwrap();
    }
    for weight in 0..20 {
        ledger::record(&tx, &format!("heavy {n} {weight}"), 1).await.unwrap();
    }
    ledger::credit(&tx, 2, 1).await.unwrap();
    tx
}
