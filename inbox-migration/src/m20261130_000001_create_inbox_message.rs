//! The first migration: the table, the unique index, the open index.

use sea_orm::{ConnectionTrait as _, DbBackend, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, SchemaManager};

use crate::catalog;
use crate::ddl;
use crate::state;

/// Creates the table with all its columns and both indexes.
#[derive(Debug)]
pub(crate) struct Migration;

impl Migration {
    /// Said here and not derived from the file: a renamed file would be another migration.
    pub(crate) const NAME: &str = "m20261130_000001_create_inbox_message";
}

impl MigrationName for Migration {
    fn name(&self) -> &str {
        Self::NAME
    }
}

// As SeaORM's trait writes it: with `<'_>` the expansion's lifetimes differ.
#[allow(elided_lifetimes_in_paths)]
#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let backend = manager.get_database_backend();
        // No IF NOT EXISTS: whatever carries the name may be without the index.
        if let Some(table) = catalog::table(manager.get_connection()).await? {
            return Err(DbErr::Migration(state::in_the_way(backend, &table)));
        }
        if backend == DbBackend::MySql {
            return run(manager, ddl::create(backend)).await;
        }
        // SeaORM wraps a migration in a transaction on PostgreSQL only; there this is a savepoint.
        let transaction = manager.begin().await?;
        run(&transaction, ddl::create(backend)).await?;
        transaction.commit().await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        run(manager, vec![ddl::drop(manager.get_database_backend())]).await
    }
}

async fn run(manager: &SchemaManager<'_>, statements: Vec<String>) -> Result<(), DbErr> {
    for statement in statements {
        manager.get_connection().execute_unprepared(&statement).await?;
    }
    Ok(())
}
