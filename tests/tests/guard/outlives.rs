//! What a body would leave on its pooled connection for deliveries that know nothing of it: another inbox in front of ours, other
//! settings, a connection that waits for ever.

use std::time::Duration;

use inbox_core::{Outcome, process};
use inbox_tests::{Ledger, TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, DbErr};

use super::support::{Bench, key};

/// Texts that are refused, on each backend.
const POSTGRES: [&str; 12] = [
    "SET search_path TO other, public",
    "set /* x */ session search_path to other",
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION DEFAULT",
    "SET default_transaction_read_only = on",
    "RESET ALL",
    "DEALLOCATE ALL",
    "DISCARD PLANS",
    "COPY acct FROM STDIN",
    "CREATE TEMP TABLE inbox_message (LIKE public.inbox_message INCLUDING ALL)",
    "SELECT 1; SET search_path TO other",
    "ALTER TABLE inbox_message DISABLE TRIGGER ALL",
];
const MYSQL: [&str; 3] =
    ["USE mysql", "CREATE TEMPORARY TABLE inbox_message LIKE inbox_message", "create temporary table `Inbox_Message` (a int)"];
const SQLITE: [&str; 4] = [
    "CREATE TEMP TABLE inbox_message (id integer)",
    "PRAGMA query_only = 1",
    "PRAGMA main.locking_mode = EXCLUSIVE",
    "CREATE TRIGGER t BEFORE INSERT ON inbox_message BEGIN SELECT RAISE(IGNORE); END",
];

/// What ends with the transaction, or harms nobody.
const POSTGRES_FINE: [&str; 4] = [
    "SET LOCAL search_path TO public",
    "SET LOCAL lock_timeout = '1s'",
    "SET CONSTRAINTS ALL IMMEDIATE",
    "CREATE TEMP TABLE scratch (a int) ON COMMIT DROP",
];
const MYSQL_FINE: [&str; 2] = ["SET @a = 1", "CREATE TEMPORARY TABLE scratch (a int)"];
const SQLITE_FINE: [&str; 2] = ["PRAGMA defer_foreign_keys = 1", "CREATE TEMP TABLE scratch (a int)"];

backends! {
    async fn refused_before_it_is_sent(db: TestDb) {
        let bench = Bench::new(&db).await;
        for text in db.backend().pick(&POSTGRES[..], &MYSQL, &SQLITE) {
            let outcome = bench
                .deliver::<()>(async |tx| {
                    ledger::credit(tx, 1, 1).await?;
                    tx.execute_unprepared(text).await?;
                    Ok(())
                })
                .await;
            let refused = outcome.expect_err(text).to_string();
            assert!(refused.contains("refused before it was sent"), "{text}: {refused}");
            bench.nothing_stored().await;
        }
        bench.unharmed().await;
    }

    async fn what_ends_with_the_transaction_is_not(db: TestDb) {
        let bench = Bench::new(&db).await;
        let fine = db.backend().pick(&POSTGRES_FINE[..], &MYSQL_FINE, &SQLITE_FINE);
        let outcome = bench
            .deliver(async |tx| {
                for text in fine {
                    tx.execute_unprepared(text).await?;
                }
                Ok(())
            })
            .await;
        assert!(matches!(outcome, Ok(Outcome::Processed(()))), "{outcome:?}");
        bench.serves().await;
    }

    /// Seen without the rule: the second delivery of the message found an empty inbox on this connection, and ran again.
    async fn no_other_inbox_comes_in_front(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let (one, other) = (db.pool(1).await, db.pool(1).await);
        let twin = format!("{}_t", db.name());
        let (make, enter) = db.backend().pick(
            (
                "CREATE SCHEMA other; CREATE TABLE other.inbox_message (LIKE public.inbox_message INCLUDING ALL)".to_owned(),
                "SET search_path TO other, public".to_owned(),
            ),
            (format!("CREATE DATABASE `{twin}`"), format!("USE `{twin}`")),
            ("SELECT 1".to_owned(), "CREATE TEMP TABLE inbox_message AS SELECT * FROM main.inbox_message".to_owned()),
        );
        db.exec(&make).await;
        let left = process(&one, key("first"), async |tx| {
            // It keeps the refusal to itself.
            let _ = tx.execute_unprepared(&enter).await;
            Ok::<_, DbErr>(())
        })
        .await;
        assert!(left.is_ok(), "{left:?}");
        let mut processed = 0;
        for pool in [&one, &other, &one] {
            let outcome = process(pool, key("m"), async |tx| ledger::credit(tx, 1, 100).await).await.unwrap();
            processed += i64::from(!outcome.is_duplicate());
        }
        assert_eq!((processed, ledger.balance(1).await), (1, 100));
        if db.backend() == inbox_tests::Backend::MySql {
            db.exec(&format!("DROP DATABASE `{twin}`")).await;
        }
    }

    /// Sent, it would wait for data that nobody sends, and its rollback with it.
    [postgres]
    async fn a_copy_does_not_hang(db: TestDb) {
        let bench = Bench::new(&db).await;
        let delivered = bench.deliver(async |tx| {
            let refused = tx.execute_unprepared("copy biz (k, v) from stdin").await.unwrap_err();
            assert!(refused.to_string().contains("insert the rows"), "{refused}");
            Ok(ledger::credit(tx, 1, 1).await?)
        });
        let outcome = tokio::time::timeout(Duration::from_secs(20), delivered).await.expect("it hangs");
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(bench.ledger.balance(1).await, 1);
    }
}
