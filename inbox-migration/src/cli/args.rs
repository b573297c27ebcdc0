//! What can be written on the command line.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, Subcommand};

use super::exit::EXIT_CODES;
use super::print::{Backend, Kind};

/// clap shows global options everywhere.
const DATABASE: &str = "Database (for up, down, status and verify)";

/// Creates, removes and proves the inbox table of inbox-core, and prints the SQL for those who do it by hand.
#[derive(Debug, Parser)]
#[command(name = "inbox", version, about, after_help = EXIT_CODES)]
pub(super) struct Args {
    #[allow(clippy::doc_markdown, reason = "it is shown as it stands")]
    /// Where the database is [default: DATABASE_URL of the environment, else of a .env file]
    ///
    /// Others on the machine can read arguments: prefer the environment or --database-url-file.
    #[arg(long, global = true, value_name = "URL", help_heading = DATABASE)]
    pub(super) database_url: Option<Secret>,

    /// A file that holds nothing but the URL
    #[arg(long, global = true, value_name = "FILE", help_heading = DATABASE)]
    pub(super) database_url_file: Option<PathBuf>,

    /// Say more, on standard error
    #[arg(short, long, global = true)]
    pub(super) verbose: bool,

    #[command(subcommand)]
    pub(super) task: Task,
}

#[derive(Debug, Subcommand)]
pub(super) enum Task {
    #[command(flatten)]
    Database(Command),
    /// Print the DDL that `up` runs, to be run by hand; asks no database
    Sql(SqlArgs),
    /// Print the least rights that a role needs; asks no database
    Grants(GrantsArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct SqlArgs {
    /// Whose SQL to print
    #[arg(long)]
    pub(super) backend: Backend,
    /// Print what drops the table instead, with every marker in it
    #[arg(long)]
    pub(super) down: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct GrantsArgs {
    /// Whose SQL to print
    #[arg(long)]
    pub(super) backend: Backend,
    /// Who gets the rights; on MySQL and MariaDB user@host, or user for user@% [SQLite needs none]
    #[arg(long)]
    pub(super) role: Option<String>,
    /// What the role does
    #[arg(long = "for", value_name = "KIND", default_value = "application")]
    pub(super) kind: Kind,
    /// The database; needed for MySQL and MariaDB, for PostgreSQL it adds CONNECT
    #[arg(long)]
    pub(super) database: Option<String>,
    /// The schema of the tables [default: public, on SQL Server dbo]
    #[arg(long)]
    pub(super) schema: Option<String>,
}

/// What is done on a database.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create the inbox table, or find it there; safe to run from many processes at once
    Up {
        /// Record a table that is complete and only lacks its record, after an interrupted `up` or a restore
        #[arg(long)]
        adopt: bool,
        #[command(flatten)]
        lock: Lock,
    },
    /// Drop the inbox table, and nothing else; refuses while it holds markers
    Down {
        /// Drop the markers too: redelivered messages are processed again
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        lock: Lock,
    },
    /// Say how far the schema is; writes nothing and needs no DDL rights
    Status,
    /// Prove that the table deduplicates, in a transaction that is rolled back
    Verify,
}

#[derive(Debug, clap::Args)]
pub(super) struct Lock {
    /// How long to wait for another process that migrates
    #[arg(long, value_name = "SECONDS", default_value_t = crate::lock::WAIT.as_secs())]
    wait: u64,
}

impl Lock {
    pub(super) fn wait(&self) -> Duration {
        Duration::from_secs(self.wait)
    }
}

impl Command {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Up { .. } => "up",
            Self::Down { .. } => "down",
            Self::Status => "status",
            Self::Verify => "verify",
        }
    }
}

/// A text that `Debug` does not show.
#[derive(Clone)]
pub(super) struct Secret(pub(super) String);

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn clap_agrees() {
        Args::command().debug_assert();
    }

    #[test]
    fn debug_shows_no_password() {
        let args = Args::try_parse_from(["inbox", "up", "--database-url", "mysql://u:hunter2@h/d"]);
        let shown = format!("{args:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(args.unwrap().database_url.unwrap().0, "mysql://u:hunter2@h/d");
    }

    #[test]
    fn seaorms_destructive_commands_do_not_exist() {
        for command in ["fresh", "refresh", "reset", "uninstall", "init", "generate"] {
            assert!(Args::try_parse_from(["inbox", command]).is_err(), "{command}");
        }
    }
}
