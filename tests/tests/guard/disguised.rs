//! Control that hides where strings and comments end: by a byte that one backend takes for the end of a line, by a session that
//! reads strings in another way, by a comment that is code.

use inbox_tests::{TestDb, backends, ledger};
use sea_orm::ConnectionTrait as _;

use super::support::{Bench, Failed};

/// What the session is told first, from outside of a delivery, and a text in which `CONTROL` stands where it would run.
type Hidden = (Option<&'static str>, &'static str);

const POSTGRES: [Hidden; 7] = [
    (None, "-- a note\rCONTROL"),
    (None, "SELECT 1; -- a note\rCONTROL"),
    (None, "SELECT E'a'\n'\\' , '; CONTROL; SELECT 'x'"),
    (None, "SELECT E'a' -- a note\n '\\' , '; CONTROL; SELECT 'x'"),
    (None, "SELECT 1 AS \u{1F600}$a$; CONTROL; SELECT 1 AS \u{1F600}$a$"),
    (Some("SET standard_conforming_strings = off"), "SELECT '\\' , '; CONTROL; SELECT 'x'"),
    (None, "SELECT U&'a'; CONTROL"),
];

const MYSQL: [Hidden; 8] = [
    (Some("SET sql_mode = 'NO_BACKSLASH_ESCAPES'"), "SELECT '\\'; CONTROL; SELECT 'x'"),
    (Some("SET sql_mode = 'ANSI_QUOTES'"), "SELECT 1 AS \"a\\\"; CONTROL; SELECT 1 AS \"b\""),
    (Some("SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'"), "SELECT '\\' AS \"a\\\"; CONTROL; SELECT 1 AS \"b\""),
    (None, "--\u{7f}\nCONTROL"),
    (None, "SELECT 1; --\u{7f}\nCONTROL"),
    (None, "SET /*!STATEMENT*/ max_statement_time = 1 FOR CONTROL"),
    (None, "SET /*M!STATEMENT*/ max_statement_time = 1 FOR CONTROL"),
    (None, "SET @a = 1 /*!, auto*/ /*!commit = 1*/; CONTROL"),
];

backends! {
    /// A COMMIT would keep the marker of a body that fails: its redelivery would be a duplicate, and lost.
    [postgres, mysql]
    async fn a_commit(db: TestDb) {
        for &(session, text) in hidden(&db) {
            let db = TestDb::new(db.backend()).await;
            let bench = told(&db, session).await;
            let outcome = bench
                .deliver::<()>(async |tx| {
                    ledger::credit(tx, 1, 1).await?;
                    let refused = tx.execute_unprepared(&text.replace("CONTROL", "COMMIT")).await.unwrap_err();
                    assert!(refused.to_string().contains("refused before it was sent"), "{text:?}: {refused}");
                    Err(Failed::Own)
                })
                .await;
            assert!(matches!(outcome, Err(Failed::Own)), "{text:?}: {outcome:?}");
            bench.nothing_stored().await;
            bench.redelivers().await;
        }
    }

    /// A ROLLBACK would take everything along, and `Ok` would be acknowledged.
    [postgres, mysql]
    async fn a_rollback(db: TestDb) {
        for &(session, text) in hidden(&db) {
            let db = TestDb::new(db.backend()).await;
            let bench = told(&db, session).await;
            let outcome = bench
                .deliver(async |tx| {
                    ledger::credit(tx, 1, 1).await?;
                    tx.execute_unprepared(&text.replace("CONTROL", "ROLLBACK")).await.unwrap_err();
                    Ok(())
                })
                .await;
            assert!(outcome.is_ok(), "{text:?}: {outcome:?}");
            assert_eq!((bench.ledger.markers().await, bench.ledger.balance(1).await), (1, 1), "{text:?}");
        }
    }

    /// It commits, wherever it stands among the assignments.
    [mysql]
    async fn a_password_behind_another_assignment(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver::<()>(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                tx.execute_unprepared("SET @a = 1, PASSWORD FOR nobody@localhost = PASSWORD('x')").await?;
                Ok(())
            })
            .await;
        assert!(matches!(&outcome, Err(Failed::Db(refused)) if refused.to_string().contains("refused before it was sent")), "{outcome:?}");
        bench.unharmed().await;
    }

    /// sqlx gives the first row and leaves the rest of the text undone.
    [sqlite]
    async fn a_second_statement_behind_one_row(db: TestDb) {
        let bench = Bench::new(&db).await;
        let text = "INSERT INTO biz (k, v) VALUES ('first', 1) RETURNING id; UPDATE acct SET bal = bal + 100 WHERE id = 1";
        let outcome = bench
            .deliver::<()>(async |tx| {
                tx.query_one_raw(sea_orm::Statement::from_string(tx.get_database_backend(), text)).await?;
                Ok(())
            })
            .await;
        assert!(matches!(&outcome, Err(Failed::Db(refused)) if refused.to_string().contains("Send them one by one")), "{outcome:?}");
        bench.unharmed().await;
    }
}

fn hidden(db: &TestDb) -> &'static [Hidden] {
    db.backend().pick(&POSTGRES[..], &MYSQL, &[])
}

/// A bench whose one connection was told something.
async fn told(db: &TestDb, session: Option<&str>) -> Bench {
    let bench = Bench::new(db).await;
    if let Some(session) = session {
        bench.pool.execute_unprepared(session).await.unwrap();
    }
    bench
}
