//! Servers and sessions that are set up in other ways.

use inbox_migration::{Status, status, up};
use inbox_tests::{TestDb, backends};
use sea_orm::ConnectionTrait as _;

use super::catalogue::{self, insert_marker};

backends! {
    /// Case 45: the key fits the 767 bytes of the old row format. The setting is the server's, so it is put back.
    [mysql]
    async fn compact_rows(db: TestDb) {
        let normal = db.scalar_text("SELECT @@GLOBAL.innodb_default_row_format").await.unwrap();
        db.exec("SET GLOBAL innodb_default_row_format = 'compact'").await;
        let done = up(&db.pool(1).await).await;
        db.exec(&format!("SET GLOBAL innodb_default_row_format = '{normal}'")).await;
        done.unwrap();
        let format = "SELECT CAST(ROW_FORMAT AS CHAR) FROM information_schema.TABLES \
                      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'inbox_message'";
        assert_eq!(db.scalar_text(format).await.unwrap(), "Compact", "the test tests what it says");
        let pool = db.pool(1).await;
        inbox_core::verify(&pool).await.unwrap();
        let odd = "SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
                   AND TABLE_NAME = 'inbox_message' AND (INDEX_TYPE <> 'BTREE' OR SUB_PART IS NOT NULL)";
        assert_eq!(db.scalar_i64(odd).await, 0);
        // The widest row.
        db.exec(
            "INSERT INTO inbox_message (message_id, consumer, received_at, attempts, payload, last_error) \
             VALUES (UNHEX(REPEAT('ff', 16)), REPEAT('c', 200), UTC_TIMESTAMP(6), 0, REPEAT('🦀', 30000), REPEAT('🦀', 2000))",
        )
        .await;
    }

    /// A session without strict mode, in which MySQL cuts and invents values: the table is the same and still tells keys apart.
    [mysql]
    async fn without_strict_mode(db: TestDb) {
        let strict = TestDb::new(db.backend()).await;
        up(&strict.pool(1).await).await.unwrap();
        let pool = db
            .pool_with(|options| {
                options.max_connections(1).map_sqlx_mysql_opts(|mysql| mysql.pipes_as_concat(false).no_engine_substitution(false));
            })
            .await;
        pool.execute_unprepared("SET SESSION sql_mode = ''").await.unwrap();
        up(&pool).await.unwrap();
        assert_eq!(catalogue::ddl(&db, "inbox_message").await, catalogue::ddl(&strict, "inbox_message").await);
        inbox_core::verify(&pool).await.unwrap();
        insert_marker(&db, 1, "credit").await.unwrap();
        insert_marker(&db, 1, "Credit").await.unwrap();
        let key = "SELECT message_id FROM inbox_message LIMIT 1";
        let sql = format!(
            "INSERT INTO inbox_message (message_id, consumer, received_at, attempts) SELECT ({key}), 'credit', UTC_TIMESTAMP(6), 0"
        );
        let error = pool.execute_unprepared(&sql).await.unwrap_err().to_string();
        assert!(error.contains("1062"), "{error}");
    }

    /// A server whose default engine, character set and collation would break the table.
    [mysql]
    async fn other_defaults(db: TestDb) {
        db.exec(&format!("ALTER DATABASE `{}` CHARACTER SET latin1 COLLATE latin1_swedish_ci", db.name())).await;
        let pool = db.pool(1).await;
        pool.execute_unprepared("SET SESSION default_storage_engine = 'MyISAM', character_set_server = 'latin1'").await.unwrap();
        up(&pool).await.unwrap();
        let ddl = catalogue::ddl(&db, "inbox_message").await;
        assert!(ddl.contains("ENGINE=InnoDB") && ddl.contains("utf8mb4_bin") && ddl.contains("ascii_bin"), "{ddl}");
        inbox_core::verify(&pool).await.unwrap();
    }

    /// Autocommit off, as some hosts set it for every session.
    [mysql]
    async fn without_autocommit(db: TestDb) {
        let pool = db.pool(1).await;
        pool.execute_unprepared("SET SESSION autocommit = 0").await.unwrap();
        up(&pool).await.unwrap();
        // Read by another connection: the record is committed.
        assert_eq!(status(&db.pool(1).await).await.unwrap(), Status::Applied);
    }

    /// A URL without a database is no lock that somebody holds.
    [mysql]
    async fn no_database_chosen(db: TestDb) {
        let nowhere = db.pool(1).await;
        db.exec(&format!("DROP DATABASE `{}`", db.name())).await;
        let error = up(&nowhere).await.unwrap_err();
        db.exec(&format!("CREATE DATABASE `{}`", db.name())).await;
        assert!(matches!(error, inbox_migration::Error::Database { .. }), "{error:?}");
        assert!(error.to_string().contains("database"), "{error}");
    }

    /// The first schema of the `search_path` gets the table, and each schema its own, as with SeaORM's migrator; while it has none,
    /// one further back must not be in the path (`elsewhere.rs`).
    [postgres]
    async fn schemas(db: TestDb) {
        up(&db.pool(1).await).await.unwrap();
        db.exec("CREATE SCHEMA tenant").await;
        let url = format!("{}{}options=-c%20search_path%3Dtenant", db.url(), if db.url().contains('?') { '&' } else { '?' });
        let alone = sea_orm::Database::connect(&url).await.unwrap();
        assert_eq!(status(&alone).await.unwrap(), Status::Pending);
        assert_eq!(up(&alone).await.unwrap().len(), 1);
        let tenant = sea_orm::Database::connect(&format!("{url},public")).await.unwrap();
        assert_eq!(status(&tenant).await.unwrap(), Status::Applied);
        inbox_core::verify(&tenant).await.unwrap();
        insert_marker(&db, 1, "credit").await.unwrap();
        assert_eq!(db.count("tenant.inbox_message").await, 0);
        inbox_migration::down(&tenant, inbox_migration::Rows::Keep).await.unwrap();
        assert_eq!(db.count("public.inbox_message").await, 1);
        tenant.close().await.unwrap();
    }

    /// No schema to create in is an error of the database's, not a panic and not a success.
    [postgres]
    async fn a_schema_that_does_not_exist(db: TestDb) {
        let url = format!("{}{}options=-c%20search_path%3Dnowhere", db.url(), if db.url().contains('?') { '&' } else { '?' });
        let nowhere = sea_orm::Database::connect(&url).await.unwrap();
        let error = up(&nowhere).await.unwrap_err().to_string();
        assert!(error.contains("schema"), "{error}");
        nowhere.close().await.unwrap();
    }

    /// A file in SQLite's default journal mode, where a writer waits for readers.
    [sqlite]
    async fn delete_journal(db: TestDb) {
        drop(db);
        let db = TestDb::with_journal(inbox_tests::Backend::Sqlite, inbox_tests::db::Journal::Delete).await;
        let pools = [db.pool(1).await, db.pool(1).await, db.pool(1).await];
        let done = futures_util::future::join_all(pools.iter().map(up)).await;
        let applied: usize = done.into_iter().map(|names| names.unwrap().len()).sum();
        assert_eq!(applied, 1);
        inbox_core::verify(&pools[0]).await.unwrap();
    }

    /// A database in memory lives on its one connection.
    [sqlite]
    async fn in_memory(_db: TestDb) {
        let memory = sea_orm::Database::connect("sqlite::memory:").await.unwrap();
        up(&memory).await.unwrap();
        inbox_core::verify(&memory).await.unwrap();
    }
}
