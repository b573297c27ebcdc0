//! What SeaORM's migrator destroys, ours refuses (case 101). The same through its command line: `inbox-migration/tests/host.rs`.

use inbox_migration::{Migrator, Status, status, up};
use inbox_tests::{TestDb, backends};
use sea_orm_migration::{MigratorTrait, MigratorTraitSelf};

use super::catalogue::{self, insert_marker};

backends! {
    /// Through both traits: `MigratorTrait`, and the one that SeaORM's command line calls.
    async fn nothing_is_destroyed(db: TestDb) {
        let pool = db.pool(2).await;
        db.exec("CREATE TABLE customers (id INTEGER PRIMARY KEY)").await;
        db.exec("INSERT INTO customers VALUES (1), (2)").await;
        up(&pool).await.unwrap();
        insert_marker(&db, 1, "credit").await.unwrap();
        let before = catalogue::ddl(&db, "inbox_message").await;

        for (command, result) in [
            ("fresh", <Migrator as MigratorTrait>::fresh(&pool).await),
            ("refresh", <Migrator as MigratorTrait>::refresh(&pool).await),
            ("reset", <Migrator as MigratorTrait>::reset(&pool).await),
            ("uninstall", <Migrator as MigratorTrait>::uninstall(&pool).await),
            ("fresh", MigratorTraitSelf::fresh(&Migrator, &pool).await),
            ("refresh", MigratorTraitSelf::refresh(&Migrator, &pool).await),
            ("reset", MigratorTraitSelf::reset(&Migrator, &pool).await),
            ("uninstall", MigratorTraitSelf::uninstall(&Migrator, &pool).await),
        ] {
            let error = result.expect_err(command).to_string();
            assert!(error.contains(&format!("refuses `{command}`")), "{error}");
            let loss = match command {
                "fresh" => "customers",
                "uninstall" => "inbox_migrations",
                _ => "every marker",
            };
            assert!(error.contains(loss), "what would be lost: {error}");
            assert!(error.contains("inbox down") && error.contains("inbox up"), "what to run instead: {error}");
        }

        assert_eq!(db.count("customers").await, 2);
        assert_eq!(db.count("inbox_message").await, 1);
        assert_eq!(catalogue::ddl(&db, "inbox_message").await, before);
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);
    }

    /// On an empty database too: nothing is created on the way.
    async fn refused_where_there_is_nothing(db: TestDb) {
        let pool = db.pool(1).await;
        <Migrator as MigratorTrait>::fresh(&pool).await.unwrap_err();
        <Migrator as MigratorTrait>::reset(&pool).await.unwrap_err();
        assert_eq!(catalogue::tables(&db).await, [""; 0]);
    }

    /// A refusal names ten tables and counts the others.
    async fn a_long_list_is_cut(db: TestDb) {
        let pool = db.pool(1).await;
        for table in 10..23 {
            db.exec(&format!("CREATE TABLE t{table} (id INTEGER PRIMARY KEY)")).await;
        }
        let error = <Migrator as MigratorTrait>::fresh(&pool).await.unwrap_err().to_string();
        assert!(error.contains("t10, t11") && error.contains("t19 and 3 more"), "{error}");
    }
}
