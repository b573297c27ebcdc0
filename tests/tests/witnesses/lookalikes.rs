//! Tables and indexes that look like ours.

use inbox_core::{Error, process};
use inbox_tests::{Backend, TestDb, backends, ledger};
use sea_orm::ConnectionTrait as _;

use super::business::failed;
use super::support::{Bench, Delivered, Failed, key};

/// The delivery's own error about the marker, which is final.
fn marker(outcome: Delivered<()>) -> Error {
    match outcome {
        Err(Failed::Inbox(error @ Error::Marker(_))) => {
            assert!(!error.is_transient(), "{error}");
            error
        }
        other => panic!("{other:?}"),
    }
}

/// Creates the table with a unique index of this name.
async fn create(db: &TestDb, table: &str, columns: &str, index: &str) {
    let quote = db.backend().pick('"', '`', '"');
    db.exec(&format!("CREATE TABLE {table} (message_id varchar(40) NOT NULL, consumer varchar(40) NOT NULL, region varchar(40) NOT NULL)"))
        .await;
    db.exec(&format!("CREATE UNIQUE INDEX {quote}{index}{quote} ON {table} ({columns})")).await;
}

backends! {
    async fn broken_by_the_body(db: TestDb) {
        let bench = Bench::new(&db).await;
        let mut tables = vec!["x_inbox_message", "inbox_message_x", "wider"];
        create(&db, "x_inbox_message", "message_id, consumer", "x_idx-inbox_message-message_consumer").await;
        create(&db, "inbox_message_x", "message_id, consumer", "idx-inbox_message-message_consumer_x").await;
        create(&db, "wider", "message_id, consumer, region", "idx-wider").await;
        match db.backend() {
            // The very same names, in another schema.
            Backend::Postgres => {
                db.exec("CREATE SCHEMA other").await;
                db.exec("CREATE TABLE other.inbox_message (LIKE x_inbox_message)").await;
                db.exec("CREATE UNIQUE INDEX \"idx-inbox_message-message_consumer\" ON other.inbox_message (message_id, consumer)").await;
                tables.push("other.inbox_message");
            }
            // In the database itself an index's name is the table's own matter.
            Backend::MySql => {
                create(&db, "same_index", "message_id, consumer", "idx-inbox_message-message_consumer").await;
                tables.push("same_index");
            }
            // In another file.
            Backend::Sqlite => {
                bench.pool.execute_unprepared("ATTACH DATABASE ':memory:' AS other").await.unwrap();
                bench.pool.execute_unprepared("CREATE TABLE other.inbox_message (message_id, consumer, region, UNIQUE (message_id, consumer))").await.unwrap();
                tables.push("other.inbox_message");
            }
        }
        for table in tables {
            let outcome = bench
                .deliver(async |tx| {
                    ledger::credit(tx, 1, 1).await?;
                    for _ in 0..2 {
                        tx.execute_unprepared(&format!("INSERT INTO {table} (message_id, consumer, region) VALUES ('m', 'c', 'r')")).await?;
                    }
                    Ok(())
                })
                .await;
            failed(outcome);
            bench.nothing_stored().await;
        }
        bench.unharmed().await;
    }

    /// A second unique index on the inbox table itself, which the marker's INSERT breaks first or alone.
    async fn another_index_of_the_inbox(db: TestDb) {
        let bench = Bench::new(&db).await;
        assert!(!process(&bench.pool, key("first"), async |_| Ok::<_, Failed>(())).await.unwrap().is_duplicate());
        let quote = db.backend().pick('"', '`', '"');
        for name in ["one_message_per_consumer", "x-idx-inbox_message-message_consumer", "idx-inbox_message-message_consumer-x"] {
            db.exec(&format!("CREATE UNIQUE INDEX {quote}{name}{quote} ON inbox_message (consumer)")).await;
            marker(bench.deliver(async |tx| Ok(ledger::credit(tx, 1, 1).await?)).await);
            bench.nothing_stored().await;
            let drop = db.backend().pick(format!("DROP INDEX \"{name}\""), format!("DROP INDEX `{name}` ON inbox_message"), format!("DROP INDEX \"{name}\""));
            db.exec(&drop).await;
        }
        bench.unharmed().await;
    }

    /// A trigger on the inbox table breaks another table's key inside the marker's own statement.
    async fn broken_by_a_trigger(db: TestDb) {
        let bench = Bench::new(&db).await;
        create(&db, "x_inbox_message", "message_id, consumer", "x-message_consumer").await;
        db.exec("INSERT INTO x_inbox_message VALUES ('m', 'c', 'r')").await;
        let insert = "INSERT INTO x_inbox_message VALUES ('m', 'c', 'r')";
        match db.backend() {
            Backend::Postgres => {
                db.exec(&format!("CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {insert}; RETURN NEW; END $$")).await;
                db.exec("CREATE TRIGGER t AFTER INSERT ON inbox_message FOR EACH ROW EXECUTE FUNCTION t()").await;
            }
            Backend::MySql => db.exec(&format!("CREATE TRIGGER t AFTER INSERT ON inbox_message FOR EACH ROW {insert}")).await,
            Backend::Sqlite => db.exec(&format!("CREATE TRIGGER t AFTER INSERT ON inbox_message BEGIN {insert}; END")).await,
        }
        marker(bench.deliver(async |tx| Ok(ledger::credit(tx, 1, 1).await?)).await);
        db.exec(db.backend().pick("DROP TRIGGER t ON inbox_message", "DROP TRIGGER t", "DROP TRIGGER t")).await;
        bench.unharmed().await;
    }

    /// The words and the name are right, and the row is not there: the table has the last word, and nothing is acknowledged.
    [postgres, mysql]
    async fn a_trigger_that_imitates_a_duplicate(db: TestDb) {
        let bench = Bench::new(&db).await;
        if db.backend() == Backend::Postgres {
            db.exec(
                "CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE unique_violation \
                 USING CONSTRAINT = 'idx-inbox_message-message_consumer', TABLE = 'inbox_message'; END $$",
            )
            .await;
            db.exec("CREATE TRIGGER t BEFORE INSERT ON inbox_message FOR EACH ROW EXECUTE FUNCTION t()").await;
        } else {
            db.exec(
                "CREATE TRIGGER t BEFORE INSERT ON inbox_message FOR EACH ROW SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, \
                 MESSAGE_TEXT = 'Duplicate entry ''x'' for key ''idx-inbox_message-message_consumer'''",
            )
            .await;
        }
        match bench.deliver(async |tx| Ok(ledger::credit(tx, 1, 1).await?)).await {
            Err(Failed::Inbox(error)) => assert!(error.is_transient(), "{error}"),
            other => panic!("{other:?}"),
        }
        db.exec(db.backend().pick("DROP TRIGGER t ON inbox_message", "DROP TRIGGER t", "")).await;
        bench.unharmed().await;
    }
}
