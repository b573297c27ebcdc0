//! The process is killed with SIGKILL, at every step of a delivery: the marker is there if and only if the effect is.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

mod delivery;
#[path = "crash/process.rs"]
mod process;
#[path = "crash/servers.rs"]
mod servers;
#[path = "crash/sqlite.rs"]
mod sqlite;
