//! SeaORM's migrator of the inbox, without the commands that destroy what is not ours.

use inbox_core::entity::TABLE;
use sea_orm::sea_query::IntoIden as _;
use sea_orm::{ConnectionTrait, DatabaseExecutor, DbErr, DynIden};
use sea_orm_migration::{IntoSchemaManagerConnection, MigrationTrait, MigratorTrait, seaql_migrations};

use crate::run::{self, Rows};
use crate::state::{self, Status};
use crate::{HISTORY_TABLE, PROGRESS, catalog, history, lock};

/// The inbox's own migrator, beside the application's: its history is [`HISTORY_TABLE`].
///
/// `up` and `down` hold the lock of [`up`](crate::up()) and refuse what it refuses; `down` refuses while there are markers.
/// `status` and the questions about migrations write nothing. `fresh`, `refresh`, `reset` and `uninstall` are refused, also
/// through `sea_orm_migration::cli`: they drop every table of the database, the markers, or the history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Migrator;

/// The inbox's migrations, for an application that keeps one history: append them to your own migrator's.
///
/// Nothing of ours can lock your migrator; see the [crate's guide](crate#in-the-applications-own-migrator).
#[must_use]
pub fn migrations() -> Vec<Box<dyn MigrationTrait>> {
    vec![Box::new(crate::m20261130_000001_create_inbox_message::Migration)]
}

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        migrations()
    }

    fn migration_table_name() -> DynIden {
        HISTORY_TABLE.into_iden()
    }

    /// Creates nothing: `up` creates the history under its lock, and whoever only looks needs no DDL rights.
    async fn install<C>(_db: &C) -> Result<(), DbErr>
    where
        C: ConnectionTrait,
    {
        Ok(())
    }

    async fn get_migration_models<C>(db: &C) -> Result<Vec<seaql_migrations::Model>, DbErr>
    where
        C: ConnectionTrait,
    {
        history::read(db).await
    }

    async fn status<C>(db: &C) -> Result<(), DbErr>
    where
        C: ConnectionTrait,
    {
        let facts = state::read(db).await?;
        for migration in migrations() {
            let applied = facts.history.iter().any(|name| name == migration.name());
            let status = if applied { "Applied" } else { "Pending" };
            tracing::info!(target: PROGRESS, "Migration '{}'... {status}", migration.name());
        }
        match facts.status() {
            Status::HalfApplied(half) => Err(DbErr::Migration(half.to_string())),
            Status::Applied | Status::Pending => Ok(()),
        }
    }

    async fn up<'c, C>(db: C, steps: Option<u32>) -> Result<(), DbErr>
    where
        C: IntoSchemaManagerConnection<'c>,
    {
        match db.into_database_executor() {
            DatabaseExecutor::Connection(db) => run::up_waiting(db, steps, lock::WAIT).await?,
            DatabaseExecutor::Transaction(db) => run::up_within(db, steps).await?,
            DatabaseExecutor::OwnedTransaction(db) => {
                let applied = run::up_within(&db, steps).await?;
                // Nobody else can.
                db.commit().await?;
                applied
            }
        };
        Ok(())
    }

    async fn down<'c, C>(db: C, steps: Option<u32>) -> Result<(), DbErr>
    where
        C: IntoSchemaManagerConnection<'c>,
    {
        match db.into_database_executor() {
            DatabaseExecutor::Connection(db) => run::down_waiting(db, steps, Rows::Keep, lock::WAIT).await?,
            DatabaseExecutor::Transaction(db) => run::down_within(db, steps).await?,
            DatabaseExecutor::OwnedTransaction(db) => {
                let undone = run::down_within(&db, steps).await?;
                db.commit().await?;
                undone
            }
        };
        Ok(())
    }

    /// Refused: it drops every table of the database.
    async fn fresh<'c, C>(db: C) -> Result<(), DbErr>
    where
        C: IntoSchemaManagerConnection<'c>,
    {
        let executor = db.into_database_executor();
        // What cannot be listed is destroyed all the same.
        let tables = catalog::tables(&executor).await.unwrap_or_default();
        let others: Vec<&str> = tables.iter().map(String::as_str).filter(|table| *table != TABLE).collect();
        let shown = others.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
        let more = others.len().saturating_sub(SHOWN);
        Err(refused(
            "fresh",
            &format!(
                "drop every table of this database, the application's too ({shown}{})",
                if more == 0 { String::new() } else { format!(" and {more} more") }
            ),
        ))
    }

    /// Refused: it drops the markers.
    async fn refresh<'c, C>(_db: C) -> Result<(), DbErr>
    where
        C: IntoSchemaManagerConnection<'c>,
    {
        Err(refused("refresh", &markers()))
    }

    /// Refused: it drops the markers and the history.
    async fn reset<'c, C>(_db: C) -> Result<(), DbErr>
    where
        C: IntoSchemaManagerConnection<'c>,
    {
        Err(refused("reset", &format!("{}, and {HISTORY_TABLE}", markers())))
    }

    /// Refused: it drops the history, and every later `up` would find a table that it does not know.
    async fn uninstall<'c, C>(_db: C) -> Result<(), DbErr>
    where
        C: IntoSchemaManagerConnection<'c>,
    {
        Err(refused("uninstall", &format!("drop {HISTORY_TABLE}, after which {TABLE} is a table that no migrator knows")))
    }
}

/// How many tables a refusal names.
const SHOWN: usize = 10;

fn markers() -> String {
    format!("drop {TABLE} with every marker in it (redelivered messages are then processed again)")
}

fn refused(command: &str, loss: &str) -> DbErr {
    DbErr::Migration(format!(
        "the inbox's migrator refuses `{command}`: it would {loss}. Nothing was changed. Run `inbox up` to create what is \
         missing, `inbox down` to remove {TABLE} (it refuses while there are markers, unless `--force` is given)"
    ))
}
