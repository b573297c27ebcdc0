//! The history table: what is recorded, recording, forgetting.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sea_orm::{ConnectionTrait, DbBackend, DbErr, FromQueryResult as _, IdenStatic as _, Order, Statement, Value};
use sea_orm_migration::sea_query::Query;
use sea_orm_migration::seaql_migrations::{Column, Model};

use crate::{HISTORY_TABLE, catalog};

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
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (version, applied_at) = (Column::Version.as_str(), Column::AppliedAt.as_str());
    let values = match db.get_database_backend() {
        DbBackend::Postgres => "$1, $2",
        _ => "?, ?",
    };
    let sql = format!("INSERT INTO {HISTORY_TABLE} ({version}, {applied_at}) VALUES ({values})");
    execute(db, &sql, [name.into(), i64::try_from(now).unwrap_or_default().into()]).await
}

pub(crate) async fn forget<C: ConnectionTrait>(db: &C, name: &str) -> Result<(), DbErr> {
    let value = match db.get_database_backend() {
        DbBackend::Postgres => "$1",
        _ => "?",
    };
    let sql = format!("DELETE FROM {HISTORY_TABLE} WHERE {} = {value}", Column::Version.as_str());
    execute(db, &sql, [name.into()]).await
}

/// On MySQL the DDL before it is committed already, so this statement stands alone and can be repeated: in a Galera cluster
/// another node's CREATE TABLE aborts it with 1213 (seen), which would leave a table without a record.
async fn execute<C: ConnectionTrait, const N: usize>(db: &C, sql: &str, values: [Value; N]) -> Result<(), DbErr> {
    let backend = db.get_database_backend();
    let mut tries = 1;
    loop {
        let statement = Statement::from_sql_and_values(backend, sql, values.clone());
        match db.execute_raw(statement).await {
            Err(error) if backend == DbBackend::MySql && tries < 20 && inbox_core::is_transient(&error) => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            result => return result.map(|_| ()),
        }
    }
}
