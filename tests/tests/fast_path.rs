//! The look before the transaction: it spares late redeliveries the transaction, and decides nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

mod delivery;

use inbox_core::{Error, InboxKey, Options, process, process_with, seen};
use inbox_tests::{
    Ledger, TestDb, backends,
    proxy::{Action, Moment, Passing, Proxy},
    race::Count,
};
use sea_orm::{ConnectionTrait as _, EntityTrait as _, TransactionTrait as _};

use delivery::{assert_clean, assert_effects, deliver, duplicate, fresh, processed};

const FAST: Options = Options::new().fast_path(true);

backends! {
    async fn a_late_redelivery_begins_no_transaction(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let (key, bodies) = (fresh(), Count::new());
        assert!(processed(&deliver(&pool, key.clone(), FAST, &bodies, "first").await));
        // A writer in the way would hold up any INSERT of this key: SQLite's only one, and the row itself elsewhere.
        let writer = db.pool(1).await.begin().await.unwrap();
        inbox_core::entity::Entity::delete_many().exec(&writer).await.unwrap();
        for _ in 0..1000 {
            assert!(duplicate(&deliver(&pool, key.clone(), FAST, &bodies, "never").await));
        }
        writer.rollback().await.unwrap();
        assert_eq!(bodies.get(), 1);
        assert_effects(&ledger, 1).await;
    }

    /// A session that reads what is not committed must not take it for done: it may be rolled back, and the message would be lost.
    /// On PostgreSQL and SQLite the level is read committed at least.
    [mysql]
    async fn a_session_that_reads_uncommitted_rows(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let (first, second) = (db.pool(1).await, db.pool(1).await);
        second.execute_unprepared("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").await.unwrap();
        let (key, bodies) = (fresh(), Count::new());
        let winner = first.begin().await.unwrap();
        let ours = process(&winner, key.clone(), async |_| Ok::<_, Error>(())).await;
        assert!(ours.is_ok(), "{ours:?}");
        assert!(!seen(&second, &key).await.unwrap());
        let redelivery = tokio::spawn({
            let (second, key, bodies) = (second.clone(), key.clone(), bodies.clone());
            async move { deliver(&second, key, FAST, &bodies, "redelivered").await }
        });
        db.lock_waiters(1).await;
        winner.rollback().await.unwrap();
        let answer = redelivery.await.unwrap();
        assert!(processed(&answer), "{answer:?}");
        // A true duplicate is one on such a session, too.
        let answer = deliver(&second, key, FAST, &bodies, "never").await;
        assert!(duplicate(&answer), "{answer:?}");
        assert_effects(&ledger, 1).await;
    }

    /// A prepared look must not fail because its columns have other types now; `verify` accepts the wider one.
    [postgres]
    async fn a_column_that_is_altered_under_a_running_service(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let (key, bodies) = (fresh(), Count::new());
        assert!(processed(&deliver(&pool, key.clone(), FAST, &bodies, "first").await));
        for alter in ["ALTER COLUMN last_error TYPE text", "ALTER COLUMN attempts TYPE bigint", "ALTER COLUMN last_error TYPE varchar(2000)"] {
            for options in [FAST, Options::new()] {
                let answer = deliver(&pool, key.clone(), options, &bodies, "never").await;
                assert!(duplicate(&answer), "before {alter}: {answer:?}");
            }
            db.exec(&format!("ALTER TABLE inbox_message {alter}")).await;
        }
        for options in [FAST, Options::new()] {
            assert!(duplicate(&deliver(&pool, key.clone(), options, &bodies, "never").await));
        }
        assert_effects(&ledger, 1).await;
    }

    /// Case 36: a refused INSERT burns a number of the surrogate key, and the fast path inserts nothing.
    async fn a_late_redelivery_burns_no_number(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let key = fresh();
        assert!(processed(&deliver(&pool, key.clone(), FAST, &Count::new(), "first").await));
        let before = db.scalar_i64("SELECT MAX(id) FROM inbox_message").await;
        for _ in 0..50 {
            assert!(duplicate(&deliver(&pool, key.clone(), FAST, &Count::new(), "never").await));
        }
        assert!(processed(&deliver(&pool, fresh(), FAST, &Count::new(), "second").await));
        assert_eq!(db.scalar_i64("SELECT MAX(id) FROM inbox_message").await, before + 1);
        assert_effects(&ledger, 2).await;
    }

    /// Processed for one consumer is not processed for another.
    async fn each_consumer_looks_for_itself(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let key = fresh();
        let audit = InboxKey::new(inbox_core::Consumer::from_static("audit"), key.message_id());
        assert!(processed(&deliver(&pool, key.clone(), FAST, &Count::new(), "credit").await));
        assert!(!seen(&pool, &audit).await.unwrap());
        assert!(processed(&deliver(&pool, audit.clone(), FAST, &Count::new(), "audit").await));
        assert!(seen(&pool, &audit).await.unwrap() && seen(&pool, &key).await.unwrap());
        assert_effects(&ledger, 2).await;
    }

    /// What is not committed has not been seen, and what was rolled back never was.
    async fn an_open_transaction_has_not_been_seen(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(2).await;
        let key = fresh();
        let failed = process_with(&pool, key.clone(), &FAST, async |tx| {
            assert!(!seen(&pool, &key).await?, "by another connection");
            assert!(seen(tx, &key).await?, "in its own transaction");
            Err::<(), Error>(Error::Options("on purpose"))
        })
        .await;
        assert!(matches!(failed, Err(Error::Options("on purpose"))), "{failed:?}");
        assert!(!seen(&pool, &key).await.unwrap());
        assert!(processed(&deliver(&pool, key, FAST, &Count::new(), "again").await));
        assert_effects(&ledger, 1).await;
    }

    /// Two look at the same time, and both see nothing: the index decides.
    [postgres, mysql]
    async fn a_look_that_is_outdated(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        let (key, bodies) = (fresh(), Count::new());
        let looked = proxy.on(Passing::Statement("SELECT processed_at".to_owned()), Moment::AfterAnswer, Action::Hold);
        let late = tokio::spawn({
            let (pool, key, bodies) = (pool.clone(), key.clone(), bodies.clone());
            async move { deliver(&pool, key, FAST, &bodies, "late").await }
        });
        looked.reached().await;
        assert!(processed(&deliver(&db.pool(1).await, key, FAST, &bodies, "first").await));
        looked.release();
        assert!(duplicate(&late.await.unwrap()));
        assert_eq!(bodies.get(), 1);
        assert_effects(&ledger, 1).await;
    }

    /// The look fails: nobody was asked for more.
    [postgres, mysql]
    async fn a_look_that_fails(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        proxy.on(Passing::Statement("SELECT processed_at".to_owned()), Moment::BeforeAnswer, Action::Cut);
        let failed = process_with(&pool, fresh(), &FAST, async |_| -> Result<(), Error> { panic!("the body ran") }).await.unwrap_err();
        assert!(matches!(failed, Error::Query(_)) && failed.is_transient(), "{failed:?}");
        assert_effects(&ledger, 0).await;
        assert_clean(&ledger, &pool).await;
    }
}
