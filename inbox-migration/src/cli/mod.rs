//! The `inbox` command line: `up`, `down`, `status`, `verify`; and `sql`, `grants` for those who do it by hand.
//!
//! ```text
//! inbox up                 creates the inbox table; any number of processes may run it at once
//! inbox up --adopt         and records a complete table that an interrupted `up` left without a record
//! inbox down [--force]     drops it; refuses while there are markers, unless forced
//! inbox status             looks, writes nothing, needs no DDL rights
//! inbox verify             proves that the table deduplicates (in a transaction that is rolled back)
//!
//! inbox sql --backend postgres|mysql|sqlite|mssql [--down]
//!                          prints the DDL that `up` runs, with the record that lets `status` and `up` find it applied
//! inbox grants --backend … --role … [--for application|operator]
//!                          prints the least rights of that role, each with what needs it
//! ```
//!
//! `sql` and `grants` ask no database and look at no URL: `inbox sql --backend postgres | psql -v ON_ERROR_STOP=1 shop`. SeaORM 2.0
//! has no driver for SQL Server, so `mssql` is a text that nothing here has run.
//!
//! For the others the database comes from `--database-url`, else `--database-url-file` (not both), else the environment's `DATABASE_URL`,
//! else that of a `.env` file here or above. Others on the machine can read a command's arguments: prefer the file or the
//! environment. The URL, its user and its password are never printed.
//!
//! It has no `fresh`, `refresh` or `reset`: those of SeaORM's migrator drop what is not ours.
//!
//! # Exit codes
//!
//! See [`Exit`].

mod args;
mod database_url;
mod exit;
mod failure;
mod output;
mod print;
mod schema;
mod scrub;
mod source;

use std::ffi::OsString;
use std::io::{stderr, stdout};

use clap::Parser as _;
use sea_orm::{ConnectOptions, Database};

pub use exit::Exit;
pub use output::Output;

use args::{Args, Command, Task};
use database_url::DatabaseUrl;
use failure::{CONNECT_TIMEOUT, Failure};
use scrub::Scrub;

/// Runs the command line of this process.
pub async fn main() -> Exit {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    run(arguments, &mut Output::new(Box::new(stdout()), Box::new(stderr()))).await
}

/// Runs one command line, the program's name first, and writes to `output`.
///
/// The environment (`DATABASE_URL`, a `.env` file) is this process's.
pub async fn run(arguments: Vec<OsString>, output: &mut Output) -> Exit {
    output.scrub(Scrub::of_arguments(&arguments));
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(said) if said.use_stderr() => {
            output.error(&said.to_string());
            return Exit::Usage;
        }
        // --help and --version.
        Err(said) => {
            output.line(&said.to_string());
            return Exit::Done;
        }
    };
    let done = match &args.task {
        Task::Sql(sql) => output.text(&print::sql(sql)),
        Task::Grants(grants) => print::grants(grants).and_then(|text| output.text(&text)),
        Task::Database(command) => on_database(&args, command, output).await,
    };
    match done {
        Ok(()) => Exit::Done,
        Err(failure) => {
            output.error(&format!("inbox: {}", failure.message));
            failure.exit
        }
    }
}

async fn on_database(args: &Args, command: &Command, output: &mut Output) -> Result<(), Failure> {
    let url = DatabaseUrl::parse(&source::database_url(args)?)?;
    output.scrub(url.scrub());
    output::log_to_stderr(args.verbose, url.scrub());
    let mut options = ConnectOptions::new(url.expose());
    // Two, not one: whatever `verify` may do beside its transaction. SQLite keeps SeaORM's default.
    if !url.is_sqlite() {
        options.max_connections(2);
    }
    options.acquire_timeout(CONNECT_TIMEOUT).sqlx_logging(false);
    let db = Database::connect(options).await.map_err(|error| Failure::connect(&error, &url))?;
    let result = schema::command(command, &db, &url, output).await;
    // The answer is out; a server that does not say goodbye changes nothing.
    let _ = db.close().await;
    result
}
