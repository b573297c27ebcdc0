//! What `#[idempotent]` costs beside the same statements by hand, in what cannot flicker: statements, bytes on the wire,
//! spawned tasks, allocations. How long it takes is the bench's question (`tests/benches`).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "overhead/memory.rs"]
mod memory;
#[path = "overhead/network.rs"]
mod network;
#[path = "overhead/tasks.rs"]
mod tasks;
#[path = "round_trips/wire.rs"]
mod wire;

use inbox_core::{MessageId, Outcome};
use inbox_tests::ways::{Credit, Way};
use sea_orm::DatabaseConnection;
use uuid::Uuid;

/// Our way, and the same by hand.
const BOTH: [Way; 2] = [Way::Annotated, Way::HandWritten];

fn message() -> Credit {
    Credit { id: MessageId::from(Uuid::new_v4()), account: 1 }
}

/// A first delivery.
async fn deliver(way: Way, pool: &DatabaseConnection) {
    let answer = way.deliver(pool, &message()).await;
    assert!(matches!(answer, Ok(Outcome::Processed(()))), "{way:?}: {answer:?}");
}

/// So that nothing below is done for the first time.
async fn warm(pool: &DatabaseConnection) {
    for way in BOTH {
        for _ in 0..3 {
            deliver(way, pool).await;
        }
    }
}
