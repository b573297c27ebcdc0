//! What the servers make of these texts is shown in the `guard` tests of the package `inbox-tests`; here are the corners of the
//! scanner.

use sea_orm::DatabaseBackend::{MySql, Postgres, Sqlite};

use super::refuse;

#[test]
fn blanks_and_comments_before_the_keyword() {
    for backend in [Postgres, MySql, Sqlite] {
        for sql in [
            "COMMIT",
            "commit;",
            "\u{feff}COMMIT",
            "\u{a0}\u{2003}\u{0}\u{b}COMMIT",
            ";;\n;COMMIT",
            "-- x\r\nCOMMIT",
            "--\n--\nCOMMIT",
            "/**/COMMIT",
            "/* -- */ COMMIT",
            "/* ' */ COMMIT",
            "-- /*\nCOMMIT",
            "COMMIT/* x */WORK",
            "COMMIT--",
        ] {
            assert!(refuse(backend, sql).is_err(), "{backend:?}: {sql:?}");
        }
        for sql in [
            "",
            " ",
            ";",
            "--",
            "-- COMMIT",
            "/* COMMIT",
            "/* COMMIT */",
            "/",
            "-",
            "SELECT",
            "COMMITTED",
            "COMMIT_1",
            "BEGINNING",
            "_COMMIT",
            "1 COMMIT",
            "'COMMIT'",
            "\"COMMIT\"",
            "SELECT 1 - - 1; SELECT 2",
            "SELECT 'a",
            "SELECT 'a; COMMIT",
            "ÜBER; SELECT 'ä; COMMIT'",
        ] {
            // A keyword goes on in letters only: what is no word of SQL is refused rather than sent.
            let expected = sql == "COMMIT_1";
            assert_eq!(refuse(backend, sql).is_err(), expected, "{backend:?}: {sql:?}");
        }
    }
}

#[test]
fn the_second_statement() {
    for backend in [Postgres, MySql, Sqlite] {
        for sql in [
            "SELECT 1;COMMIT",
            "SELECT 1; -- x\n COMMIT",
            "SELECT 1; SELECT 2; SELECT 3; COMMIT",
            "SELECT ''';'; COMMIT",
            "SELECT '', ';', ''; COMMIT",
            "SELECT \"a;b\"; COMMIT",
            "SELECT /* ; ' */ 1; COMMIT",
            "SELECT 1 -- '\n; COMMIT",
            "SELECT 'ä'; COMMIT",
        ] {
            assert!(refuse(backend, sql).is_err(), "{backend:?}: {sql}");
        }
        for sql in [
            "SELECT 1; SELECT 'COMMIT'",
            "SELECT '; COMMIT'",
            "SELECT \"; COMMIT\"",
            "SELECT 1 /* ; COMMIT */",
            "SELECT 1 -- ; COMMIT",
            "SELECT ''''; SELECT '; COMMIT'",
        ] {
            assert!(refuse(backend, sql).is_ok(), "{backend:?}: {sql}");
        }
    }
}

