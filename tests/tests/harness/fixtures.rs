//! The ledger, races, cancellation.

use std::time::Duration;

use inbox_tests::{
    Backend, Ledger, TestDb, backends,
    ledger::{self, Violation, acct, biz},
    poll::{Polled, poll_n},
    proxy::Proxy,
    race::{Count, Replicas, how_many},
};
use sea_orm::{ActiveValue::Set, EntityTrait as _, SqlErr, TransactionTrait as _};

backends! {
    async fn the_ledger_sees_committed_rows_only(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let transaction = pool.begin().await.unwrap();
        ledger::credit(&transaction, 1, 7).await.unwrap();
        ledger::record(&transaction, "a", 1).await.unwrap();
        let other = biz::ActiveModel { k: Set("A".to_owned()), v: Set(2), ..Default::default() };
        biz::Entity::insert(other).exec(&transaction).await.unwrap();
        assert_eq!((ledger.balance(1).await, ledger.records().await), (0, 0));
        transaction.commit().await.unwrap();
        assert_eq!((ledger.balance(1).await, ledger.records().await), (7, 2));
        assert_eq!((ledger.records_of("a").await, ledger.records_of("A").await), (1, 1));
        assert_eq!((ledger.markers().await, ledger.markers_of(uuid::Uuid::new_v4()).await), (0, 0));
        assert_eq!(acct::Entity::find_by_id(1).one(&pool).await.unwrap().unwrap().bal, 7);
        assert!(ledger::credit(&pool, 2, 1).await.is_err(), "no such account");
    }

    async fn an_open_transaction_shows(db: TestDb) {
        Ledger::new(&db).await;
        db.no_open_transaction().await;
        let pool = db.pool(1).await;
        let transaction = pool.begin().await.unwrap();
        ledger::credit(&transaction, 1, 7).await.unwrap();
        // MariaDB renews its view every tenth of a second.
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert_eq!(db.open_transactions().await, 1);
        transaction.commit().await.unwrap();
        db.no_open_transaction().await;
    }

    async fn every_violation_is_one(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        for violation in Violation::ALL {
            let pool = db.pool(1).await;
            let transaction = pool.begin().await.unwrap();
            let error = violation.provoke(&transaction).await.expect_err("a refusal");
            let unique = matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_)));
            let foreign = matches!(error.sql_err(), Some(SqlErr::ForeignKeyConstraintViolation(_)));
            assert_eq!(unique, matches!(violation, Violation::Unique | Violation::PrimaryKey), "{error}");
            assert_eq!(foreign, violation == Violation::ForeignKey, "{error}");
            transaction.rollback().await.unwrap();
        }
        assert_eq!(ledger.records().await, 0);
    }

    async fn a_race_runs_every_replica_at_once(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let (replicas, begun) = (Replicas::new(&db, 16).await, Count::new());
        for _ in 0..5 {
            let counted = begun.clone();
            let answers = replicas
                .race(|n, db| {
                    let counted = counted.clone();
                    async move {
                        counted.hit();
                        ledger::record(&db, "one", i64::try_from(n).unwrap()).await
                    }
                })
                .await;
            assert_eq!(begun.take(), 16);
            assert_eq!(how_many(&answers, Result::is_ok), 1, "{answers:?}");
            assert_eq!(ledger.records().await, 1);
            db.exec("DELETE FROM biz").await;
        }
    }

    async fn a_future_is_dropped_at_one_await_point_after_the_other(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let proxy = match db.backend() {
            Backend::Sqlite => None,
            _ => Some(Proxy::start(&db).await),
        };
        let steps = Count::new();
        let mut n = 0;
        loop {
            n += 1;
            let pool = match &proxy {
                Some(proxy) => proxy.pool(1).await,
                None => db.pool(1).await,
            };
            // Each round trip is at least one await point, however quick the server is.
            if let Some(proxy) = &proxy {
                proxy.delay(Duration::from_millis(10));
            }
            let counted = steps.clone();
            let delivery = async {
                let transaction = pool.begin().await.unwrap();
                counted.hit();
                ledger::credit(&transaction, 1, 1).await.unwrap();
                counted.hit();
                transaction.commit().await.unwrap();
            };
            if poll_n(delivery, n, Duration::from_millis(50)).await == Polled::Ready(()) {
                break;
            }
            assert!(n < 100);
        }
        if proxy.is_some() {
            assert!(n > 4, "BEGIN, prepare, update, COMMIT: {n}");
            assert!(steps.get() > 2, "dropped in between: {}", steps.get());
        }
        // More than once: a COMMIT that was sent before the drop may have been done.
        assert!(ledger.balance(1).await >= 1);
    }
}

#[tokio::test]
async fn a_panic_in_a_race_is_the_tests_own() {
    let db = TestDb::new(Backend::Sqlite).await;
    let replicas = Replicas::new(&db, 2).await;
    let failed = tokio::spawn(async move { replicas.race(|n, _| async move { assert_eq!(n, 0, "the second one") }).await }).await;
    let panic = failed.expect_err("a panic").into_panic();
    assert!(panic.downcast_ref::<String>().is_some_and(|text| text.contains("the second one")));
}
