//! What the conformance tests stand on: databases, the business tables, races, faults.
//!
//! Behaviour is written once and runs on every backend: see [`backends!`]. Start everything with `tests/run`; a
//! developer who wants the servers to stay up runs `tests/run --with-servers bash`.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`backends`](mod@backends) | the three backends and the macro that writes one test for each |
//! | [`db`] | a fresh database per test, and pools on it |
//! | [`ledger`] | the business tables, and what they hold now |
//! | [`transactions`] | whether the server still has one open |
//! | [`race`] | tasks on separate pools, released by a barrier |
//! | [`poll`] | cancellation at every await point |
//! | [`proxy`] | what goes over the wire: counted, cut, held |
//! | [`child`] | a process to kill |
//! | [`hooks`] | the same moments inside SQLite |
//! | [`private`] | servers of one test's own, to be killed |
//! | [`ways`] | one delivery by us and by hand, for comparisons |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::print_stderr,
    clippy::doc_markdown,
    reason = "helpers of tests: a set-up that fails stops the test at once and says where"
)]

pub mod backends;
pub mod child;
pub mod db;
pub mod hooks;
pub mod ledger;
pub mod poll;
pub mod private;
pub mod proxy;
pub mod race;
mod server;
pub mod transactions;
pub mod ways;

pub use backends::Backend;
pub use db::TestDb;
pub use ledger::Ledger;
