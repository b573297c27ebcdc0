//! What the guide says about the old table, with the guide's own statements.
#![allow(clippy::unwrap_used, reason = "a failed set-up stops the test")]

mod shop;

use std::sync::Arc;

use inbox_core::{Consumer, Error, InboxKey, MessageId, process};
use inbox_tests::{Backend, TestDb, backends};
use sea_orm::{ConnectionTrait, DatabaseConnection, Statement};
use shop::{deliver, new_replica, old_shop, shipped};

const GUIDE: &str = include_str!("../../../inbox-core/src/docs/backfill.md");

/// The guide's statement in this place: after this line, the so-manieth.
fn statement(after: &str, number: usize) -> &'static str {
    let (_, rest) = GUIDE.split_once(&format!("\n{after}\n")).unwrap_or_else(|| panic!("the guide has no {after:?}"));
    rest.split("```sql\n").nth(number + 1).unwrap().split("```").next().unwrap()
}

fn heading(db: &TestDb) -> &'static str {
    db.backend().pick("### PostgreSQL", "### MySQL and MariaDB", "### SQLite, when the ids are UUIDs")
}

/// The guide's way without SQL.
async fn backfill_in_rust(db: &DatabaseConnection) -> Result<(), Box<dyn std::error::Error>> {
    // No DISTINCT: a collation would take `o-1` and `O-1` for one.
    let old = "SELECT message_id FROM processed_messages";
    for row in db.query_all_raw(Statement::from_string(db.get_database_backend(), old)).await? {
        let id: String = row.try_get("", "message_id")?;
        let key = InboxKey::new(Consumer::from_static("shop.ship"), MessageId::from_text("shop.orders", &id)?);
        let _ = process(db, key, async |_| Ok::<_, Error>(())).await?;
    }
    Ok(())
}

#[test]
fn the_guides_rust_is_the_one_above() {
    let lines = |text: &'static str| text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let (_, rest) = GUIDE.split_once("async fn backfill(").unwrap();
    let (shown, _) = rest.split_once("\n}\n").unwrap();
    let (own, shown) = (lines(include_str!("backfill.rs")), lines(shown));
    assert!(shown.len() > 6 && own.windows(shown.len() - 1).any(|window| window == &shown[1..]), "{shown:?}");
}

async fn create_function(db: &TestDb) {
    db.exec(statement(heading(db), 0)).await;
}

async fn backfill(db: &TestDb) {
    db.exec(statement(heading(db), 1)).await;
}

/// The trigger.
async fn build_the_bridge(db: &TestDb) {
    db.exec(statement(db.backend().pick("PostgreSQL:", "MySQL and MariaDB:", ""), 0)).await;
}

/// The new table, as the operator makes it before the new version comes.
async fn migrate(db: &TestDb) {
    inbox_migration::up(db.observer()).await.unwrap();
}

