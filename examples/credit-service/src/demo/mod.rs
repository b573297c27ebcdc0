//! The demonstration: a broker that delivers at least once, two replicas, and an auditor.

mod broker;
mod expected;
mod rabbit;
mod replica;
mod report;
mod service;

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use inbox_core::entity::{Column, Entity};
use sea_orm::DbBackend;
use sea_orm::entity::prelude::*;

use self::expected::Expected;
use self::report::Audit;
pub(crate) use self::service::serve;
use crate::amqp::{self, Broker};
use crate::{Args, CONSUMER, account, connect, naive, tables};

/// The sample, which `cargo run` finds from every folder.
const SAMPLE: &[u8] = include_bytes!("../../events.jsonl");

/// Delivers the events and checks what came of it; an error where the accounts are not what the file says.
pub(crate) async fn run(mut args: Args, rabbit: Option<Broker>) -> anyhow::Result<()> {
    let (file, name) = match &args.events {
        Some(path) => (read(path)?, path.display().to_string()),
        None => (SAMPLE.to_vec(), "the sample".to_owned()),
    };
    let lines = lines(&file);
    // Before anything runs, from the file alone.
    let expected = Expected::from(&lines)?;
    say(format_args!("{name}: {} lines, {} different events for {} accounts", lines.len(), expected.events(), expected.accounts().len()));

    // Removed at the end, whatever the end is.
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let file = || format!("sqlite://{}?mode=rwc", folder.path().join("credit.sqlite").display());
    let url = args.database_url.get_or_insert_with(file).clone();
    let db = connect(&url).await.context("no connection to the database")?;
    tables::prepare_accounts(&db, &args, expected.accounts().keys().copied()).await?;
    let how = if args.naive { ", check then insert" } else { "" };
    say(format_args!("two replicas on {}{how}", name_of(db.get_database_backend())));
    db.close().await?;

    let counts = match &rabbit {
        None => broker::deliver(&lines, &args).await?,
        Some(rabbit) => rabbit::deliver(&lines, &args, rabbit).await?,
    };
    let audit = audit(&url, args.naive).await.context("the accounts cannot be read")?;
    report::print(&counts, Some(&audit), Some(&expected));
    let judged = report::judge(&counts, &audit, &expected);
    if args.naive && judged.is_err() {
        say("\nThis is what \"check, then insert\" does: two replicas had looked for the same event before either had written it.\n\
             The same file without --naive, on a fresh database, comes out right.");
    }
    judged
}

/// Publishes a file and does nothing else.
pub(crate) async fn publish(args: &Args, rabbit: &Broker) -> anyhow::Result<()> {
    let file = read(args.publish.as_deref().context("--publish needs a file")?)?;
    let events: Vec<_> = lines(&file).iter().map(|line| line.event).collect();
    amqp::publish(rabbit, &events).await?;
    say(format_args!("{} events published to {}, each confirmed by the broker", events.len(), rabbit.queue));
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
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
async fn audit(url: &str, naive: bool) -> Result<Audit, DbErr> {
    let db = connect(url).await?;
    let balances = account::balances(&db).await?;
    let credits = if naive {
        naive::Entity::find().count(&db).await?
    } else {
        Entity::find().filter(Column::Consumer.eq(CONSUMER)).filter(Column::ProcessedAt.is_not_null()).count(&db).await?
    };
    db.close().await?;
    Ok(Audit { balances, credits })
}
