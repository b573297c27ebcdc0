//! The connection is lost: in the middle of the body, and around COMMIT (case 8).

use std::time::Duration;

use inbox_core::{Error, Options, is_transient, process};
use inbox_tests::{
    Ledger, TestDb, backends, ledger,
    proxy::{Action, Moment, Passing, Proxy},
    race::Count,
};
use sea_orm::{ConnectionTrait as _, DbErr};

use crate::delivery::{assert_clean, assert_effects, deliver, duplicate, effect, fresh, processed, transient};

backends! {
    /// The server has committed, and nobody hears of it: an error, and the redelivery is a duplicate.
    [postgres, mysql]
    async fn the_answer_to_commit_is_lost(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        let cut = proxy.on(Passing::Commit, Moment::BeforeAnswer, Action::Cut);
        let (key, bodies) = (fresh(), Count::new());
        let error = process(&pool, key.clone(), async |tx| {
            bodies.hit();
            effect(tx, "committed").await.map_err(Error::Query)
        })
        .await
        .unwrap_err();
        cut.reached().await;
        assert!(matches!(error, Error::Commit(_)) && error.is_transient(), "{error:?}");
        assert!(is_transient(&DbErr::from(error)), "a handler's DbErr says so, too");
        assert!(duplicate(&deliver(&pool, key, Options::new(), &bodies, "again").await));
        assert_eq!(bodies.get(), 1);
        assert_effects(&ledger, 1).await;
        assert_clean(&ledger, &pool).await;
    }

    /// COMMIT never reached the server: the same error, and the redelivery is processed.
    [postgres, mysql]
    async fn commit_is_lost(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        let cut = proxy.on(Passing::Commit, Moment::BeforeRequest, Action::Cut);
        let (key, bodies) = (fresh(), Count::new());
        let error = process(&pool, key.clone(), async |tx| {
            bodies.hit();
            effect(tx, "lost").await.map_err(Error::Query)
        })
        .await
        .unwrap_err();
        cut.reached().await;
        assert!(matches!(error, Error::Commit(_)) && error.is_transient(), "{error:?}");
        let again = deliver(&pool, key, Options::new(), &bodies, "again").await;
        assert!(processed(&again), "{again:?}");
        assert_eq!(bodies.get(), 2);
        assert_effects(&ledger, 1).await;
        assert_clean(&ledger, &pool).await;
    }

    /// Whatever the body makes of it: its own error arrives, and a body that says `Ok` is not believed.
    [postgres, mysql]
    async fn the_connection_is_lost_in_the_body(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        for moment in [Moment::BeforeRequest, Moment::BeforeAnswer] {
            let key = fresh();
            proxy.on(Passing::Statement("acct".to_owned()), moment, Action::Cut);
            let answer = deliver(&pool, key.clone(), Options::new(), &Count::new(), "lost").await;
            assert!(transient(&answer), "{answer:?}");
            assert_effects(&ledger, ledger.markers().await).await;
            assert_eq!(ledger.records_of("lost").await, 0);

            proxy.on(Passing::Statement("acct".to_owned()), moment, Action::Cut);
            let swallowed = process(&pool, key.clone(), async |tx| {
                let _ = ledger::credit(tx, 1, 1).await;
                Ok::<_, Error>(())
            })
            .await;
            let error = swallowed.unwrap_err();
            assert!(matches!(error, Error::Aborted(_)) && error.is_transient(), "{error:?}");
            assert!(processed(&deliver(&pool, key, Options::new(), &Count::new(), &format!("{moment:?}")).await));
            assert_clean(&ledger, &pool).await;
        }
    }

    /// An administrator, a failover: the server ends the session.
    [postgres, mysql]
    async fn the_session_is_killed_in_the_body(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let key = fresh();
        let error = process(&pool, key.clone(), async |tx| {
            effect(tx, "killed").await.map_err(Error::Query)?;
            let id = db.backend().pick("SELECT pg_backend_pid()", "SELECT CAST(CONNECTION_ID() AS SIGNED)", "");
            let row = tx.query_one_raw(sea_orm::Statement::from_string(db.backend().db_backend(), id)).await.unwrap().unwrap();
            let id = row.try_get_by_index::<i32>(0).map(i64::from).or_else(|_| row.try_get_by_index::<i64>(0)).unwrap();
            db.exec(&db.backend().pick(format!("SELECT pg_terminate_backend({id})"), format!("KILL {id}"), String::new())).await;
            Ok::<_, Error>(())
        })
        .await
        .unwrap_err();
        assert!(error.is_transient(), "{error:?}");
        assert_effects(&ledger, 0).await;
        let again = deliver(&pool, key, Options::new(), &Count::new(), "again").await;
        assert!(processed(&again), "{again:?}");
        assert_clean(&ledger, &pool).await;
    }

    /// Case 10: dropped in the middle of a query that goes on, and the message comes again at once.
    [postgres, mysql]
    async fn the_caller_goes_away_during_a_long_query(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let key = fresh();
        let sleep = db.backend().pick("SELECT pg_sleep(1)", "SELECT sleep(1)", "");
        let delivery = process(&pool, key.clone(), async |tx| {
            effect(tx, "dropped").await?;
            tx.execute_unprepared(sleep).await?;
            Ok::<_, DbErr>(())
        });
        assert!(tokio::time::timeout(Duration::from_millis(300), delivery).await.is_err());
        let answer = deliver(&db.pool(1).await, key, Options::new(), &Count::new(), "again").await;
        assert!(processed(&answer), "{answer:?}");
        assert_effects(&ledger, 1).await;
        assert_clean(&ledger, &pool).await;
    }
}
