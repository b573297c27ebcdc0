//! The harness itself: what the conformance tests rely on has to be true.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "harness/crashes.rs"]
mod crashes;
#[path = "harness/databases.rs"]
mod databases;
#[path = "harness/fixtures.rs"]
mod fixtures;
#[path = "harness/languages.rs"]
mod languages;
#[path = "harness/private.rs"]
mod private;
#[path = "harness/wire.rs"]
mod wire;
