//! Our migrations and the application's: side by side with two histories, and embedded in one (case 100).

use inbox_migration::{Error, Migrator, Rows, Status, down, status, up};
use inbox_tests::{Backend, TestDb, backends};
use sea_orm::{DbErr, TransactionTrait as _};
use sea_orm_migration::prelude::*;

use super::catalogue::{self, insert_marker};
use super::up_down::NAME;

/// An application's migration.
pub(crate) struct CreateCustomers;

impl MigrationName for CreateCustomers {
    fn name(&self) -> &'static str {
        "m20260101_000001_create_customers"
    }
}

#[allow(elided_lifetimes_in_paths)]
#[async_trait::async_trait]
impl MigrationTrait for CreateCustomers {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.create_table(Table::create().table("customers").col(ColumnDef::new("id").integer().primary_key()).take()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("customers").take()).await
    }
}

/// An application's migrator.
pub(crate) struct Application;

impl MigratorTrait for Application {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(CreateCustomers)]
    }
}

/// One with ours in it, before and after its own.
struct Embedded;

struct CreateOrders;

impl MigrationName for CreateOrders {
    fn name(&self) -> &'static str {
        "m20270101_000001_create_orders"
    }
}

#[allow(elided_lifetimes_in_paths)]
#[async_trait::async_trait]
impl MigrationTrait for CreateOrders {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.create_table(Table::create().table("orders").col(ColumnDef::new("id").integer().primary_key()).take()).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.drop_table(Table::drop().table("orders").take()).await
    }
}

impl MigratorTrait for Embedded {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut all: Vec<Box<dyn MigrationTrait>> = vec![Box::new(CreateCustomers)];
        all.extend(inbox_migration::migrations());
        all.push(Box::new(CreateOrders));
        all
    }
}

/// What an application's `status` says, by name.
async fn applied<M: MigratorTrait>(pool: &sea_orm::DatabaseConnection) -> Vec<String> {
    M::get_applied_migrations(pool).await.unwrap().iter().map(|migration| migration.name().to_owned()).collect()
}