backends! {
    /// SQL and Rust agree on each id, or the copy would be worth nothing.
    [postgres, mysql]
    async fn sql_computes_our_ids(db: TestDb) {
        create_function(&db).await;
        let odd = ["O-1", "o-1 ", "größe 📦", "'", &"x".repeat(300)].map(String::from);
        // Enough to meet each value of each digit that becomes another one.
        for id in odd.into_iter().chain((0..300).map(|n| format!("o-{n}"))) {
            let domain = if id.len() % 2 == 0 { "größe" } else { "shop.orders" };
            let quoted = id.replace('\'', "''");
            let ours = MessageId::from_text(domain, &id).unwrap().to_string();
            let sql = format!("SELECT {}", db.backend().pick(
                format!("inbox_text_id('{domain}', '{quoted}')::text"),
                format!("LOWER(HEX(inbox_text_id('{domain}', '{quoted}')))"),
                String::new(),
            ));
            assert_eq!(db.scalar_text(&sql).await.unwrap().replace('-', ""), ours.replace('-', ""), "{id}");
        }
    }

    /// With a pause: migrate, backfill, stop, backfill again, start. What the old version has handled stays handled.
    [postgres, mysql]
    async fn what_was_handled_stays_handled(db: TestDb) {
        let old = old_shop(&db, &["o-1", "o-2", "Ö 3"]).await;
        // The race of the past: one id twice. And two that MySQL's collation takes for it, and we do not.
        db.exec("INSERT INTO processed_messages (message_id) VALUES ('o-1'), ('O-1'), ('o-1 ')").await;
        migrate(&db).await;
        create_function(&db).await;
        backfill(&db).await;
        backfill(&db).await;
        assert_eq!(db.count("inbox_message").await, 5);
        assert!(deliver(&old, "o-4").await, "the old version still runs");
        drop(old);
        backfill(&db).await;

        let new = new_replica(&db).await;
        for id in ["o-1", "O-1", "o-1 ", "o-2", "Ö 3", "o-4"] {
            assert!(deliver(&new, id).await, "{id} is acknowledged");
            assert_eq!(shipped(&db).await, 4, "{id} was handled before");
        }
        assert!(deliver(&new, "o-5").await);
        assert_eq!(shipped(&db).await, 5);
    }

    /// The same with the Rust of the guide, which is the only way for text ids on SQLite.
    async fn what_was_handled_stays_handled_in_rust(db: TestDb) {
        let old = old_shop(&db, &["o-1", "Ö 3"]).await;
        db.exec("INSERT INTO processed_messages (message_id) VALUES ('o-1'), ('O-1'), ('o-1 ')").await;
        migrate(&db).await;
        let pool = db.pool(2).await;
        backfill_in_rust(&pool).await.unwrap();
        assert_eq!(db.count("inbox_message").await, 4);
        assert!(deliver(&old, "o-4").await, "the old version still runs");
        drop(old);
        backfill_in_rust(&pool).await.unwrap();

        let new = new_replica(&db).await;
        for id in ["o-1", "O-1", "o-1 ", "Ö 3", "o-4"] {
            assert!(deliver(&new, id).await, "{id} is acknowledged");
            assert_eq!(shipped(&db).await, 3, "{id} was handled before");
        }
        assert!(deliver(&new, "o-5").await);
        assert_eq!(shipped(&db).await, 4);
    }

    /// Without the second backfill the message of between the two is handled twice: the guide's window is real.
    [postgres, mysql]
    async fn without_the_second_backfill(db: TestDb) {
        let old = old_shop(&db, &["o-1"]).await;
        migrate(&db).await;
        create_function(&db).await;
        backfill(&db).await;
        assert!(deliver(&old, "o-2").await);
        let new = new_replica(&db).await;
        assert!(deliver(&new, "o-2").await);
        assert_eq!(shipped(&db).await, 3, "two orders");
    }

    /// While a delivery of the old version is under way, the copy neither waits for it nor holds it up.
    [postgres, mysql]
    async fn it_runs_beside_the_old_version(db: TestDb) {
        use sea_orm::TransactionTrait as _;
        let old = old_shop(&db, &["o-1"]).await;
        migrate(&db).await;
        create_function(&db).await;
        let pool = db.pool(1).await;
        let under_way = pool.begin().await.unwrap();
        under_way.execute_unprepared("INSERT INTO processed_messages (message_id) VALUES ('o-2')").await.unwrap();
        backfill(&db).await;
        assert!(deliver(&old, "o-3").await);
        under_way.commit().await.unwrap();
        assert_eq!(db.count("inbox_message").await, 1);
        backfill(&db).await;
        assert_eq!(db.count("inbox_message").await, 3);
    }

    /// Without a pause: the old version and the new one get each order at once, in either order, and it is shipped once.
    [postgres, mysql]
    async fn the_bridge_lets_both_versions_run(db: TestDb) {
        let old = old_shop(&db, &["o-1"]).await;
        migrate(&db).await;
        create_function(&db).await;
        build_the_bridge(&db).await;
        backfill(&db).await;
        let new = new_replica(&db).await;
        assert!(deliver(&new, "o-1").await && shipped(&db).await == 1, "from before the bridge");

        assert!(deliver(&old, "old first").await);
        assert!(deliver(&new, "old first").await, "a duplicate is acknowledged");
        assert_eq!(shipped(&db).await, 2);
        assert!(deliver(&new, "new first").await);
        assert!(!deliver(&old, "new first").await, "the old version fails");
        assert_eq!(shipped(&db).await, 3, "and stores nothing");

        let together = Arc::new(tokio::sync::Barrier::new(2));
        for round in 1..=30 {
            let [by_old, by_new] = [&old, &new].map(|replica| {
                let (replica, together) = (replica.clone(), together.clone());
                tokio::spawn(async move {
                    together.wait().await;
                    deliver(&replica, &format!("both {round}")).await
                })
            });
            let (by_old, by_new) = (by_old.await.unwrap(), by_new.await.unwrap());
            assert!(by_old || by_new, "one of the two took it");
            assert!(deliver(&new, &format!("both {round}")).await);
            assert_eq!(shipped(&db).await, 3 + round);
        }

        let end = db.backend().pick("And in the end, PostgreSQL:", "And in the end, PostgreSQL:", "");
        db.exec(statement(end, db.backend().pick(0, 1, 0))).await;
        db.exec("INSERT INTO processed_messages (message_id) VALUES ('o-1')").await;
    }

    /// UUIDs are copied as they are, on every backend, from a text column and from SeaORM's own.
    async fn uuids_are_copied(db: TestDb) {
        db.migrated().await;
        let uuid = "0191e7ad-7f0c-7c51-9e3a-4c1f6f2a9b10";
        let table = GUIDE.lines().find(|line| line.starts_with("| a UUID as text")).unwrap();
        let own = GUIDE.lines().find(|line| line.starts_with("| a SeaORM `Uuid`")).unwrap();
        let column = db.backend().pick(2, 3, 4);
        let cell = |row: &'static str| row.split('|').nth(column).unwrap().trim().trim_matches('`');
        let native = db.backend().pick(format!("'{uuid}'"), format!("UNHEX('{}')", uuid.replace('-', "")), format!("x'{}'", uuid.replace('-', "")));
        for (row, of_type, value) in [
            (table, "varchar(36)", format!("'{uuid}'")),
            (own, db.backend().pick("uuid", "binary(16)", "uuid_text"), native),
        ] {
            db.exec(&format!("CREATE TABLE processed_messages (message_id {of_type} NOT NULL)")).await;
            db.exec(&format!("INSERT INTO processed_messages VALUES ({value}), ({value})")).await;
            let sql = statement(heading(&db), usize::from(db.backend() != Backend::Sqlite))
                .replace("inbox_text_id('shop.orders', old.message_id)", cell(row))
                .replace("unhex(replace(old.message_id, '-', ''))", cell(row));
            db.exec(&sql).await;
            db.exec(&sql).await;
            assert_eq!(db.count("inbox_message").await, 1);
            let key = InboxKey::new(Consumer::from_static("shop.ship"), uuid.parse().unwrap());
            assert!(inbox_core::seen(&db.pool(1).await, &key).await.unwrap());
            // The row is like one of ours in everything that a purge and a look read.
            assert_eq!(db.count("inbox_message WHERE processed_at = received_at AND attempts = 0 AND claim_token IS NULL").await, 1);
            db.exec("DROP TABLE processed_messages").await;
            db.exec("DELETE FROM inbox_message").await;
        }
    }
}
