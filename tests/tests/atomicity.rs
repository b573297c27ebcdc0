//! All or nothing: the marker is there if and only if the effect is, whatever happens to the delivery.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "atomicity/begin.rs"]
mod begin;
#[path = "atomicity/cancelled.rs"]
mod cancelled;
#[path = "atomicity/connection.rs"]
mod connection;
mod delivery;
#[path = "atomicity/fails.rs"]
mod fails;
