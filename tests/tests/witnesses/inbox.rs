//! The inbox table's own troubles: keys that collide after a restore, and an index whose name the error does not show.

use inbox_core::{Error, process};
use inbox_tests::{TestDb, backends, ledger};

use super::support::{Bench, Delivered, Failed, key};

fn is_marker_error(outcome: &Delivered<()>) {
    assert!(matches!(outcome, Err(Failed::Inbox(Error::Marker(_)))), "{outcome:?}");
}

backends! {
    /// After a restore PostgreSQL's sequence may lag behind the rows; the others can be at their end.
    async fn the_primary_key_collides(db: TestDb) {
        let bench = Bench::new(&db).await;
        assert!(!process(&bench.pool, key("restored"), async |_| Ok::<_, Failed>(())).await.unwrap().is_duplicate());
        db.exec(db.backend().pick(
            "SELECT setval(pg_get_serial_sequence('inbox_message', 'id'), 1, false)",
            "UPDATE inbox_message SET id = 9223372036854775807",
            "UPDATE inbox_message SET id = 9223372036854775807",
        ))
        .await;
        is_marker_error(&bench.deliver(async |tx| Ok(ledger::credit(tx, 1, 1).await?)).await);
        bench.nothing_stored().await;
        // The restored message is a duplicate all the same where its own index is looked at, and is never taken for new.
        db.exec(db.backend().pick("SELECT setval(pg_get_serial_sequence('inbox_message', 'id'), 1, false)", "SELECT 1", "SELECT 1")).await;
        match process(&bench.pool, key("restored"), async |tx| Ok::<_, Failed>(ledger::credit(tx, 1, 1).await?)).await {
            Ok(outcome) => assert!(outcome.is_duplicate()),
            other => is_marker_error(&other),
        }
        bench.nothing_stored().await;

        db.exec(db.backend().pick("SELECT setval(pg_get_serial_sequence('inbox_message', 'id'), 100)", "DELETE FROM inbox_message", "DELETE FROM inbox_message")).await;
        db.exec(db.backend().pick("SELECT 1", "ALTER TABLE inbox_message AUTO_INCREMENT = 1", "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'inbox_message'")).await;
        bench.unharmed().await;
    }

    /// A partition's index has a name of its own, and PostgreSQL's error names that one.
    [postgres]
    async fn a_partitioned_inbox(db: TestDb) {
        let bench = Bench::new(&db).await;
        for sql in [
            "ALTER TABLE inbox_message RENAME TO plain",
            "ALTER INDEX \"idx-inbox_message-message_consumer\" RENAME TO plain_key",
            "CREATE TABLE inbox_message (LIKE plain INCLUDING DEFAULTS INCLUDING IDENTITY) PARTITION BY LIST (consumer)",
            "CREATE UNIQUE INDEX \"idx-inbox_message-message_consumer\" ON inbox_message (message_id, consumer)",
            "CREATE TABLE inbox_guard PARTITION OF inbox_message FOR VALUES IN ('guard')",
            "CREATE TABLE inbox_others PARTITION OF inbox_message DEFAULT",
        ] {
            db.exec(sql).await;
        }
        bench.unharmed().await;
    }

    /// Renamed by hand, the index is PostgreSQL's witness no more, and the table is.
    [postgres]
    async fn an_index_with_another_name(db: TestDb) {
        let bench = Bench::new(&db).await;
        db.exec("ALTER INDEX \"idx-inbox_message-message_consumer\" RENAME TO renamed").await;
        bench.unharmed().await;
    }
}
