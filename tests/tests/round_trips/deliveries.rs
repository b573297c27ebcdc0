//! What each kind of delivery costs on a warm connection.

use inbox_core::{InboxKey, Options, Outcome, process, process_with, seen};
use inbox_tests::{Backend, Ledger, TestDb, backends, race::Count};
use sea_orm::{DatabaseConnection, DbErr, IsolationLevel, TransactionSession as _, TransactionTrait as _};

use crate::{
    delivery::{deliver, duplicate, effect, fresh, processed},
    wire::Wire,
};

/// The effect's two statements.
const BODY: [&str; 2] = ["UPDATE acct", "INSERT biz"];
const MARKER: &str = "INSERT inbox_message";
const LOOK: &str = "SELECT inbox_message";

/// What is expected on the network, and which of it SQLite shows.
fn expected(db: &TestDb, requests: &[&[&str]]) -> Vec<String> {
    let shown =
        |request: &&&str| db.backend() != Backend::Sqlite || !["BEGIN", "ROLLBACK", "SAVEPOINT", "RELEASE SAVEPOINT"].contains(*request);
    requests.concat().iter().filter(shown).map(|request| (*request).to_owned()).collect()
}

/// Everything that the tests below send has been prepared.
async fn warm(db: &TestDb) -> (Ledger, Wire, DatabaseConnection) {
    let ledger = Ledger::new(db).await;
    let (wire, pool) = Wire::new(db).await;
    let key = fresh();
    for options in [Options::new(), Options::new().fast_path(true)] {
        for _ in 0..2 {
            let answer = deliver(&pool, key.clone(), options, &Count::new(), &format!("warm {options:?}")).await;
            assert!(answer.is_ok(), "{answer:?}");
        }
    }
    let _ = process(&pool, fresh(), async |tx| {
        effect(tx, "failed").await?;
        Err::<(), _>(DbErr::Custom("warm".to_owned()))
    })
    .await;
    wire.took();
    (ledger, wire, pool)
}

backends! {
    async fn a_first_delivery(db: TestDb) {
        let (_ledger, wire, pool) = warm(&db).await;
        for n in 0..3 {
            let answer = deliver(&pool, fresh(), Options::new(), &Count::new(), &format!("first {n}")).await;
            assert!(processed(&answer), "{answer:?}");
            assert_eq!(wire.took(), expected(&db, &[&["BEGIN", MARKER], &BODY, &["COMMIT"]]));
        }
    }

    async fn a_duplicate(db: TestDb) {
        let (_ledger, wire, pool) = warm(&db).await;
        let key = done(&pool).await;
        wire.took();
        let answer = deliver(&pool, key, Options::new(), &Count::new(), "never").await;
        assert!(duplicate(&answer), "{answer:?}");
        assert_eq!(wire.took(), expected(&db, &[&["BEGIN", MARKER, "ROLLBACK", LOOK]]));
    }

    async fn a_late_redelivery_on_the_fast_path(db: TestDb) {
        let (_ledger, wire, pool) = warm(&db).await;
        let key = done(&pool).await;
        wire.took();
        for _ in 0..3 {
            let answer = deliver(&pool, key.clone(), Options::new().fast_path(true), &Count::new(), "never").await;
            assert!(duplicate(&answer), "{answer:?}");
            assert_eq!(wire.took(), expected(&db, &[&[LOOK]]));
        }
        assert!(seen(&pool, &key).await.unwrap());
        assert_eq!(wire.took(), expected(&db, &[&[LOOK]]));
    }

    async fn a_first_delivery_on_the_fast_path(db: TestDb) {
        let (_ledger, wire, pool) = warm(&db).await;
        let answer = deliver(&pool, fresh(), Options::new().fast_path(true), &Count::new(), "first").await;
        assert!(processed(&answer), "{answer:?}");
        assert_eq!(wire.took(), expected(&db, &[&[LOOK, "BEGIN", MARKER], &BODY, &["COMMIT"]]));
    }

    /// MySQL is asked for the marker afterwards, because a body can commit there unseen.
    async fn a_body_that_fails(db: TestDb) {
        let (_ledger, wire, pool) = warm(&db).await;
        let failed = process(&pool, fresh(), async |tx| {
            effect(tx, "failed").await?;
            Err::<(), _>(DbErr::Custom("on purpose".to_owned()))
        })
        .await;
        assert!(failed.is_err());
        let look: &[&str] = if db.backend() == Backend::MySql { &[LOOK] } else { &[] };
        assert_eq!(wire.took(), expected(&db, &[&["BEGIN", MARKER], &BODY, &["ROLLBACK"], look]));
    }

    async fn a_nested_delivery(db: TestDb) {
        let (_ledger, wire, pool) = warm(&db).await;
        let outcome = process(&pool, fresh(), async |tx| process(tx, fresh(), async |tx| effect(tx, "nested").await).await).await.unwrap();
        assert_eq!(outcome, Outcome::Processed(Outcome::Processed(())));
        assert_eq!(wire.took(), expected(&db, &[&["BEGIN", MARKER, "SAVEPOINT", MARKER], &BODY, &["RELEASE SAVEPOINT", "COMMIT"]]));
    }

    async fn a_savepoint_of_the_body(db: TestDb) {
        let (_ledger, wire, pool) = warm(&db).await;
        let outcome = process(&pool, fresh(), async |tx| {
            let nested = tx.begin().await?;
            effect(&nested, "savepoint").await?;
            nested.commit().await
        })
        .await
        .unwrap();
        assert!(!outcome.is_duplicate());
        assert_eq!(wire.took(), expected(&db, &[&["BEGIN", MARKER, "SAVEPOINT"], &BODY, &["RELEASE SAVEPOINT", "COMMIT"]]));
    }

    /// One more for the level, where there are levels: after BEGIN on PostgreSQL, before it on MySQL.
    [postgres, mysql]
    async fn a_level_of_its_own(db: TestDb) {
        let (_ledger, wire, pool) = warm(&db).await;
        let options = Options::new().isolation(IsolationLevel::Serializable);
        assert!(processed(&deliver(&pool, fresh(), options, &Count::new(), "warm level").await));
        wire.took();
        let answer = process_with(&pool, fresh(), &options, async |tx| effect(tx, "level").await).await;
        assert!(processed(&answer), "{answer:?}");
        let level = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";
        let begin = db.backend().pick(["BEGIN", level], [level, "BEGIN"], ["", ""]);
        assert_eq!(wire.took(), expected(&db, &[&begin, &[MARKER], &BODY, &["COMMIT"]]));
    }

    /// On a cold connection each text is prepared once.
    [postgres, mysql]
    async fn a_cold_connection(db: TestDb) {
        let _ledger = Ledger::new(&db).await;
        let (wire, pool) = Wire::new(&db).await;
        wire.took();
        for n in 0..2 {
            assert!(processed(&deliver(&pool, fresh(), Options::new(), &Count::new(), &format!("cold {n}")).await));
            let prepared = wire.took().iter().filter(|request| *request == "Prepare").count();
            assert_eq!(prepared, if n == 0 { 3 } else { 0 });
        }
    }
}

/// A message that was processed some time ago.
async fn done(pool: &DatabaseConnection) -> InboxKey {
    let key = fresh();
    assert!(processed(&deliver(pool, key.clone(), Options::new(), &Count::new(), &format!("done {key}")).await));
    key
}