backends! {
    /// Theirs first, or ours first; then everybody's status, again, and down.
    async fn side_by_side(db: TestDb) {
        for ours_first in [true, false] {
            let pool = db.pool(2).await;
            if ours_first {
                Migrator::up(&pool, None).await.unwrap();
            }
            Application::up(&pool, None).await.unwrap();
            Migrator::up(&pool, None).await.unwrap();
            // Both again.
            Application::up(&pool, None).await.unwrap();
            up(&pool).await.unwrap();

            Application::status(&pool).await.unwrap();
            Migrator::status(&pool).await.unwrap();
            assert_eq!(applied::<Application>(&pool).await, ["m20260101_000001_create_customers"]);
            assert_eq!(applied::<Migrator>(&pool).await, [NAME]);
            assert!(Migrator::get_pending_migrations(&pool).await.unwrap().is_empty());
            assert_eq!(Migrator::get_migration_with_status(&pool).await.unwrap().len(), 1);
            assert_eq!(catalogue::history(&db, "seaql_migrations").await, ["m20260101_000001_create_customers"]);
            assert_eq!(catalogue::history(&db, "inbox_migrations").await, [NAME]);
            assert_eq!(catalogue::tables(&db).await, ["customers", "inbox_message", "inbox_migrations", "seaql_migrations"]);
            inbox_core::verify(&pool).await.unwrap();

            Migrator::down(&pool, None).await.unwrap();
            assert_eq!(catalogue::tables(&db).await, ["customers", "inbox_migrations", "seaql_migrations"]);
            Application::status(&pool).await.unwrap();
            Application::down(&pool, None).await.unwrap();
            assert_eq!(status(&pool).await.unwrap(), Status::Pending);
        }
    }

    /// One history, the application's.
    async fn embedded(db: TestDb) {
        let pool = db.pool(2).await;
        for _ in 0..2 {
            Embedded::up(&pool, None).await.unwrap();
            Embedded::up(&pool, None).await.unwrap();
            assert_eq!(applied::<Embedded>(&pool).await.len(), 3);
            assert_eq!(catalogue::history(&db, "seaql_migrations").await[1], NAME);
            assert_eq!(catalogue::tables(&db).await, ["customers", "inbox_message", "orders", "seaql_migrations"]);
            inbox_core::verify(&pool).await.unwrap();
            Embedded::refresh(&pool).await.unwrap();
            inbox_core::verify(&pool).await.unwrap();
            Embedded::down(&pool, None).await.unwrap();
            assert_eq!(catalogue::tables(&db).await, ["seaql_migrations"]);
        }
    }

    /// Embedded makes the same table as ours does.
    async fn embedded_and_ours_make_one_table(db: TestDb) {
        let pool = db.pool(2).await;
        Embedded::up(&pool, None).await.unwrap();
        let embedded = catalogue::ddl(&db, "inbox_message").await;
        Embedded::down(&pool, None).await.unwrap();
        up(&pool).await.unwrap();
        assert_eq!(catalogue::ddl(&db, "inbox_message").await, embedded);
    }

    /// Both on one database is a mistake, and each says so, whoever was first.
    async fn embedded_and_ours_refuse_each_other(db: TestDb) {
        let pool = db.pool(2).await;
        Embedded::up(&pool, None).await.unwrap();
        match up(&pool).await {
            Err(Error::HalfApplied(half)) => assert!(half.remedy().contains("the application's own migrator"), "{half}"),
            other => panic!("{other:?}"),
        }
        Embedded::down(&pool, None).await.unwrap();

        up(&pool).await.unwrap();
        insert_marker(&db, 1, "credit").await.unwrap();
        let error = Embedded::up(&pool, None).await.unwrap_err().to_string();
        assert!(error.contains("inbox_message exists already") || error.contains("exists already"), "{error}");
        assert!(error.contains("inbox_migrations"), "{error}");
        assert_eq!(db.count("inbox_message").await, 1);
    }

    /// An application that upgrades calls the migration in the middle of its own, without SeaORM's runner around it.
    async fn called_by_hand(db: TestDb) {
        let pool = db.pool(2).await;
        let manager = SchemaManager::new(&pool);
        for migration in inbox_migration::migrations() {
            migration.up(&manager).await.unwrap();
        }
        inbox_core::verify(&pool).await.unwrap();
        for migration in inbox_migration::migrations().iter().rev() {
            migration.down(&manager).await.unwrap();
        }
        assert_eq!(catalogue::tables(&db).await, [""; 0]);
    }

    /// Whoever calls it: the table is never there without its index. (On MySQL it is one statement.)
    [postgres, sqlite]
    async fn called_by_hand_it_is_all_or_nothing(db: TestDb) {
        let pool = db.pool(2).await;
        db.exec("CREATE TABLE other (claimed_until INTEGER)").await;
        for index in [inbox_core::entity::UNIQUE_INDEX, inbox_core::entity::OPEN_INDEX] {
            // Taken already: the second or the third of the statements fails.
            db.exec(&format!("CREATE INDEX \"{index}\" ON other (claimed_until)")).await;
            inbox_migration::migrations()[0].up(&SchemaManager::new(&pool)).await.unwrap_err();
            // As SeaORM's runner of an application calls it.
            Embedded::up(&pool, None).await.unwrap_err();
            assert!(!catalogue::tables(&db).await.contains(&"inbox_message".to_owned()));
            db.exec(&format!("DROP INDEX \"{index}\"")).await;
        }
        Embedded::up(&pool, None).await.unwrap();
        inbox_core::verify(&pool).await.unwrap();
    }

    /// SeaORM's `up(n)` and `down(n)`.
    async fn steps(db: TestDb) {
        let pool = db.pool(2).await;
        Migrator::up(&pool, Some(0)).await.unwrap();
        assert_eq!(status(&pool).await.unwrap(), Status::Pending);
        Migrator::up(&pool, Some(1)).await.unwrap();
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);
        Migrator::down(&pool, Some(0)).await.unwrap();
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);
        insert_marker(&db, 1, "credit").await.unwrap();
        let error = Migrator::down(&pool, Some(1)).await.unwrap_err().to_string();
        assert!(error.contains("1 marker"), "{error}");
        db.exec("DELETE FROM inbox_message").await;
        Migrator::down(&pool, Some(5)).await.unwrap();
        assert_eq!(status(&pool).await.unwrap(), Status::Pending);
    }

    /// In a caller's transaction: theirs to keep or to undo, where the database can do that with DDL.
    async fn in_the_callers_transaction(db: TestDb) {
        let pool = db.pool(2).await;
        let transaction = pool.begin().await.unwrap();
        let done = Migrator::up(&transaction, None).await;
        if db.backend() == Backend::MySql {
            let error = done.unwrap_err().to_string();
            assert!(error.contains("commits a transaction"), "{error}");
            transaction.rollback().await.unwrap();
            assert_eq!(catalogue::tables(&db).await, [""; 0]);
            return;
        }
        done.unwrap();
        transaction.rollback().await.unwrap();
        assert_eq!(catalogue::tables(&db).await, [""; 0]);

        let transaction = pool.begin().await.unwrap();
        Migrator::up(&transaction, None).await.unwrap();
        transaction.commit().await.unwrap();
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);

        Migrator::down(pool.begin().await.unwrap(), None).await.unwrap();
        assert_eq!(status(&pool).await.unwrap(), Status::Pending, "an owned transaction is committed");
        down(&pool, Rows::Keep).await.unwrap();
    }

    /// What only looks creates no history table.
    async fn looking_creates_nothing(db: TestDb) {
        let pool = db.pool(1).await;
        Migrator::install(&pool).await.unwrap();
        Migrator::status(&pool).await.unwrap();
        assert_eq!(Migrator::get_pending_migrations(&pool).await.unwrap().len(), 1);
        assert!(Migrator::get_applied_migrations(&pool).await.unwrap().is_empty());
        assert!(Migrator::get_migration_models(&pool).await.unwrap().is_empty());
        assert_eq!(Migrator::get_pending_migrations_read_only(&pool).await.unwrap().len(), 1);
        assert_eq!(catalogue::tables(&db).await, [""; 0]);
    }
}
