//! What a delivery costs: every round trip, as it goes over the wire. SQLite has none; its statements are counted.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "round_trips/deliveries.rs"]
mod deliveries;
mod delivery;
#[path = "round_trips/wire.rs"]
mod wire;
