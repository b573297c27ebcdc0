//! Statements that would end the transaction under the guard are refused before they are sent, in every disguise.

use inbox_core::InboxTransaction;
use inbox_tests::{TestDb, backends, ledger};
use sea_orm::{ConnectionTrait, DbErr, Statement, StreamTrait};

use super::support::{Bench, Failed, is_mariadb};

/// Transaction control is refused everywhere. Each word here is one that some backend would obey.
const CONTROL: [&str; 12] = [
    "BEGIN",
    "BEGIN WORK",
    "START TRANSACTION",
    "COMMIT",
    "COMMIT AND CHAIN",
    "END",
    "ROLLBACK",
    "ROLLBACK TO SAVEPOINT a",
    "ABORT",
    "SAVEPOINT a",
    "RELEASE SAVEPOINT a",
    "PREPARE TRANSACTION 'a'",
];

/// Ways to write `COMMIT` so that it does not stand at the beginning, on all backends.
const DISGUISED: [&str; 16] = [
    "commit",
    "CoMmIt WORK",
    "COMMIT;",
    "COMMIT/**/",
    "  \t\r\n\x0b\x0cCOMMIT",
    ";COMMIT",
    " ; ;; COMMIT",
    "-- a note\nCOMMIT",
    "-- one\n-- two\nCOMMIT",
    "/* a note */COMMIT",
    "/**/ /* ; */ COMMIT",
    "SELECT 1; COMMIT",
    "SELECT 1;;\n/* then */ commit",
    "SELECT ';'; COMMIT",
    "SELECT 'it''s;'; COMMIT",
    "SELECT 1 -- ; ROLLBACK '\n; COMMIT",
];

const POSTGRES: [&str; 9] = [
    "/* a /* nested */ comment */ COMMIT",
    "SELECT \";\" FROM (SELECT 1 AS \";\") t; COMMIT",
    "SELECT $$;$$; COMMIT",
    "SELECT $a$ $$ ; $b$ $a$; COMMIT",
    "SELECT 1 AS a$a$; COMMIT; SELECT 1 AS b$a$",
    r"SELECT E'\\'; COMMIT",
    r"SELECT '\'; COMMIT --'",
    r"SELECT 1 AS e; SELECT '\'; COMMIT --'",
    "DO $$ BEGIN PERFORM 1; END $$; COMMIT",
];

const MYSQL: [&str; 76] = [
    // Disguises of its own.
    "# a note\nCOMMIT",
    "--\nCOMMIT",
    r"SELECT '\''; COMMIT",
    r#"SELECT "\"'"; COMMIT"#,
    "SELECT 1 AS `'`; COMMIT",
    "/*!COMMIT*/",
    "/*!50000 COMMIT */",
    "/*M!100000 COMMIT */",
    "/*! SELECT 1 */",
    "SELECT 1 /*! ; COMMIT */",
    "SELECT 1 /*!99999 ' */ ; COMMIT /*!99999 ' */",
    "(SELECT 1)",
    " ( SELECT 1 ) UNION ( SELECT 2 )",
    // MariaDB's compound statements.
    "BEGIN NOT ATOMIC COMMIT; END",
    "IF 1 THEN COMMIT; END IF",
    "CASE 1 WHEN 1 THEN COMMIT; END CASE",
    "WHILE 1 DO COMMIT; END WHILE",
    "REPEAT COMMIT; UNTIL 1 END REPEAT",
    // What commits implicitly.
    "ALTER TABLE biz ADD c int",
    "ALTER DATABASE CHARACTER SET utf8mb4",
    "ALTER USER root@localhost ACCOUNT LOCK",
    "ANALYZE TABLE biz",
    "BACKUP STAGE START",
    "CACHE INDEX biz IN hot",
    "CHANGE MASTER TO MASTER_HOST = 'x'",
    "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'x'",
    "CHECK TABLE biz",
    "CLONE LOCAL DATA DIRECTORY = '/x'",
    "CREATE TABLE made (a int)",
    "CREATE OR REPLACE TEMPORARY TABLE made (a int)",
    "CREATE TEMPORARY SEQUENCE made",
    "CREATE INDEX made ON biz (v)",
    "CREATE UNIQUE INDEX made ON biz (v)",
    "CREATE VIEW made AS SELECT 1",
    "CREATE PROCEDURE made() COMMIT",
    "CREATE TRIGGER made BEFORE INSERT ON biz FOR EACH ROW SET @a = 1",
    "CREATE USER made",
    "CREATE DATABASE made",
    "DROP TABLE biz",
    "DROP INDEX biz_k ON biz",
    "DROP PREPARE p",
    "DROP USER made",
    "EXECUTE p",
    "EXECUTE IMMEDIATE 'COMMIT'",
    "FLUSH TABLES",
    "GRANT SELECT ON biz TO made",
    "IMPORT TABLE FROM 'x'",
    "INSTALL PLUGIN x SONAME 'x'",
    "INSTALL SONAME 'x'",
    "LOAD INDEX INTO CACHE biz",
    "LOCK TABLES biz WRITE",
    "OPTIMIZE TABLE biz",
    "PURGE BINARY LOGS TO 'x'",
    "RENAME TABLE biz TO made",
    "REPAIR TABLE biz",
    "RESET QUERY CACHE",
    "RESTART",
    "REVOKE SELECT ON biz FROM made",
    "SHUTDOWN",
    "START SLAVE",
    "STOP SLAVE",
    "TRUNCATE biz",
    "TRUNCATE TABLE biz",
    "UNINSTALL PLUGIN x",
    "UNLOCK TABLES",
    "XA START 'x'",
    "XA END 'x'",
    "SET autocommit = 1",
    "SET @@session.AutoCommit = ON",
    "SET @a = 1, autocommit = 1",
    "SET completion_type = CHAIN",
    "SET PASSWORD = PASSWORD('x')",
    "SET DEFAULT ROLE NONE",
    "SET ROLE NONE",
    "SET STATEMENT max_statement_time = 1 FOR COMMIT",
    "create\ttable made (a int)",
];

