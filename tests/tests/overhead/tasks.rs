//! Spawned tasks: as many as by hand. A task that BEGIN hops to costs more than everything else of ours.

use inbox_tests::{Ledger, TestDb, backends, ways::Way};
use sea_orm::DatabaseConnection;

use crate::{deliver, warm};

backends! {
    async fn no_task_more_than_by_hand(db: TestDb) {
        let _ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        warm(&pool).await;
        let by_hand = fewest(Way::HandWritten, &pool).await;
        assert_eq!(fewest(Way::Annotated, &pool).await, by_hand);
    }
}

/// How many tasks one delivery starts. Other tests of this process start some meanwhile; the fewest of many are its own.
async fn fewest(way: Way, pool: &DatabaseConnection) -> u64 {
    let mut fewest = u64::MAX;
    for _ in 0..200 {
        let before = next_task().await;
        deliver(way, pool).await;
        fewest = fewest.min(next_task().await - before - 1);
    }
    fewest
}

/// tokio counts its tasks, one after the other.
async fn next_task() -> u64 {
    let task = tokio::spawn(async {});
    let id = task.id().to_string();
    task.await.unwrap();
    id.parse().unwrap()
}
