//! Allocations, in code of ours: SQLite's own thread and the servers are not counted.

use allocation_counter::{AllocationInfo, measure};
use inbox_tests::{Backend, Ledger, TestDb, ways::Way};
use sea_orm::DatabaseConnection;
use tokio::runtime::Runtime;

use crate::{deliver, warm};

/// One for each of: the two halves of a delivery that are boxed so that a handler's future stays
/// small; the guard's shared state, its lock and its stack of frames; what can be finished when the caller is dropped, in BEGIN, the
/// marker's INSERT, the body's one statement, the look before COMMIT and COMMIT itself; and the guard's own `ConnectionTrait`,
/// in the marker's INSERT and the body's statement.
const MORE: u64 = 12;

/// The marker that a rollback on MySQL looks for is kept.
const MORE_ON_MYSQL: u64 = 1;

#[test]
fn so_many_allocations_more_than_by_hand() {
    for backend in Backend::ALL {
        // One thread, so that everything that a delivery allocates is counted, whatever thread it might run on otherwise.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (db, pool) = runtime.block_on(async {
            let db = TestDb::new(backend).await;
            Ledger::new(&db).await;
            let pool = db.pool(1).await;
            warm(&pool).await;
            (db, pool)
        });
        let by_hand = fewest(Way::HandWritten, &runtime, &pool);
        let ours = fewest(Way::Annotated, &runtime, &pool);
        let more = backend.pick(MORE, MORE + MORE_ON_MYSQL, MORE);
        assert!(by_hand.count_total > more, "{by_hand:?}");
        assert!(ours.count_total <= by_hand.count_total + more, "{backend}: {ours:?} beside {by_hand:?}");
        runtime.block_on(async { pool.close().await }).unwrap();
        drop(db);
    }
}

/// Of one delivery. What grows now and then (a buffer, a map) is not of every delivery; the fewest of many are.
fn fewest(way: Way, runtime: &Runtime, pool: &DatabaseConnection) -> AllocationInfo {
    let counted = (0..100).map(|_| measure(|| runtime.block_on(deliver(way, pool))));
    counted.min_by_key(|info| (info.count_total, info.bytes_total)).unwrap()
}
