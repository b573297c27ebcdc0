//! Credits accounts from [CloudEvents](https://cloudevents.io), once per event, however often and to whomever it is delivered.
//!
//! ```sh
//! cargo run -p credit-service
//! cargo run -p credit-service -- --amqp amqp://localhost --database-url postgres://localhost/shop
//! ```
//!
//! This file is the service, from top to bottom: configuration, handle, settle. Deliveries come from RabbitMQ ([`amqp`]), or,
//! without one, through a pipe ([`pipe`]) from a parent that plays the broker, starts two replicas, and adds up in the end
//! ([`demo`]). `--naive` does what many write first ([`naive`]), to be seen failing.

mod account;
mod amqp;
mod demo;
mod event;
mod naive;
mod pause;
mod pipe;
mod stop;
mod tables;
mod wire;

use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use inbox_core::{Outcome, idempotent, is_transient};
use sea_orm::entity::prelude::*;
use sea_orm::sqlx::sqlite::SqliteJournalMode;
use sea_orm::{ConnectOptions, Database, ExprTrait as _, sea_query::Expr};

use crate::event::CreditRequested;
use crate::stop::Stop;
use crate::wire::Verdict;

/// Credits each event once. Without --amqp it demonstrates that: two replicas get a file of events, with repeats and both
/// at once. With --amqp it is a replica that serves until SIGTERM or Ctrl-C; start as many as you like.
#[derive(Clone, Debug, Parser)]
struct Args {
    /// Demonstrate with these CloudEvents 1.0 (structured JSON, one a line); without --amqp the sample beside the service is taken.
    #[arg(long, value_name = "FILE", conflicts_with = "publish")]
    events: Option<PathBuf>,
    /// SQLite, PostgreSQL, MySQL or MariaDB; a demonstration without it takes a SQLite file that lives as long as the run.
    #[arg(long, value_name = "URL", env = "CREDIT_SERVICE_DATABASE_URL", hide_env_values = true)]
    database_url: Option<String>,
    /// RabbitMQ, where the events come from.
    #[arg(long, value_name = "URL", env = "CREDIT_SERVICE_AMQP_URL", hide_env_values = true)]
    amqp: Option<String>,
    /// The queue; what is given up goes to QUEUE.dead.
    #[arg(long, value_name = "QUEUE", default_value = "credits")]
    queue: String,
    /// Publish this file's events to the queue, wait until the broker has confirmed each, and end.
    #[arg(long, value_name = "FILE", requires = "amqp")]
    publish: Option<PathBuf>,
    /// Check, then insert, without a unique index: credits some events twice. For a look at the problem only.
    #[arg(long)]
    naive: bool,
    /// Use a database that holds tables of others.
    #[arg(long)]
    yes: bool,
    /// Be the replica of this number for a parent: what became of deliveries goes out at stdout.
    #[arg(long, hide = true, value_name = "N")]
    replica: Option<usize>,
}

impl Args {
    fn broker(&self) -> Option<amqp::Broker> {
        self.amqp.clone().map(|url| amqp::Broker { url, queue: self.queue.clone() })
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter =
        tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "error,credit_service=warn,inbox_core=warn".into());
    let ansi = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(ansi).with_writer(std::io::stderr).init();
    let args = Args::parse();
    let done = match (args.replica, args.broker()) {
        (Some(number), broker) => serve(&args, broker).await.with_context(|| format!("replica {number}")),
        (None, Some(broker)) if args.publish.is_some() => demo::publish(&args, &broker).await,
        (None, Some(broker)) if args.events.is_none() => serve(&args, Some(broker)).await,
        (None, broker) => demo::run(args, broker).await,
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
const IN_HAND: u16 = 8;

async fn connect(url: &str) -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(IN_HAND.into())
        .acquire_timeout(Duration::from_secs(10))
        // SeaORM pings a connection each time it is taken from the pool, which is one more round trip for every delivery. A
        // connection that was in use a moment ago is alive; if it is not, the delivery fails and comes again.
        .test_before_acquire_if_idle_for(Duration::from_secs(30))
        .sqlx_logging(false)
        // SQLite has one writer: the others wait for it, and readers wait for nobody.
        .map_sqlx_sqlite_opts(|sqlite| sqlite.journal_mode(SqliteJournalMode::Wal).busy_timeout(Duration::from_secs(10)));
    Database::connect(options).await
}

/// What a replica works with.
#[derive(Clone)]
struct Service {
    db: DatabaseConnection,
    naive: bool,
    /// Accounts that were opened by this replica, where nobody else opens them.
    opened: Option<Arc<Mutex<HashSet<i64>>>>,
}

async fn serve(args: &Args, broker: Option<amqp::Broker>) -> anyhow::Result<()> {
    let url = args.database_url.as_deref().context("a replica needs --database-url, or CREDIT_SERVICE_DATABASE_URL")?;
    let parent = args.replica.is_some();
    // Before anything that takes time: a signal must not end what is being done.
    let stop = match (&broker, parent) {
        (None, _) => Stop::never()?,
        (Some(_), true) => Stop::on_signals_and(pipe::closed())?,
        (Some(_), false) => Stop::on_signals_and(std::future::pending())?,
    };
    // A parent has looked at the tables already.
    let wait_for_database = broker.is_some().then_some(&stop);
    let db = tables::prepare(url, args.yes || parent, args.naive, wait_for_database).await?;
    let service = Service { db: db.clone(), naive: args.naive, opened: broker.is_some().then(Arc::default) };
    match broker {
        None => pipe::consume(service).await?,
        Some(broker) if parent => pipe::report(broker, service, stop).await?,
        Some(broker) => demo::serve(&broker, service, stop, url).await?,
    }
    db.close().await?;
    Ok(())
}

// ---- handle

impl Service {
    /// One delivery.
    async fn handle(&self, event: &[u8]) -> Verdict {
        match CreditRequested::parse(event) {
            Ok(event) => settle(self.credit(&event).await),
            Err(unusable) => Verdict::Rejected { reason: unusable.to_string() },
        }
    }

    async fn credit(&self, event: &CreditRequested) -> Result<Outcome<()>, CreditError> {
        if let Some(opened) = &self.opened {
            self.open(opened, event.data.account_id).await?;
        }
        if self.naive { naive::credit(&self.db, event).await } else { credit(&self.db, event).await }
    }

    /// In a shop somebody else opens accounts. Here nobody does, so each one is opened before its first credit.
    async fn open(&self, opened: &Mutex<HashSet<i64>>, account: i64) -> Result<(), DbErr> {
        if !opened.lock().unwrap_or_else(PoisonError::into_inner).contains(&account) {
            account::open(&self.db, [account].into_iter()).await?;
            opened.lock().unwrap_or_else(PoisonError::into_inner).insert(account);
        }
        Ok(())
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
    add(db, event).await?;
    Ok(Outcome::Processed(()))
}

/// The effect.
async fn add(db: &impl ConnectionTrait, event: &CreditRequested) -> Result<(), CreditError> {
    let credited = account::Entity::update_many()
        .col_expr(account::Column::Balance, Expr::col(account::Column::Balance).add(event.data.amount))
        .filter(account::Column::Id.eq(event.data.account_id))
        .exec(db)
        .await?;
    if credited.rows_affected == 0 {
        return Err(CreditError::NoSuchAccount(event.data.account_id));
    }
    Ok(())
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