const SQLITE: [&str; 4] = [
    "SELECT \";\" FROM (SELECT 1 AS \";\"); COMMIT",
    "SELECT 1 AS [it's]; COMMIT; SELECT 1 AS [it's]",
    "SELECT 1 AS `'`; COMMIT",
    "END TRANSACTION",
];

/// Every way to send a text.
async fn send_every_way(tx: &InboxTransaction, sql: &str) -> [Result<(), DbErr>; 5] {
    let statement = || Statement::from_string(ConnectionTrait::get_database_backend(tx), sql);
    [
        tx.execute_unprepared(sql).await.map(drop),
        tx.execute_raw(statement()).await.map(drop),
        tx.query_one_raw(statement()).await.map(drop),
        tx.query_all_raw(statement()).await.map(drop),
        tx.stream_raw(statement()).await.map(drop),
    ]
}

async fn is_refused(bench: &Bench, sql: &str) {
    let outcome = bench
        .deliver(async |tx| {
            ledger::credit(tx, 1, 1).await?;
            for sent in send_every_way(tx, sql).await {
                let error = sent.expect_err(sql).to_string();
                assert!(error.contains("refused before it was sent"), "{sql}: {error}");
            }
            Err::<(), _>(Failed::Own)
        })
        .await;
    assert!(matches!(outcome, Err(Failed::Own)), "{sql}: {outcome:?}");
    bench.nothing_stored().await;
}

