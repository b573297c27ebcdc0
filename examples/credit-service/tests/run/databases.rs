//! On every backend, and where it has to say no.

use std::collections::BTreeMap;

use inbox_tests::{TestDb, backends};
use sea_orm::ConnectionTrait as _;

use crate::program::run;
use crate::recount::{Recount, SAMPLE, assert_table, money};

/// What the database holds, asked past the program.
pub(crate) async fn balances(db: &TestDb) -> BTreeMap<i64, i64> {
    let all = sea_orm::Statement::from_string(db.backend().db_backend(), "SELECT id, balance FROM account");
    let rows = db.observer().query_all_raw(all).await.unwrap();
    rows.iter().map(|row| (row.try_get_by_index(0).unwrap(), row.try_get_by_index(1).unwrap())).collect()
}

backends! {
    /// A second run on the same database finds everything done.
    async fn twice_on_one_database(db: TestDb) {
        let file = Recount::of(SAMPLE);
        for processed in [file.amounts.len(), 0] {
            let run = run(Some(db.url()), &[]);
            assert_table(&run, &file, processed);
            assert_eq!(balances(&db).await, file.balances());
        }
        assert_eq!(db.count("inbox_message").await, i64::try_from(file.amounts.len()).unwrap());
    }

    /// Somebody else's credit is not what the file says, by a cent or by an account.
    async fn a_wrong_total_is_said(db: TestDb) {
        run(Some(db.url()), &[]).assert_good();
        db.exec("UPDATE account SET balance = balance + 1 WHERE id = 3").await;
        run(Some(db.url()), &[]).assert_bad("account 3 holds");
        // The sum is right again, and the accounts are not.
        db.exec("UPDATE account SET balance = balance - 1 WHERE id = 4").await;
        let run_again = run(Some(db.url()), &[]);
        assert_eq!(run_again.row("total"), run_again.row("expected total"));
        run_again.assert_bad("account 4 holds");
        db.exec("UPDATE account SET balance = balance - 1 WHERE id = 3").await;
        db.exec("UPDATE account SET balance = balance + 1 WHERE id = 4").await;
        run(Some(db.url()), &[]).assert_good();
        db.exec("INSERT INTO account (id, balance) VALUES (99, 500)").await;
        run(Some(db.url()), &[]).assert_bad("account 99 holds 5.00 and should hold 0.00");
    }

    /// The check catches a double credit: without its markers the second run credits everything again.
    async fn lost_markers_are_said(db: TestDb) {
        run(Some(db.url()), &[]).assert_good();
        db.exec("DELETE FROM inbox_message").await;
        let second = run(Some(db.url()), &[]);
        second.assert_bad("the accounts are wrong");
        assert_eq!(second.row("total"), money(2 * Recount::of(SAMPLE).total()), "{second:?}");
    }

    /// It does not start on a table that lets duplicates through, and says what mends it.
    async fn it_refuses_a_table_without_the_index(db: TestDb) {
        run(Some(db.url()), &[]).assert_good();
        let drop = db.backend().pick(
            "DROP INDEX \"idx-inbox_message-message_consumer\"",
            "DROP INDEX `idx-inbox_message-message_consumer` ON inbox_message",
            "DROP INDEX \"idx-inbox_message-message_consumer\"",
        );
        db.exec(drop).await;
        let before = balances(&db).await;
        let refused = run(Some(db.url()), &[]);
        refused.assert_bad("no replica is left");
        assert!(refused.err.contains("CREATE UNIQUE INDEX"), "{refused:?}");
        assert_eq!(balances(&db).await, before);
    }
}
