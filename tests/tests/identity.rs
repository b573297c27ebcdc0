//! Identity: what is one message, what are two, and what is none; alike on every backend.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "identity/brokers.rs"]
mod brokers;
#[path = "identity/consumers.rs"]
mod consumers;
mod delivery;
#[path = "identity/ids.rs"]
mod ids;
#[path = "identity/missing.rs"]
mod missing;
#[path = "identity/tenants.rs"]
mod tenants;
