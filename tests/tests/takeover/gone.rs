//! The row goes between the refused INSERT and the look at it: a purge, an operator.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use inbox_core::{Error, Options, process};
use inbox_tests::{
    Backend, Ledger, TestDb, backends,
    proxy::{Action, Moment, Passing, Proxy},
    race::Count,
};
use sea_orm::{ConnectOptions, sqlx};

use crate::delivery::{deliver, fresh, processed};

backends! {
    [postgres, mysql]
    async fn before_the_look(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        let key = fresh();
        assert!(processed(&deliver(&pool, key.clone(), Options::new(), &Count::new(), "first").await));
        let look = proxy.on(Passing::Statement("SELECT processed_at".to_owned()), Moment::BeforeRequest, Action::Hold);
        let delivery = tokio::spawn({
            let (pool, key) = (pool.clone(), key.clone());
            async move { process(&pool, key, async |_| -> Result<(), Error> { panic!("the body ran") }).await }
        });
        look.reached().await;
        db.exec("DELETE FROM inbox_message").await;
        look.release();
        is_transient(&delivery.await.unwrap().unwrap_err());
        assert!(processed(&deliver(&pool, key, Options::new(), &Count::new(), "again").await));
        assert_eq!((ledger.markers().await, ledger.records().await), (1, 2));
    }

    /// The pool's one connection comes back after the ROLLBACK, and goes out again for the look.
    [sqlite]
    async fn before_the_look_of_a_pool_of_one(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let key = fresh();
        assert!(processed(&deliver(&db.pool(1).await, key.clone(), Options::new(), &Count::new(), "first").await));
        let ready = Arc::new(AtomicBool::new(false));
        let pool = db.pool_with(|options| purged_at_release(options, &ready)).await;
        ready.store(true, Ordering::SeqCst);
        let answer = process(&pool, key.clone(), async |_| -> Result<(), Error> { panic!("the body ran") }).await;
        is_transient(&answer.unwrap_err());
        assert!(processed(&deliver(&db.pool(1).await, key, Options::new(), &Count::new(), "again").await));
        assert_eq!((ledger.markers().await, ledger.records().await), (1, 2));
    }

    /// The winner's row is there, and the caller's snapshot cannot show it, or can: never a duplicate of nothing.
    async fn a_callers_snapshot(db: TestDb) {
        use sea_orm::{ConnectionTrait as _, IsolationLevel, TransactionTrait as _};
        let ledger = Ledger::new(&db).await;
        let (pool, key) = (db.pool(2).await, fresh());
        let level = (db.backend() != Backend::Sqlite).then_some(IsolationLevel::RepeatableRead);
        let tx = pool.begin_with_config(level, None).await.unwrap();
        // The snapshot is taken now, without the marker.
        tx.query_one_raw(sea_orm::Statement::from_string(db.backend().db_backend(), "SELECT COUNT(*) FROM inbox_message")).await.unwrap();
        assert!(processed(&deliver(&pool, key.clone(), Options::new(), &Count::new(), "winner").await));
        let answer = process(&tx, key.clone(), async |_| -> Result<(), Error> { panic!("the body ran") }).await;
        match answer {
            Ok(outcome) => assert!(outcome.is_duplicate()),
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
        tx.rollback().await.unwrap();
        assert_eq!((ledger.markers().await, ledger.records().await), (1, 1));
    }
}

fn is_transient(error: &Error) {
    assert!(matches!(error, Error::InProgress { until: None, retry_after: Duration::ZERO }), "{error:?}");
    assert!(error.is_transient());
}

/// When the connection went out after that and comes back, the table is emptied.
fn purged_at_release(options: &mut ConnectOptions, ready: &Arc<AtomicBool>) {
    let (ready, armed) = (ready.clone(), Arc::new(AtomicBool::new(false)));
    options.max_connections(1).map_sqlx_sqlite_pool_opts(move |pool| {
        let (ready, arming, armed) = (ready.clone(), armed.clone(), armed.clone());
        pool.before_acquire(move |_, _| {
            // Not yet for the connection that the pool itself opened, whose return may come late.
            arming.store(ready.load(Ordering::SeqCst), Ordering::SeqCst);
            Box::pin(async { Ok(true) })
        })
        .after_release(move |connection, _| {
            let armed = armed.load(Ordering::SeqCst);
            Box::pin(async move {
                if armed {
                    sqlx::query("DELETE FROM inbox_message").execute(connection).await?;
                }
                Ok(true)
            })
        })
    });
}
