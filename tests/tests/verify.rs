//! `verify`: it accepts what the migration creates and refuses everything that would let a duplicate through, or a message be
//! lost, with a text that names what is wrong and mends it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "verify/accepted.rs"]
mod accepted;
#[path = "verify/behaviour.rs"]
mod behaviour;
#[path = "verify/columns.rs"]
mod columns;
#[path = "verify/fixture.rs"]
mod fixture;
#[path = "verify/index.rs"]
mod index;
#[path = "verify/rebuilt.rs"]
mod rebuilt;
#[path = "verify/replicas.rs"]
mod replicas;
#[path = "verify/rights.rs"]
mod rights;
#[path = "verify/sync.rs"]
mod sync;
#[path = "verify/table.rs"]
mod table;
#[path = "verify/take_back.rs"]
mod take_back;
