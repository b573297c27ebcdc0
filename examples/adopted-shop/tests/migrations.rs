//! Both ways to the inbox table, while replicas of the old version are stopped and started.
#![allow(elided_lifetimes_in_paths, clippy::unwrap_used, reason = "a failed set-up stops the test")]

mod shop;

use adopted_shop::before;
use inbox_tests::{TestDb, backends};
use sea_orm_migration::{MigrationTrait, MigratorTrait};
use shop::{deliver, new_replica, old_shop};

/// The guide's one history: the application's migrations, and ours behind them.
struct OneHistory;

impl MigratorTrait for OneHistory {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        let mut all = before::migration::Migrator::migrations();
        all.extend(inbox_migration::migrations());
        all
    }
}

backends! {
    /// Beside the application's own migrator, as in the example: neither version minds the other's history.
    async fn beside_it_the_old_version_starts_again(db: TestDb) {
        drop(old_shop(&db, &[]).await);
        drop(new_replica(&db).await);
        let old = before::start(db.pool(2).await).await.unwrap();
        assert!(deliver(&old, "o-1").await);
        assert!(deliver(&new_replica(&db).await, "o-2").await);
    }

    /// In one history SeaORM's migrator refuses, where the old version migrates when it starts.
    async fn in_one_history_it_does_not(db: TestDb) {
        drop(old_shop(&db, &[]).await);
        OneHistory::up(&db.pool(2).await, None).await.unwrap();
        inbox_core::verify(&db.pool(2).await).await.unwrap();
        let refused = before::start(db.pool(2).await).await.unwrap_err().to_string();
        assert!(refused.contains("m20261130_000001_create_inbox_message") && refused.contains("missing"), "{refused}");
    }
}