#[test]
fn the_quotes_of_each_backend() {
    for (backend, sql, refused) in [
        // A backslash escapes on MySQL, and in PostgreSQL's E strings, unless the session was told otherwise: either is refused.
        (MySql, r"SELECT '\'; COMMIT'", true),
        (MySql, r#"SELECT "\"; COMMIT""#, true),
        (MySql, r"SELECT '\'; SELECT 1'", false),
        (MySql, r"SELECT '\a;b'; SELECT 1", false),
        (MySql, r"SELECT '\\'; COMMIT", true),
        (Postgres, r"SELECT '\'; COMMIT --'", true),
        (Postgres, r"SELECT E'\'; COMMIT'", false),
        (Postgres, "SELECT E'a'\n'\\' , '; COMMIT; SELECT 'x'", true),
        (Postgres, "SELECT E'a' '\\' , '; COMMIT; SELECT 'x'", true),
        (Postgres, "SELECT E'a'\n'\\'; COMMIT'", false),
        (Postgres, "-- a\rCOMMIT", true),
        (Sqlite, "-- a\rCOMMIT", false),
        (MySql, "-- a\rCOMMIT", false),
        (MySql, "--\u{7f}\nCOMMIT", true),
        (Postgres, "SELECT 1 AS 😀$a$; COMMIT; SELECT 1 AS 😀$a$", true),
        (Postgres, r"SELECT e'\\'; COMMIT", true),
        (Postgres, r"SELECT the'\'; COMMIT --'", true),
        (Postgres, r#"SELECT E"\"; COMMIT --""#, true),
        (Sqlite, r"SELECT '\'; COMMIT --'", true),
        // Names.
        (MySql, "SELECT `;`; COMMIT", true),
        (MySql, "SELECT `; COMMIT`", false),
        (Sqlite, "SELECT `; COMMIT`", false),
        (Sqlite, "SELECT [; COMMIT]", false),
        (Sqlite, "SELECT ['];COMMIT;SELECT [']", true),
        (Postgres, "SELECT a[1]; COMMIT", true),
        (Postgres, "SELECT '{1}'::int[]; COMMIT", true),
        // Dollars.
        (Postgres, "SELECT $$; COMMIT$$", false),
        (Postgres, "SELECT $x$; COMMIT $$ $x$", false),
        (Postgres, "SELECT $x$ $x$; COMMIT", true),
        (Postgres, "SELECT $1; COMMIT; SELECT $1", true),
        (Postgres, "SELECT a$x$; COMMIT; SELECT b$x$", true),
        (Postgres, "SELECT $x; COMMIT; SELECT $", true),
        (Postgres, "SELECT $", false),
        (Postgres, "SELECT $ä$;COMMIT$ä$", false),
        (MySql, "SELECT $$; COMMIT; SELECT $$", true),
        (Sqlite, "SELECT $$; COMMIT; SELECT $$", true),
        // Comments.
        (Postgres, "/* /* */ COMMIT */ SELECT 1", false),
        (Postgres, "/* /* */ */ COMMIT", true),
        (MySql, "/* /* */ COMMIT", true),
        (Sqlite, "/* /* */ COMMIT", true),
        (MySql, "# x\nCOMMIT", true),
        (MySql, "#COMMIT", false),
        (MySql, "SELECT 1--COMMIT;\n", false),
        (MySql, "SELECT 5--1; COMMIT", true),
        (MySql, "--COMMIT", false),
        (MySql, "--\tx\nCOMMIT", true),
        (Postgres, "--COMMIT\nCOMMIT", true),
        // Executable ones.
        (MySql, "/*!COMMIT*/", true),
        (MySql, " /* x */ /*M!COMMIT*/", true),
        (MySql, "SELECT /*! 1 */", false),
        (MySql, "SELECT /*!99999 ' */ ; COMMIT /*!99999 ' */", true),
        (MySql, "SELECT '/*!'; SELECT 1", false),
        (Postgres, "/*! x */ SELECT 1", false),
        (Sqlite, "/*! x */ SELECT 1", false),
        (MySql, "(SELECT 1)", true),
        (Postgres, "(SELECT 1)", false),
    ] {
        assert_eq!(refuse(backend, sql).is_err(), refused, "{backend:?}: {sql}");
    }
}

#[test]
fn what_only_mysql_commits() {
    for sql in [
        "CREATE TABLE t (a int)",
        "DROP TABLE t",
        "TRUNCATE t",
        "ALTER TABLE t ADD a int",
        "ANALYZE t",
        "LOCK TABLE t",
        "SET autocommit = 1",
    ] {
        assert!(refuse(MySql, sql).is_err(), "{sql}");
        // A SET outlives the transaction on PostgreSQL.
        assert!(refuse(Postgres, sql).is_ok() || sql.starts_with("SET"), "{sql}");
        assert!(refuse(Sqlite, sql).is_ok(), "{sql}");
    }
    for sql in [
        "CREATE TEMPORARY TABLE t (a int)",
        "drop /* x */ temporary # y\n table t",
        "SET @a = 1",
        "SET NAMES utf8mb4",
        "LOAD DATA INFILE 'x' INTO TABLE t",
        "PREPARE p FROM 'SELECT 1'",
        "CALL p()",
        "DO 1",
    ] {
        assert!(refuse(MySql, sql).is_ok(), "{sql}");
    }
}

#[test]
fn the_refusal_names_the_word_and_what_to_do() {
    let text = refuse(Postgres, "SELECT 1; rollback").unwrap_err();
    assert!(
        text.contains("`rollback`") && text.contains("refused before it was sent") && text.contains("TransactionTrait::begin"),
        "{text}"
    );
}

/// Anything at all: no panic, no endless loop.
#[test]
fn any_text() {
    let pieces =
        ["'", "\"", "`", "$", "$$", "$a$", "/*", "*/", "/*!", "--", "#", "\\", ";", "[", "]", "\n", "E'", "a", "ä", " ", "(", "COMMIT"];
    for backend in [Postgres, MySql, Sqlite] {
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    for d in pieces {
                        let _ = refuse(backend, &[a, b, c, d].concat());
                    }
                }
            }
        }
    }
}
