//! The database before the first delivery: whose it is, and what is created in it.

use anyhow::Context as _;
use inbox_core::{entity, is_transient};
use sea_orm::entity::prelude::*;
use sea_orm::{DbBackend, Statement};

use crate::pause::{Outage, Pauses};
use crate::stop::Stop;
use crate::{Args, account, connect, naive};

/// Connects, creates what is missing, and proves that it deduplicates. With `wait` a database that is away is waited for, until
/// it is told to stop.
pub(crate) async fn prepare(url: &str, yes: bool, naive: bool, wait: Option<&Stop>) -> anyhow::Result<DatabaseConnection> {
    let away = Outage::of("the database");
    let mut pauses = Pauses::new();
    loop {
        match (try_prepare(url, yes, naive).await, wait) {
            (Err(error), Some(stop)) if is_transient(error.as_ref()) && !stop.is_told() => {
                away.is_away(&format_args!("{error:#}"));
                tokio::select! {
                    () = pauses.next() => {}
                    () = stop.told() => {}
                }
            }
            (Ok(db), _) => {
                away.is_back();
                return Ok(db);
            }
            (Err(error), _) => return Err(error),
        }
    }
}

async fn try_prepare(url: &str, yes: bool, naive: bool) -> anyhow::Result<DatabaseConnection> {
    let db = connect(url).await.context("no connection to the database")?;
    if !yes {
        refuse_others(&db).await?;
    }
    account::migrate(&db).await.context("the accounts cannot be created")?;
    if naive {
        naive::migrate(&db).await.context("the naive inbox cannot be created")?;
    } else {
        inbox_migration::up(&db).await?;
        // Without its unique index every duplicate would be credited, and nobody would see: better not to start.
        inbox_core::verify(&db).await?;
    }
    Ok(db)
}

/// Before a demonstration: its own tables or none, and accounts to credit.
pub(crate) async fn prepare_accounts(db: &DatabaseConnection, args: &Args, ids: impl Iterator<Item = i64>) -> anyhow::Result<()> {
    if !args.yes {
        refuse_others(db).await?;
    }
    account::migrate(db).await.context("the accounts cannot be created")?;
    account::open(db, ids).await.context("the accounts cannot be opened")
}

/// In every schema, whoever may read it; without what extensions bring.
const OTHERS_ON_POSTGRES: &str = "SELECT (CASE WHEN s.nspname = current_schema() THEN '' ELSE s.nspname || '.' END) || c.relname AS name \
     FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND s.nspname <> 'information_schema' AND s.nspname !~ '^pg_' \
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')";

/// An example has no business in a database where others keep theirs.
async fn refuse_others(db: &DatabaseConnection) -> anyhow::Result<()> {
    let own = [account::Entity.table_name(), entity::TABLE, inbox_migration::HISTORY_TABLE, naive::Entity.table_name()];
    let sql = match db.get_database_backend() {
        DbBackend::Postgres => OTHERS_ON_POSTGRES,
        DbBackend::MySql => "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
        _ => "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    };
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await?;
    let names = rows.iter().map(|row| row.try_get::<String>("", "name")).collect::<Result<Vec<_>, _>>()?;
    let mut others: Vec<_> = names.into_iter().filter(|name| !own.contains(&name.as_str())).collect();
    others.sort();
    let more = others.len().saturating_sub(5);
    others.truncate(5);
    anyhow::ensure!(
        others.is_empty(),
        "this database holds other tables ({}{}): nothing was created or changed. Give it a database of its own, or say --yes",
        others.join(", "),
        if more > 0 { format!(", and {more} more") } else { String::new() }
    );
    Ok(())
}
