//! Credits accounts from [CloudEvents](https://cloudevents.io), once per event, however often and to whomever it is delivered.
//!
//! ```sh
//! cargo run -p credit-service
//! ```
//!
//! This file is the service, from top to bottom: configuration, consume, handle, settle. Two processes of it, the *replicas*,
//! share a database. What plays the broker and adds up in the end is in [`demo`]; a real service has a broker's client there.

mod account;
mod demo;
mod event;
mod wire;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use inbox_core::{Outcome, idempotent, is_transient};
use sea_orm::entity::prelude::*;
use sea_orm::sqlx::sqlite::SqliteJournalMode;
use sea_orm::{ConnectOptions, Database, ExprTrait as _, sea_query::Expr};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};
use tokio::task::JoinSet;

use crate::event::CreditRequested;
use crate::wire::{Delivery, Settled, Verdict};

/// Two replicas of a service get a file of CloudEvents, with repeats and both at once, and credit each event once.
#[derive(Debug, Parser)]
struct Args {
    /// CloudEvents 1.0 in structured JSON, one a line; without it the sample that lies beside the service.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// SQLite, PostgreSQL, MySQL or MariaDB; without it a SQLite file that lives as long as the run.
    #[arg(long, value_name = "URL", env = "CREDIT_SERVICE_DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
    /// Be the replica of this number: deliveries come in at stdin, what became of them goes out at stdout.
    #[arg(long, hide = true, value_name = "N")]
    replica: Option<usize>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let args = Args::parse();
    let done = match (args.replica, args.database_url) {
        (Some(number), Some(url)) => serve(&url).await.with_context(|| format!("replica {number}")),
        (Some(_), None) => Err(anyhow::anyhow!("a replica needs --database-url")),
        (None, url) => demo::run(args.events.as_deref(), url).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to hear of a failure to say so.
            _ = writeln!(std::io::stderr(), "credit-service: {error:#}");
            ExitCode::FAILURE
        }
    }
}

// ---- configuration

/// How many deliveries a replica has in hand at once.
const IN_HAND: u32 = 8;

async fn connect(url: &str) -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(IN_HAND)
        .acquire_timeout(Duration::from_secs(10))
        // SeaORM pings a connection each time it is taken from the pool, which is one more round trip for every delivery. A
        // connection that was in use a moment ago is alive; if it is not, the delivery fails and comes again.
        .test_before_acquire_if_idle_for(Duration::from_secs(30))
        .sqlx_logging(false)
        // SQLite has one writer: the others wait for it, and readers wait for nobody.
        .map_sqlx_sqlite_opts(|sqlite| sqlite.journal_mode(SqliteJournalMode::Wal).busy_timeout(Duration::from_secs(10)));
    Database::connect(options).await
}

async fn serve(url: &str) -> anyhow::Result<()> {
    // Ctrl-C reaches the whole group. The broker hears it, too, and closes stdin when it wants no more.
    tokio::spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    let db = connect(url).await.context("no connection to the database")?;
    inbox_migration::up(&db).await?;
    // Without its unique index every duplicate would be credited, and nobody would see: better not to start.
    inbox_core::verify(&db).await?;
    consume(&db).await?;
    db.close().await?;
    Ok(())
}

// ---- consume

/// Takes deliveries until there are no more, and then finishes those in hand.
async fn consume(db: &DatabaseConnection) -> anyhow::Result<()> {
    let mut deliveries = BufReader::new(stdin()).split(b'\n');
    let mut in_hand = JoinSet::new();
    while let Some(line) = deliveries.next_segment().await? {
        if in_hand.len() >= IN_HAND as usize {
            in_hand.join_next().await.transpose()?.transpose()?;
        }
        let (Delivery { number, event }, db) = (Delivery::parse(&line)?, db.clone());
        in_hand.spawn(async move { answer(&Settled { delivery: number, verdict: handle(&db, &event).await }) });
    }
    while let Some(done) = in_hand.join_next().await {
        done??;
    }
    Ok(())
}

/// Tells the broker, a line for each delivery.
fn answer(settled: &Settled) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(&settled.to_line()?)?;
    Ok(out.flush()?)
}

// ---- handle

async fn handle(db: &DatabaseConnection, event: &[u8]) -> Verdict {
    match CreditRequested::parse(event) {
        Ok(event) => settle(credit(db, &event).await),
        Err(unusable) => Verdict::Rejected { reason: unusable.to_string() },
    }
}

#[derive(Debug, thiserror::Error)]
enum CreditError {
    #[error("account {0} does not exist")]
    NoSuchAccount(i64),
    #[error(transparent)]
    Database(#[from] DbErr),
    #[error(transparent)]
    Inbox(#[from] inbox_core::Error),
}

/// The name under which this service's markers are stored. It never changes, whatever the function is called.
const CONSUMER: &str = "credit-service.credit";

/// Credits an account, once per event.
#[idempotent(consumer = "credit-service.credit")]
async fn credit(db: &DatabaseConnection, event: &CreditRequested) -> Result<Outcome<()>, CreditError> {
    // `db` is the transaction here: the credit and the event's marker are committed together, or neither is.
    let credited = account::Entity::update_many()
        .col_expr(account::Column::Balance, Expr::col(account::Column::Balance).add(event.data.amount))
        .filter(account::Column::Id.eq(event.data.account_id))
        .exec(db)
        .await?;
    if credited.rows_affected == 0 {
        return Err(CreditError::NoSuchAccount(event.data.account_id));
    }
    Ok(Outcome::Processed(()))
}

// ---- settle

/// `Ok` is acknowledged. An `Err` is not: it goes back to the broker, or aside where the same event would fail for ever.
fn settle(result: Result<Outcome<()>, CreditError>) -> Verdict {
    match result {
        Ok(Outcome::Processed(())) => Verdict::Processed,
        Ok(Outcome::Duplicate) => Verdict::Duplicate,
        Err(error @ (CreditError::NoSuchAccount(_) | CreditError::Inbox(inbox_core::Error::Key(_)))) => {
            Verdict::Rejected { reason: error.to_string() }
        }
        // Also where it is not known to be transient: the broker counts deliveries and gives up in the end.
        Err(error) => Verdict::Redeliver { transient: is_transient(&error), reason: error.to_string() },
    }
}
