//! Inside the process: SQLite's own hooks kill it, and its virtual machine does at one instruction after the other.

use inbox_tests::{Backend, Ledger, TestDb, backends, db::Journal};

use crate::{
    delivery::fresh,
    process::{all_or_nothing, and_the_next_messages, forget, start},
};

backends! {
    [sqlite]
    async fn killed_at_the_marker(db: TestDb) {
        assert!(!killed(&Ledger::new(&db).await, "at the marker").await);
    }

    [sqlite]
    async fn killed_in_the_body(db: TestDb) {
        assert!(!killed(&Ledger::new(&db).await, "in the body").await);
    }

    [sqlite]
    async fn killed_at_commit(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        assert!(!killed(&ledger, "at commit").await);
        and_the_next_messages(&ledger).await;
    }

    [sqlite]
    async fn killed_after_commit(db: TestDb) {
        assert!(killed(&Ledger::new(&db).await, "afterwards").await);
    }
}

/// From the first instruction of BEGIN to the last one of COMMIT.
#[tokio::test]
async fn killed_at_one_instruction_after_the_other() {
    for (journal, first) in [(Journal::Wal, 1), (Journal::Delete, 4)] {
        let db = TestDb::with_journal(Backend::Sqlite, journal).await;
        let ledger = Ledger::new(&db).await;
        let mut crashes = 0;
        // The first ones are BEGIN's.
        for instruction in (first..6).chain((6 + first..).step_by(9)) {
            let key = fresh();
            let child = start(db.url(), &key, &format!("at instruction {instruction}"));
            let ended = child.wait().await;
            let what = format!("at instruction {instruction}, {journal:?}");
            let effective = all_or_nothing(&ledger, key, &what).await;
            forget(&ledger).await;
            if !ended.killed() {
                assert!(effective && ended.status.success(), "{what}: {}", ended.output);
                break;
            }
            assert!(!effective, "{what}: SQLite commits after its last instruction");
            crashes += 1;
        }
        assert!(crashes > 10, "{crashes}");
        and_the_next_messages(&ledger).await;
    }
}

/// While the COMMIT writes, and shortly before and after.
#[tokio::test]
async fn killed_around_commit() {
    for journal in [Journal::Wal, Journal::Delete] {
        let db = TestDb::with_journal(Backend::Sqlite, journal).await;
        let ledger = Ledger::new(&db).await;
        for micros in [0, 20, 50, 100, 150, 200, 300, 500, 1000, 3000] {
            killed(&ledger, &format!("around commit, after µs {micros}")).await;
        }
        and_the_next_messages(&ledger).await;
    }
}

/// Returns whether the delivery took effect.
async fn killed(ledger: &Ledger, dies: &str) -> bool {
    let key = fresh();
    let child = start(ledger.db().url(), &key, dies);
    let ended = child.wait().await;
    // A process that was to die a little later may have been done before.
    assert!(ended.killed() || dies.starts_with("around"), "{dies}: {}", ended.output);
    let effective = all_or_nothing(ledger, key, dies).await;
    forget(ledger).await;
    effective
}
