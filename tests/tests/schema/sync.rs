//! SeaORM's schema sync finds nothing to do on the migrated table (case 102): it would drop a unique index that the entity does
//! not declare, and it reports `Ok` when it does.

use inbox_core::entity::{Entity, TABLE, UNIQUE_INDEX};
use inbox_tests::{TestDb, backends};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, Schema};

use super::catalogue;

async fn sync(pool: &DatabaseConnection) -> Result<(), DbErr> {
    Schema::new(pool.get_database_backend()).builder().register(Entity).sync(pool).await
}

/// One connection on which every DDL statement is an error.
async fn read_only(db: &TestDb) -> DatabaseConnection {
    let pool = db.pool(1).await;
    let sql = db.backend().pick(
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SET SESSION TRANSACTION READ ONLY",
        "PRAGMA query_only = ON",
    );
    pool.execute_unprepared(sql).await.unwrap();
    pool
}

backends! {
    /// Twice, because the second run of case 102 was the one that dropped it.
    async fn changes_nothing(db: TestDb) {
        let pool = db.pool(2).await;
        inbox_migration::up(&pool).await.unwrap();
        let before = catalogue::ddl(&db, TABLE).await;
        assert!(before.contains(UNIQUE_INDEX), "{before}");
        for _ in 0..2 {
            sync(&pool).await.unwrap();
            assert_eq!(catalogue::ddl(&db, TABLE).await, before);
        }
        inbox_core::verify(&pool).await.unwrap();
    }

    /// Not even a statement that would change nothing: where none is allowed, sync passes.
    async fn executes_no_ddl(db: TestDb) {
        inbox_migration::up(&db.pool(1).await).await.unwrap();
        let read_only = read_only(&db).await;
        sync(&read_only).await.unwrap();
        sync(&read_only).await.unwrap();

        // The control: this connection does refuse what sync would do.
        db.exec(&db.backend().pick(
            format!("DROP INDEX \"{UNIQUE_INDEX}\""),
            format!("DROP INDEX `{UNIQUE_INDEX}` ON {TABLE}"),
            format!("DROP INDEX \"{UNIQUE_INDEX}\""),
        )).await;
        let error = sync(&read_only).await.unwrap_err().to_string();
        assert!(error.to_lowercase().contains("read"), "{error}");
    }

    /// The other order: sync first, then our migration, is not taken for ours.
    async fn a_synced_table_is_not_taken_for_a_migrated_one(db: TestDb) {
        let pool = db.pool(1).await;
        sync(&pool).await.unwrap();
        let before = catalogue::ddl(&db, TABLE).await;
        let error = inbox_migration::up(&pool).await.unwrap_err().to_string();
        assert!(error.contains("half applied") && error.contains("idx-inbox_message-open"), "{error}");
        assert_eq!(catalogue::ddl(&db, TABLE).await, before);
    }
}
