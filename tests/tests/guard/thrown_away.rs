//! A marker's INSERT that the database answers with "0 rows": nothing would tell the redelivery.

use inbox_core::{Error, process};
use inbox_tests::{Ledger, TestDb, backends, ledger};

use super::support::key;

const BY_A_TRIGGER: [&str; 2] = [
    "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
    "CREATE TRIGGER skip BEFORE INSERT ON inbox_message FOR EACH ROW WHEN (NEW.consumer = 'guard') EXECUTE FUNCTION skip()",
];
const BY_A_RULE: [&str; 1] = ["CREATE RULE skip AS ON INSERT TO inbox_message WHERE NEW.consumer = 'guard' DO INSTEAD NOTHING"];
/// Somebody's archive: an inherited table, which has no index of ours.
const ELSEWHERE: [&str; 3] = [
    "CREATE TABLE inbox_guard (CHECK (consumer = 'guard')) INHERITS (inbox_message)",
    "CREATE FUNCTION route() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO inbox_guard VALUES (NEW.*); RETURN NULL; END $$",
    "CREATE TRIGGER route BEFORE INSERT ON inbox_message FOR EACH ROW WHEN (NEW.consumer = 'guard') EXECUTE FUNCTION route()",
];
const IGNORED: [&str; 1] =
    ["CREATE TRIGGER skip BEFORE INSERT ON inbox_message WHEN NEW.consumer = 'guard' BEGIN SELECT RAISE(IGNORE); END"];

backends! {
    /// MySQL's triggers cannot throw a row away.
    [postgres, sqlite]
    async fn no_row_is_no_marker(db: TestDb) {
        let ways: &[&[&str]] = db.backend().pick(&[&BY_A_TRIGGER, &BY_A_RULE, &ELSEWHERE], &[], &[&IGNORED]);
        for way in ways {
            let db = TestDb::new(db.backend()).await;
            let ledger = Ledger::new(&db).await;
            for sql in *way {
                db.exec(sql).await;
            }
            let pool = db.pool(1).await;
            for _ in 0..3 {
                let refused = process(&pool, key("m"), async |tx| ledger::credit(tx, 1, 100).await.map_err(Error::Query)).await.unwrap_err();
                assert!(matches!(refused, Error::Marker(_)) && !refused.is_transient(), "{refused:?}");
                assert!(refused.to_string().contains("stored no row"), "{refused}");
            }
            assert_eq!((ledger.balance(1).await, ledger.markers().await), (0, 0));
        }
    }
}
