//! Once COMMIT was sent.

use inbox_core::{Error, Options, is_transient, process_replayed};
use inbox_tests::{
    Backend, Ledger, TestDb, backends,
    proxy::{Action, Moment, Passing, Proxy},
    race::Count,
};
use sea_orm::{ConnectionTrait as _, DbErr};

use crate::delivery::{assert_clean, assert_effects, deliver, duplicate, effect, fresh, processed};

backends! {
    /// Nobody knows how it ended, and so the body does not run again, however many replays are left.
    [postgres, mysql]
    async fn without_an_answer_nothing_is_replayed(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        for (moment, committed) in [(Moment::BeforeAnswer, true), (Moment::BeforeRequest, false)] {
            let before = ledger.markers().await;
            let proxy = Proxy::start(&db).await;
            let pool = proxy.pool(1).await;
            let cut = proxy.on(Passing::Commit, moment, Action::Cut);
            let (key, bodies) = (fresh(), Count::new());
            let error = process_replayed(&pool, key.clone(), &Options::new(), 5, || {
                let (bodies, row) = (bodies.clone(), format!("{moment:?} {}", bodies.get()));
                async move |tx| {
                    bodies.hit();
                    effect(tx, &row).await.map_err(Error::Query)
                }
            })
            .await
            .unwrap_err();
            cut.reached().await;
            assert!(matches!(error, Error::Commit(_)) && is_transient(&error), "{error:?}");
            assert_eq!(bodies.get(), 1, "{moment:?}");
            assert_effects(&ledger, before + i64::from(committed)).await;
            let again = deliver(&pool, key, Options::new(), &bodies, &format!("{moment:?} again")).await;
            assert!(if committed { duplicate(&again) } else { processed(&again) }, "{moment:?}: {again:?}");
            assert_effects(&ledger, before + 1).await;
        }
        assert_clean(&ledger, &db.pool(1).await).await;
    }

    /// A deferred constraint would fail again: refused, nothing is stored, nothing is replayed. MariaDB has none.
    [postgres, sqlite]
    async fn a_deferred_constraint_is_not_replayed(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let deferred = "CREATE TABLE late (id integer, acct_id bigint REFERENCES acct (id) DEFERRABLE INITIALLY DEFERRED)";
        db.exec(deferred).await;
        let mut refused = vec!["INSERT INTO late VALUES (1, 404)"];
        if db.backend() == Backend::Postgres {
            db.exec("CREATE TABLE later (id integer UNIQUE DEFERRABLE INITIALLY DEFERRED)").await;
            refused.push("INSERT INTO later VALUES (1), (1)");
        }
        let pool = db.pool(1).await;
        for sql in refused {
            let (key, bodies) = (fresh(), Count::new());
            let error = process_replayed(&pool, key.clone(), &Options::new(), 5, || {
                let bodies = bodies.clone();
                async move |tx| {
                    bodies.hit();
                    effect(tx, "refused").await.map_err(Error::Query)?;
                    tx.execute_unprepared(sql).await.map_err(Error::Query)?;
                    Ok(())
                }
            })
            .await
            .unwrap_err();
            assert!(matches!(error, Error::Refused(_)) && !error.is_transient(), "{error:?}");
            assert!(!is_transient(&DbErr::from(error)));
            assert_eq!(bodies.get(), 1);
            assert_eq!((ledger.markers_of(*key.message_id().as_uuid()).await, ledger.records_of("refused").await), (0, 0));
            assert_clean(&ledger, &pool).await;
        }
    }
}
