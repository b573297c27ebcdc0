//! `inbox sql` and `inbox grants`: texts for a DBA. No database is asked, and no URL looked at.

mod grants;
mod names;
mod script;
mod sql;

use std::fmt;

use clap::ValueEnum;
use sea_orm::DbBackend;

use super::args::{GrantsArgs, SqlArgs};
use super::exit::Exit;
use super::failure::Failure;

/// For whom the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    /// PostgreSQL
    #[value(alias = "postgresql")]
    Postgres,
    /// MySQL and MariaDB
    #[value(alias = "mariadb")]
    Mysql,
    /// SQLite
    Sqlite,
    /// SQL Server: text only, SeaORM 2.0 has no driver for it
    #[value(alias = "sqlserver")]
    Mssql,
}

impl Backend {
    /// `None` where SeaORM has none.
    fn driver(self) -> Option<DbBackend> {
        match self {
            Self::Postgres => Some(DbBackend::Postgres),
            Self::Mysql => Some(DbBackend::MySql),
            Self::Sqlite => Some(DbBackend::Sqlite),
            Self::Mssql => None,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MySQL and MariaDB",
            Self::Sqlite => "SQLite",
            Self::Mssql => "SQL Server",
        })
    }
}

/// Who gets the rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// A service: delivers messages, and calls `up` and `verify` when it starts
    Application,
    /// Who migrates, purges and frees parked messages
    Operator,
}

pub(super) fn sql(args: &SqlArgs) -> String {
    let script = if args.down { sql::down(args.backend) } else { sql::up(args.backend) };
    script.text().to_owned()
}

pub(super) fn grants(args: &GrantsArgs) -> Result<String, Failure> {
    let script = grants::script(args).map_err(|message| Failure { exit: Exit::Usage, message })?;
    Ok(script.text().to_owned())
}
