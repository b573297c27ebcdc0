//! What the catalogue of each backend says about our table. Read-only, and asked without SeaORM's schema probes, which a
//! forgotten driver feature of `sea-orm-migration` switches off.

use inbox_core::entity::TABLE;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Statement};

/// A table as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) indexes: Vec<Index>,
}

/// An index as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) unique: bool,
    /// Built completely: PostgreSQL keeps the wreck of a failed concurrent build under its name.
    pub(crate) valid: bool,
    /// Has a WHERE.
    pub(crate) partial: bool,
    /// In order; `None` is an expression or a part of a column.
    pub(crate) columns: Vec<Option<String>>,
}

/// Our table, `None` where there is none.
pub(crate) async fn table<C: ConnectionTrait>(db: &C) -> Result<Option<Table>, DbErr> {
    let backend = db.get_database_backend();
    let mut columns = Vec::new();
    for row in db.query_all_raw(about_our_table(backend, columns_sql(backend))).await? {
        columns.push(row.try_get("", "column_name")?);
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let mut indexes: Vec<Index> = Vec::new();
    for row in db.query_all_raw(about_our_table(backend, indexes_sql(backend))).await? {
        let name: String = row.try_get("", "index_name")?;
        let column: Option<String> = row.try_get("", "column_name")?;
        match indexes.last_mut() {
            Some(index) if index.name == name => index.columns.push(column),
            _ => indexes.push(Index {
                name,
                unique: flag(&row, "is_unique")?,
                valid: flag(&row, "is_valid")?,
                partial: flag(&row, "is_partial")?,
                columns: vec![column],
            }),
        }
    }
    Ok(Some(Table { columns, indexes }))
}

/// Whether there is a table of this name where an unqualified CREATE TABLE would put one.
pub(crate) async fn has_table<C: ConnectionTrait>(db: &C, name: &str) -> Result<bool, DbErr> {
    Ok(tables(db).await?.iter().any(|table| table == name))
}

/// The current schema, and another one of the search path in which our table is found: that is where services would go on.
/// PostgreSQL alone has a path.
pub(crate) async fn elsewhere<C: ConnectionTrait>(db: &C) -> Result<Option<(String, String)>, DbErr> {
    if db.get_database_backend() != DbBackend::Postgres {
        return Ok(None);
    }
    let sql = "SELECT coalesce(current_schema()::text, '') AS here, n.nspname::text AS there FROM pg_catalog.pg_class c \
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               WHERE c.oid = to_regclass($1) AND n.nspname IS DISTINCT FROM current_schema()";
    let row = db.query_one_raw(about_our_table(DbBackend::Postgres, sql)).await?;
    row.map(|row| Ok((row.try_get("", "here")?, row.try_get("", "there")?))).transpose()
}

/// The names of all tables of this database (PostgreSQL: of its current schema).
pub(crate) async fn tables<C: ConnectionTrait>(db: &C) -> Result<Vec<String>, DbErr> {
    let backend = db.get_database_backend();
    let sql = match backend {
        DbBackend::Postgres => {
            "SELECT c.relname::text AS table_name FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') ORDER BY 1"
        }
        DbBackend::MySql => {
            "SELECT CAST(TABLE_NAME AS CHAR) AS table_name FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY 1"
        }
        _ => {
            "SELECT name AS table_name FROM sqlite_master \
             WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1"
        }
    };
    let rows = db.query_all_raw(Statement::from_string(backend, sql)).await?;
    rows.iter().map(|row| row.try_get("", "table_name")).collect()
}

fn about_our_table(backend: DbBackend, sql: &str) -> Statement {
    Statement::from_sql_and_values(backend, sql, [TABLE.into()])
}

/// The backends agree on integers only.
fn flag(row: &QueryResult, name: &str) -> Result<bool, DbErr> {
    Ok(row.try_get::<i64>("", name)? != 0)
}

/// A view or a foreign table has columns too: it is in the way as well, and its indexes are missing.
fn columns_sql(backend: DbBackend) -> &'static str {
    match backend {
        DbBackend::Postgres => {
            "SELECT a.attname::text AS column_name FROM pg_catalog.pg_attribute a \
             JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relname = $1 AND a.attnum > 0 AND NOT a.attisdropped \
             ORDER BY a.attnum"
        }
        DbBackend::MySql => {
            "SELECT CAST(COLUMN_NAME AS CHAR) AS column_name FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION"
        }
        _ => "SELECT name AS column_name FROM pragma_table_info(?) ORDER BY cid",
    }
}

fn indexes_sql(backend: DbBackend) -> &'static str {
    match backend {
        // A deferrable index answers at COMMIT, when it is too late to be a duplicate: as good as invalid.
        DbBackend::Postgres => {
            "SELECT i.relname::text AS index_name, x.indisunique::int::bigint AS is_unique, \
             (x.indisvalid AND x.indimmediate)::int::bigint AS is_valid, \
             (x.indpred IS NOT NULL)::int::bigint AS is_partial, a.attname::text AS column_name \
             FROM pg_catalog.pg_index x \
             JOIN pg_catalog.pg_class c ON c.oid = x.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid \
             CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attnum, place) \
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum <> 0 \
             WHERE n.nspname = current_schema() AND c.relname = $1 AND k.place <= x.indnkeyatts \
             ORDER BY i.relname, k.place"
        }
        DbBackend::MySql => {
            "SELECT CAST(INDEX_NAME AS CHAR) AS index_name, CAST(NON_UNIQUE = 0 AS SIGNED) AS is_unique, \
             CAST(1 AS SIGNED) AS is_valid, CAST(0 AS SIGNED) AS is_partial, \
             CASE WHEN SUB_PART IS NULL THEN CAST(COLUMN_NAME AS CHAR) END AS column_name \
             FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? \
             ORDER BY INDEX_NAME, SEQ_IN_INDEX"
        }
        _ => {
            "SELECT l.name AS index_name, l.\"unique\" AS is_unique, 1 AS is_valid, l.partial AS is_partial, \
             i.name AS column_name FROM pragma_index_list(?) l JOIN pragma_index_info(l.name) i ORDER BY l.name, i.seqno"
        }
    }
}
