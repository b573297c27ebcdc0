//! The history table: what is recorded, recording, forgetting.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DbBackend, DbErr, FromQueryResult as _, Order};
use sea_orm_migration::sea_query::Query;
use sea_orm_migration::seaql_migrations::{Column, Model};

use crate::{HISTORY_TABLE, catalog, ddl};

/// What is recorded; nothing where there is no history.
pub(crate) async fn read<C: ConnectionTrait>(db: &C) -> Result<Vec<Model>, DbErr> {
    // Asked for first: on PostgreSQL a failed SELECT would end the transaction.
    if !catalog::has_table(db, HISTORY_TABLE).await? {
        return Ok(Vec::new());
    }
    let select =
        Query::select().columns([Column::Version, Column::AppliedAt]).from(HISTORY_TABLE).order_by(Column::Version, Order::Asc).take();
    let rows = db.query_all(&select).await?;
    rows.iter().map(|row| Model::from_query_result(row, "")).collect()
}

pub(crate) async fn record<C: ConnectionTrait>(db: &C, name: &str) -> Result<(), DbErr> {
    execute(db, &ddl::record(db.get_database_backend(), name)).await
}

pub(crate) async fn forget<C: ConnectionTrait>(db: &C, name: &str) -> Result<(), DbErr> {
    execute(db, &ddl::forget(name)).await
}

/// On MySQL the DDL before it is committed already, so this statement stands alone and can be repeated: in a Galera cluster
/// another node's CREATE TABLE aborts it with 1213 (seen), which would leave a table without a record.
async fn execute<C: ConnectionTrait>(db: &C, sql: &str) -> Result<(), DbErr> {
    let mut tries = 1;
    loop {
        match db.execute_unprepared(sql).await {
            Err(error) if db.get_database_backend() == DbBackend::MySql && tries < 20 && inbox_core::is_transient(&error) => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            result => return result.map(|_| ()),
        }
    }
}
