//! The commands.

use sea_orm::DatabaseConnection;

use super::args::Command;
use super::database_url::DatabaseUrl;
use super::failure::Failure;
use super::output::Output;
use crate::{HISTORY_TABLE, Rows, Status, run};

pub(super) async fn command(command: &Command, db: &DatabaseConnection, url: &DatabaseUrl, output: &mut Output) -> Result<(), Failure> {
    let failed = |error| Failure::migration(&error, command.name(), url);
    match command {
        Command::Up { adopt, lock } => {
            let applied = if *adopt { run::adopt_waiting(db, lock.wait()).await } else { run::up_waiting(db, None, lock.wait()).await };
            told(output, "applied", "the inbox is there", &applied.map_err(failed)?);
        }
        Command::Down { force, lock } => {
            let rows = if *force { Rows::Lose } else { Rows::Keep };
            let undone = run::down_waiting(db, None, rows, lock.wait()).await;
            told(output, "undone", "there is no inbox here", &undone.map_err(failed)?);
        }
        Command::Status => return status(db, url, output).await,
        Command::Verify => {
            inbox_core::verify(db).await.map_err(|error| Failure::verify(&error, url))?;
            output.line("verified: the inbox table deduplicates");
        }
    }
    Ok(())
}

fn told(output: &mut Output, done: &str, otherwise: &str, names: &[String]) {
    for name in names {
        output.line(&format!("{done} {name}"));
    }
    if names.is_empty() {
        output.line(&format!("nothing to do: {otherwise}"));
    }
}

async fn status(db: &DatabaseConnection, url: &DatabaseUrl, output: &mut Output) -> Result<(), Failure> {
    let status = crate::status(db).await.map_err(|error| Failure::migration(&error, "status", url))?;
    let word = match &status {
        Status::Applied => "applied",
        Status::Pending => "pending",
        Status::HalfApplied(_) => "half applied",
    };
    output.line(&format!("database  {url}"));
    output.line(&format!("history   {HISTORY_TABLE}"));
    for migration in crate::migrations() {
        output.line(&format!("{word:<9} {}", migration.name()));
    }
    match status {
        Status::HalfApplied(half) => Err(Failure::migration(&crate::Error::HalfApplied(half), "status", url)),
        Status::Applied | Status::Pending => Ok(()),
    }
}
