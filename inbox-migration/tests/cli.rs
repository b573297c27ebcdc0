//! The `inbox` command line, as a process, on every backend.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "cli/commands.rs"]
mod commands;
#[path = "cli/concurrent.rs"]
mod concurrent;
#[path = "cli/failures.rs"]
mod failures;
#[path = "cli/grants.rs"]
mod grants;
#[path = "cli/injected.rs"]
mod injected;
#[path = "cli/printed.rs"]
mod printed;
#[path = "cli/process.rs"]
mod process;
#[path = "cli/rights.rs"]
mod rights;
#[path = "cli/role.rs"]
mod role;
#[path = "cli/secrets.rs"]
mod secrets;
#[path = "cli/source.rs"]
mod source;
#[path = "cli/sql.rs"]
mod sql;
