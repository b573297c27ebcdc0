//! The guard: whatever a body does to its transaction and keeps to itself, no `Ok` is acknowledged for something that was
//! not stored, nothing stays of a delivery that failed, the pooled connection is as good as before, and the redelivery runs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "guard/at_commit.rs"]
mod at_commit;
#[path = "guard/at_once.rs"]
mod at_once;
#[path = "guard/callers.rs"]
mod callers;
#[path = "guard/cancelled.rs"]
mod cancelled;
#[path = "guard/conflicts.rs"]
mod conflicts;
#[path = "guard/deliveries.rs"]
mod deliveries;
#[path = "guard/disguised.rs"]
mod disguised;
#[path = "guard/handles.rs"]
mod handles;
#[path = "guard/hidden.rs"]
mod hidden;
#[path = "guard/killed.rs"]
mod killed;
#[path = "guard/memory.rs"]
mod memory;
#[path = "guard/nested.rs"]
mod nested;
#[path = "guard/outlives.rs"]
mod outlives;
#[path = "guard/refused.rs"]
mod refused;
#[path = "guard/sqlite.rs"]
mod sqlite;
#[path = "guard/streams.rs"]
mod streams;
#[path = "guard/support.rs"]
mod support;
#[path = "guard/thrown_away.rs"]
mod thrown_away;
#[path = "guard/types.rs"]
mod types;
