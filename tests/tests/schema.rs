//! The table, its indexes and its migrations, as the databases see them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "schema/catalogue.rs"]
mod catalogue;
#[path = "schema/elsewhere.rs"]
mod elsewhere;
#[path = "schema/entity.rs"]
mod entity;
#[path = "schema/half_applied.rs"]
mod half_applied;
#[path = "schema/indexes.rs"]
mod indexes;
#[path = "schema/lock.rs"]
mod lock;
#[path = "schema/migrators.rs"]
mod migrators;
#[path = "schema/refusals.rs"]
mod refusals;
#[path = "schema/settings.rs"]
mod settings;
#[path = "schema/snapshot.rs"]
mod snapshot;
#[path = "schema/sync.rs"]
mod sync;
#[path = "schema/up_down.rs"]
mod up_down;
