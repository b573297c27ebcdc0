//! What is right, and what is not ours to forbid.

use inbox_core::{Consumer, Error, InboxKey, MessageId, Outcome, process, verify};
use inbox_tests::{TestDb, backends};
use sea_orm::{ConnectionTrait as _, DbErr};

use crate::fixture::{accepts, drop_idx, idx, refusal, start_afresh};

async fn deduplicates(db: &TestDb) {
    let pool = db.pool(2).await;
    let key = InboxKey::new(Consumer::from_static("credit"), MessageId::from_text("orders", "1").unwrap());
    for expected in [Outcome::Processed(()), Outcome::Duplicate] {
        assert_eq!(process(&pool, key.clone(), async |_| Ok::<_, DbErr>(())).await.unwrap(), expected);
    }
}

backends! {
    async fn the_migrated_table(db: TestDb) {
        start_afresh(&db).await;
        accepts(&db).await;
        deduplicates(&db).await;
        // With rows in it, too.
        accepts(&db).await;
    }

    /// One connection is enough, and it is as good as new afterwards.
    async fn a_pool_of_one(db: TestDb) {
        start_afresh(&db).await;
        let pool = db.pool(1).await;
        for _ in 0..3 {
            verify(&pool).await.unwrap();
        }
        pool.execute_unprepared("CREATE TABLE afterwards (a integer)").await.unwrap();
        assert_eq!(db.count("afterwards").await, 0);
        assert_eq!(db.count("inbox_message").await, 0);
    }

    /// Columns, and plain indexes, and an index with the surrogate key in it harm nobody.
    async fn what_others_add(db: TestDb) {
        start_afresh(&db).await;
        db.exec("ALTER TABLE inbox_message ADD COLUMN note varchar(20) DEFAULT 'x'").await;
        db.exec("CREATE INDEX plain ON inbox_message (received_at)").await;
        db.exec("CREATE UNIQUE INDEX harmless ON inbox_message (received_at, id)").await;
        accepts(&db).await;
        deduplicates(&db).await;
    }

    /// A longer name or a plain text takes what we write.
    [postgres, mysql]
    async fn wider_columns(db: TestDb) {
        start_afresh(&db).await;
        for sql in db.backend().pick(
            ["ALTER TABLE inbox_message ALTER COLUMN consumer TYPE text", "ALTER TABLE inbox_message ALTER COLUMN last_error TYPE text"],
            [
                "ALTER TABLE inbox_message MODIFY consumer varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
                "ALTER TABLE inbox_message MODIFY last_error longtext NULL",
            ],
            [""; 2],
        ) {
            db.exec(sql).await;
        }
        accepts(&db).await;
        deduplicates(&db).await;
    }

    /// A constraint of that name is the same index, and INCLUDE adds no key.
    [postgres]
    async fn other_ways_to_the_same_index(db: TestDb) {
        start_afresh(&db).await;
        db.exec(&drop_idx(&db)).await;
        db.exec(&format!("ALTER TABLE inbox_message ADD CONSTRAINT {} UNIQUE (message_id, consumer)", idx(&db))).await;
        accepts(&db).await;
        deduplicates(&db).await;

        start_afresh(&db).await;
        db.exec(&drop_idx(&db)).await;
        db.exec(&format!("CREATE UNIQUE INDEX {} ON inbox_message (message_id, consumer) INCLUDE (processed_at)", idx(&db))).await;
        accepts(&db).await;
        deduplicates(&db).await;
    }

    /// A partition's index has a name of its own, which the catalogue knows; a delivery looks the marker up then.
    [postgres]
    async fn a_partitioned_table(db: TestDb) {
        start_afresh(&db).await;
        for sql in [
            "CREATE TABLE parted (LIKE inbox_message INCLUDING IDENTITY) PARTITION BY HASH (message_id)",
            "DROP TABLE inbox_message",
            "ALTER TABLE parted RENAME TO inbox_message",
            "CREATE TABLE part0 PARTITION OF inbox_message FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
            "CREATE TABLE part1 PARTITION OF inbox_message FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        ] {
            db.exec(sql).await;
        }
        refusal(&db, &["has no index"]).await;
        db.exec(&format!("CREATE UNIQUE INDEX {} ON inbox_message (message_id, consumer)", idx(&db))).await;
        accepts(&db).await;
        deduplicates(&db).await;
    }

    /// The table is looked for where the deliveries will write.
    [postgres]
    async fn the_schema_that_is_searched(db: TestDb) {
        start_afresh(&db).await;
        db.exec("CREATE SCHEMA apart").await;
        let apart = db.pool_with(|options| _ = options.set_schema_search_path("apart")).await;
        let error = verify(&apart).await.unwrap_err();
        assert!(matches!(error, Error::Schema(_)), "{error}");
        let says = "there is no table `inbox_message` in the schemas that this connection searches, {apart}";
        assert!(error.to_string().contains(says), "{error}");

        inbox_migration::up(&apart).await.unwrap();
        verify(&apart).await.unwrap();
        // The right one in `public` does not hide that this one is wrong, nor the other way round.
        db.exec(&format!("DROP INDEX apart.{}", idx(&db))).await;
        assert!(verify(&apart).await.unwrap_err().to_string().contains("has no index"));
        accepts(&db).await;
        assert_eq!(db.count("apart.inbox_message").await, 0);
    }

    /// MySQL without strict mode cuts and invents values instead of refusing them.
    [mysql]
    async fn without_strict_mode(db: TestDb) {
        start_afresh(&db).await;
        let pool = lenient(&db).await;
        verify(&pool).await.unwrap();
        db.exec("ALTER TABLE inbox_message MODIFY consumer varchar(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL").await;
        let error = verify(&pool).await.unwrap_err();
        assert!(error.to_string().contains("`inbox_message.consumer` is `varchar(12)`"), "{error}");
    }
}

async fn lenient(db: &TestDb) -> sea_orm::DatabaseConnection {
    let pool = db.pool(1).await;
    pool.execute_unprepared("SET SESSION sql_mode = ''").await.unwrap();
    pool
}