backends! {
    async fn what_would_end_the_transaction(db: TestDb) {
        let bench = Bench::new(&db).await;
        let own: &[&str] = db.backend().pick(&POSTGRES, &MYSQL, &SQLITE);
        for sql in CONTROL.iter().chain(&DISGUISED).chain(own) {
            is_refused(&bench, sql).await;
        }
        bench.unharmed().await;
    }

    /// A refusal harms nothing: the body may go on and is committed.
    async fn a_refused_statement_was_not_sent(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                tx.execute_unprepared("ROLLBACK").await.unwrap_err();
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (2, 1));
        bench.serves().await;
    }

    /// What only looks like transaction control, and what each backend can undo: sent, and gone with the rollback.
    async fn what_passes(db: TestDb) {
        let common = [
            "SELECT 'COMMIT'",
            "/* COMMIT; */ SELECT 1",
            "-- COMMIT\nSELECT 1",
            "SELECT 1;",
            "SELECT 1 ; ;",
            "INSERT INTO biz (k, v) VALUES ('; COMMIT', 1)",
            "INSERT INTO biz (k, v) VALUES ('it''s; ROLLBACK', 1)",
            "INSERT INTO biz (k, v) VALUES ('a', 1); INSERT INTO biz (k, v) VALUES ('b', 1)",
            "DELETE FROM biz",
            "WITH a AS (SELECT 1) SELECT * FROM a",
        ];
        let own: &[&str] = db.backend().pick(
            &[
                "CREATE TABLE made (a int); INSERT INTO made VALUES (1); DROP TABLE made",
                "ALTER TABLE biz ADD c int",
                "TRUNCATE biz",
                "LOCK TABLE biz",
                "ANALYZE biz",
                "GRANT SELECT ON biz TO PUBLIC",
                "(SELECT 1)",
                "DO $$ BEGIN INSERT INTO biz (k, v) VALUES ('d', 1); END $$",
                "DO $do$ BEGIN PERFORM 1; PERFORM ';'; END $do$; SELECT 1",
                r"SELECT E'\'; COMMIT'",
                "SELECT $$; COMMIT; $$",
                "SELECT '/*'; SELECT '*/'",
                "SET LOCAL lock_timeout = '1s'; SET LOCAL lock_timeout TO DEFAULT",
                "PREPARE p AS SELECT 1; EXECUTE p; DEALLOCATE p",
            ],
            &[
                "CREATE TEMPORARY TABLE made (a int)",
                "INSERT INTO made VALUES (1)",
                "DROP TEMPORARY TABLE made",
                "/* a */ create /* b */ temporary -- c\n table made (a int)",
                "DROP  TEMPORARY\tTABLE made",
                "SELECT * FROM acct LOCK IN SHARE MODE",
                "SELECT * FROM acct FOR UPDATE",
                r"INSERT INTO biz (k, v) VALUES ('it\'s; done', 1)",
                "SELECT /*! STRAIGHT_JOIN */ 1",
                "SELECT 5--1",
                "SELECT 1 # ; COMMIT",
                "SET @a = 1",
                "SET SESSION lock_wait_timeout = 10",
                "REPLACE INTO biz (k, v) VALUES ('r', 1)",
                "DO SLEEP(0)",
                "PREPARE p FROM 'SELECT 1'",
                "DEALLOCATE PREPARE p",
            ],
            &[
                "CREATE TABLE made (a int)",
                "ALTER TABLE biz ADD c int",
                "CREATE INDEX made_v ON biz (v)",
                "REPLACE INTO biz (k, v) VALUES ('r', 1)",
                "SELECT [a;COMMIT] FROM (SELECT 1 AS [a;COMMIT])",
                "PRAGMA foreign_keys",
                "ANALYZE",
            ],
        );
        let bench = Bench::new(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                for sql in common.iter().chain(own) {
                    tx.execute_unprepared(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
                }
                Err::<(), _>(Failed::Own)
            })
            .await;
        assert!(matches!(outcome, Err(Failed::Own)), "{outcome:?}");
        bench.unharmed().await;
    }

    /// The list of refused statements says what the server does, not what we think: each of these commits when it is sent.
    [mysql]
    async fn what_is_refused_does_commit(db: TestDb) {
        const MARIADB: [&str; 6] = [
            "/*M!100000 COMMIT */",
            "BEGIN NOT ATOMIC COMMIT; END",
            "IF 1 THEN COMMIT; END IF",
            "REPEAT COMMIT; UNTIL 1 END REPEAT",
            "EXECUTE IMMEDIATE 'COMMIT'",
            "SET STATEMENT max_statement_time = 1 FOR COMMIT",
        ];
        const BOTH: [&str; 10] = [
            "/*!COMMIT*/",
            "SELECT 1 /*!99999 ' */ ; COMMIT /*!99999 ' */",
            "SET autocommit = 1",
            "CREATE INDEX made ON biz (v)",
            "CREATE TABLE made (a int)",
            "ANALYZE TABLE biz",
            "CHECK TABLE biz",
            "LOCK TABLES biz WRITE",
            "UNLOCK TABLES",
            "FLUSH TABLES",
        ];
        let bench = Bench::new(&db).await;
        let own: &[&str] = if is_mariadb(&db).await { &MARIADB } else { &[] };
        for (n, sql) in BOTH.iter().chain(own).enumerate() {
            // A connection of its own, because some of them change it.
            let pool = db.pool(1).await;
            let before: &[&str] = match *sql {
                "UNLOCK TABLES" => &["LOCK TABLES biz WRITE", "SET autocommit = 0"],
                "SET autocommit = 1" => &["SET autocommit = 0"],
                _ => &["BEGIN"],
            };
            for sql in before {
                pool.execute_unprepared(sql).await.unwrap();
            }
            ledger::record(&pool, &format!("committed-{n}"), 1).await.unwrap();
            pool.execute_unprepared(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            pool.execute_unprepared("ROLLBACK").await.unwrap();
            pool.execute_unprepared("UNLOCK TABLES").await.unwrap();
            assert_eq!(bench.ledger.records_of(&format!("committed-{n}")).await, 1, "{sql} did not commit");
        }
    }
}
