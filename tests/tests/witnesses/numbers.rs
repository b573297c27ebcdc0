//! What the drivers make of the servers' codes. MySQL's number is read from sqlx's text, which only a real server can pin.

use inbox_core::is_transient;
use inbox_tests::{TestDb, backends, ledger};
use sea_orm::{AccessMode, ConnectionTrait as _, DbErr, TransactionTrait as _};

use super::support::Bench;

/// D5's table.
const TRANSIENT: [u16; 11] = [1205, 1213, 1040, 1047, 1053, 1180, 1290, 1792, 1836, 1927, 3101];

backends! {
    /// HY000 and 23000 cover hundreds of errors: the number decides.
    [mysql]
    async fn the_number_of_a_real_error(db: TestDb) {
        let bench = Bench::new(&db).await;
        let pool = &bench.pool;
        let read_only = pool.begin_with_config(None, Some(AccessMode::ReadOnly)).await.unwrap();
        let error = ledger::credit(&read_only, 1, 1).await.unwrap_err();
        read_only.rollback().await.unwrap();
        let holder = db.pool(1).await.begin().await.unwrap();
        ledger::credit(&holder, 1, 0).await.unwrap();
        pool.execute_unprepared("SET SESSION innodb_lock_wait_timeout = 1").await.unwrap();
        for (error, number, transient) in [
            (error, "1792 (25006)", true),
            (ledger::credit(pool, 1, 1).await.unwrap_err(), "1205 (HY000)", true),
            (fails(&bench, "INSERT INTO biz (k) VALUES ('k')").await, "1364 (HY000)", false),
            (fails(&bench, "INSERT INTO entry (acct_id, qty) VALUES (404, 1)").await, "1452 (23000)", false),
            (fails(&bench, "INSERT INTO acct (id, bal) VALUES (2, 0)").await, "1062 (23000)", false),
            (fails(&bench, "no such statement").await, "1064 (42000)", false),
            (fails(&bench, "SELECT 1 FROM nothing").await, "1146 (42S02)", false),
        ] {
            assert!(error.to_string().contains(number), "{number}: {error}");
            assert_eq!(is_transient(&error), transient, "{error}");
        }
    }

    /// In addition: every number there is, with a text that imitates another one.
    [mysql]
    async fn every_number(db: TestDb) {
        let bench = Bench::new(&db).await;
        for number in (1..=2000).chain(3050..=3110) {
            for message in ["1205 (HY000): x", "", "1062 (23000): 1205 (HY000)"] {
                let signal = format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = '{message}'");
                let error = fails(&bench, &signal).await;
                assert_eq!(is_transient(&error), TRANSIENT.contains(&number), "{number}: {error}");
                if number % 100 != 5 && !TRANSIENT.contains(&number) {
                    break;
                }
            }
        }
    }

    /// In addition to the real ones: PostgreSQL's codes, as RAISE has them sent.
    [postgres]
    async fn every_code(db: TestDb) {
        let bench = Bench::new(&db).await;
        let transient = ["40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300", "25006", "25P03", "42P05", "26000", "08000", "08006", "08P01"];
        let others = ["23505", "23503", "40002", "40003", "55006", "57014", "57000", "54000", "25P02", "25000", "42601", "53200", "53100", "P0001", "XX000"];
        for (codes, expected) in [(&transient[..], true), (&others[..], false)] {
            for code in codes {
                let error = fails(&bench, &format!("DO $$ BEGIN RAISE 'SQLSTATE 40001' USING ERRCODE = '{code}'; END $$")).await;
                assert_eq!(is_transient(&error), expected, "{code}: {error}");
            }
        }
    }

    /// SQLite's, each from the real thing: a busy file, a table that is locked inside its own connection; and what is final.
    [sqlite]
    async fn the_codes_of_sqlite(db: TestDb) {
        let bench = Bench::new(&db).await;
        let writer = db.pool(1).await.begin().await.unwrap();
        writer.execute_unprepared("UPDATE acct SET bal = 0").await.unwrap();
        assert!(is_transient(&writer.execute_unprepared("PRAGMA wal_checkpoint(TRUNCATE)").await.unwrap_err()));
        bench.pool.execute_unprepared("PRAGMA busy_timeout = 20").await.unwrap();
        for (sql, transient) in [
            ("UPDATE acct SET bal = 0", true),
            ("SELECT nonsense", false),
            ("SELECT abs(-9223372036854775807 - 1)", false),
        ] {
            let error = fails(&bench, sql).await;
            assert_eq!(is_transient(&error), transient, "{error}");
        }
        writer.rollback().await.unwrap();
        for sql in ["INSERT INTO acct (id, bal) VALUES (1, 0)", "INSERT INTO entry (acct_id, qty) VALUES (404, 1)"] {
            let error = fails(&bench, sql).await;
            assert!(!is_transient(&error), "{error}");
        }
    }
}

async fn fails(bench: &Bench, sql: &str) -> DbErr {
    bench.pool.execute_unprepared(sql).await.expect_err(sql)
}
