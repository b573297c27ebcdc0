//! The race: replicas that get the same message at the same moment.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "race/callers.rs"]
mod callers;
mod delivery;
#[path = "race/exact.rs"]
mod exact;
#[path = "race/isolation.rs"]
mod isolation;
#[path = "race/naive.rs"]
mod naive;
#[path = "race/sqlite.rs"]
mod sqlite;
