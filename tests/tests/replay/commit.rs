//! Once COMMIT was sent.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use inbox_core::{Error, InboxTransaction, Options, is_transient, process_replayed};
use inbox_tests::{
    Backend, Ledger, TestDb, backends,
    proxy::{Action, Moment, Passing, Proxy},
    race::Count,
};
use sea_orm::{ConnectionTrait as _, DbBackend, DbErr, Statement};

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

    /// An administrator ends the session while COMMIT is on its way: it answers, and the answer says nothing about COMMIT.
    [postgres, mysql]
    async fn a_session_that_is_ended_at_commit_is_not_replayed(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        let held = proxy.on(Passing::Commit, Moment::BeforeRequest, Action::Hold);
        let (key, bodies, session) = (fresh(), Count::new(), Arc::new(AtomicI64::new(0)));
        let delivery = tokio::spawn({
            let (pool, key, bodies, session) = (pool.clone(), key.clone(), bodies.clone(), session.clone());
            async move {
                process_replayed(&pool, key, &Options::new(), 5, || {
                    let (bodies, session) = (bodies.clone(), session.clone());
                    async move |tx| {
                        bodies.hit();
                        session.store(session_of(tx).await.map_err(Error::Query)?, Ordering::SeqCst);
                        effect(tx, "ended").await.map_err(Error::Query)
                    }
                })
                .await
            }
        });
        held.reached().await;
        let session = session.load(Ordering::SeqCst);
        db.exec(&db.backend().pick(format!("SELECT pg_terminate_backend({session})"), format!("KILL {session}"), String::new())).await;
        db.no_open_transaction().await;
        held.release();
        let error = delivery.await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Commit(_)) && is_transient(&error), "{error:?}");
        assert_eq!(bodies.get(), 1);
        assert_effects(&ledger, 0).await;
        assert!(processed(&deliver(&pool, key, Options::new(), &bodies, "again").await));
        assert_clean(&ledger, &pool).await;
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

/// The server's number of the session that this transaction runs in.
async fn session_of(tx: &InboxTransaction) -> Result<i64, DbErr> {
    let backend = tx.get_database_backend();
    let sql = if backend == DbBackend::Postgres { "SELECT pg_backend_pid()::bigint" } else { "SELECT CAST(CONNECTION_ID() AS SIGNED)" };
    let row = tx.query_one_raw(Statement::from_string(backend, sql)).await?.ok_or_else(|| DbErr::RecordNotFound("a number".into()))?;
    row.try_get_by_index(0)
}
