//! The demonstration: a broker that delivers at least once, two replicas, and an auditor.

mod broker;
mod expected;
mod replica;
mod report;

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use inbox_core::entity::{Column, Entity};
use sea_orm::DbBackend;
use sea_orm::entity::prelude::*;

use self::expected::Expected;
use self::report::Audit;
use crate::{CONSUMER, account, connect};

/// The sample, which `cargo run` finds from every folder.
const SAMPLE: &[u8] = include_bytes!("../../events.jsonl");

/// Delivers the events and checks what came of it; an error where the accounts are not what the file says.
pub(crate) async fn run(events: Option<&Path>, url: Option<String>) -> anyhow::Result<()> {
    let (file, name) = match events {
        Some(path) => (std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?, path.display().to_string()),
        None => (SAMPLE.to_vec(), "the sample".to_owned()),
    };
    let lines = lines(&file);
    // Before anything runs, from the file alone.
    let expected = Expected::from(&lines)?;
    say(format_args!("{name}: {} lines, {} different events for {} accounts", lines.len(), expected.events(), expected.accounts().len()));

    // Removed at the end, whatever the end is.
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let url = url.unwrap_or_else(|| format!("sqlite://{}?mode=rwc", folder.path().join("credit.sqlite").display()));
    let db = connect(&url).await.context("no connection to the database")?;
    account::open(&db, expected.accounts().keys().copied()).await.context("the accounts cannot be opened")?;
    say(format_args!("two replicas on {}", name_of(db.get_database_backend())));
    db.close().await?;

    let counts = broker::deliver(&lines, &url).await?;
    let audit = audit(&url).await.context("the accounts cannot be read")?;
    report::print(&counts, &audit, &expected);
    report::judge(&counts, &audit, &expected)
}

/// For whoever reads along. A closed pipe stops no deliveries.
fn say(text: impl Display) {
    _ = writeln!(std::io::stdout(), "{text}");
}

fn name_of(backend: DbBackend) -> &'static str {
    match backend {
        DbBackend::Postgres => "PostgreSQL",
        DbBackend::MySql => "MySQL",
        _ => "SQLite",
    }
}

/// One of the file's lines.
struct Line<'a> {
    /// From 1, as editors count.
    number: usize,
    event: &'a [u8],
}

/// JSON Lines: a line that is not empty is an event.
fn lines(file: &[u8]) -> Vec<Line<'_>> {
    let all = (1..).zip(file.split(|byte| *byte == b'\n'));
    all.filter(|(_, line)| !line.trim_ascii().is_empty()).map(|(number, event)| Line { number, event }).collect()
}

/// What is in the database, read by a connection that had no part in it.
async fn audit(url: &str) -> Result<Audit, DbErr> {
    let db = connect(url).await?;
    let balances = account::balances(&db).await?;
    let credits = Entity::find().filter(Column::Consumer.eq(CONSUMER)).filter(Column::ProcessedAt.is_not_null()).count(&db).await?;
    db.close().await?;
    Ok(Audit { balances, credits })
}
