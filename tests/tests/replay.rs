//! Whole transactions, repeated where the database asked for it, and never where nobody knows how the last one ended.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "replay/commit.rs"]
mod commit;
#[path = "replay/deadlock.rs"]
mod deadlock;
mod delivery;
#[path = "replay/limits.rs"]
mod limits;
#[path = "replay/serialization.rs"]
mod serialization;
