//! Databases and pools.

use inbox_tests::{Backend, TestDb, backends, db::Journal};
use sea_orm::ConnectionTrait as _;

backends! {
    async fn each_test_has_an_empty_database(db: TestDb) {
        db.exec("CREATE TABLE biz (k varchar(20) NOT NULL)").await;
        let (one, two) = (db.pool(2).await, db.pool(1).await);
        one.execute_unprepared("INSERT INTO biz VALUES ('a')").await.unwrap();
        two.execute_unprepared("INSERT INTO biz VALUES ('b')").await.unwrap();
        assert_eq!(db.count("biz").await, 2);
        assert_eq!(db.count("biz WHERE k = 'a'").await, 1);
        assert_eq!(db.scalar_text("SELECT k FROM biz WHERE k = 'b'").await.as_deref(), Some("b"));
    }

    async fn a_body_may_return_a_result(db: TestDb) -> anyhow::Result<()> {
        anyhow::ensure!(db.try_exec("no such statement").await.is_err());
        Ok(())
    }

    #[should_panic(expected = "the body's own panic")]
    async fn a_panic_reaches_the_test(db: TestDb) {
        assert_eq!(db.scalar_i64("SELECT 1").await, 1);
        panic!("the body's own panic");
    }

    [postgres, sqlite]
    async fn a_list_chooses_backends(db: TestDb) {
        assert_ne!(db.backend(), Backend::MySql, "not in the list");
    }

    [postgres, mysql]
    async fn a_database_is_dropped_on_success_only(db: TestDb) {
        let names = match db.backend() {
            Backend::Postgres => "pg_database WHERE datname",
            _ => "information_schema.schemata WHERE schema_name",
        };
        let dropped = TestDb::new(db.backend()).await;
        let open = dropped.pool(1).await;
        // An open transaction does not hold it up.
        open.execute_unprepared("CREATE TABLE t (a int)").await.unwrap();
        open.execute_unprepared("BEGIN").await.unwrap();
        open.execute_unprepared("INSERT INTO t VALUES (1)").await.unwrap();
        let name = dropped.name().to_owned();
        let question = format!("{names} = '{name}'");
        assert_eq!(db.count(&question).await, 1);
        drop(dropped);
        assert_eq!(db.count(&question).await, 0);

        let failed = TestDb::new(db.backend()).await;
        let question = format!("{names} = '{}'", failed.name());
        let backend = db.backend();
        let joined = tokio::spawn(async move {
            let _failed = failed;
            panic!("on purpose, on {backend}");
        });
        assert!(joined.await.unwrap_err().is_panic());
        assert_eq!(db.count(&question).await, 1);
    }
}

#[tokio::test]
async fn sqlite_keeps_the_journal_that_was_asked_for() {
    // "File format read version" in the header of the file; a fresh connection's PRAGMA does not know it yet.
    for (journal, version) in [(Journal::Wal, 2), (Journal::Delete, 1)] {
        let db = TestDb::with_journal(Backend::Sqlite, journal).await;
        db.exec("CREATE TABLE biz (k varchar(20) NOT NULL)").await;
        let path = db.url().strip_prefix("sqlite://").and_then(|url| url.split('?').next());
        let path = std::path::PathBuf::from(path.unwrap());
        db.pool(1).await.close().await.unwrap();
        db.try_exec("PRAGMA wal_checkpoint(TRUNCATE)").await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap()[18], version, "{journal:?}");
        drop(db);
        assert!(!path.exists());
    }
}

backends! {
    async fn the_inbox_table_is_there_when_asked_for(db: TestDb) {
        db.migrated().await;
        assert_eq!(db.count("inbox_message").await, 0);
    }
}
