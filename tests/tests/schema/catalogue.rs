//! What the catalogues say, asked here and not through the code under test.

use inbox_tests::{Backend, TestDb};
use sea_orm::{ConnectionTrait as _, QueryResult, Statement};

/// Rows of `(text, text, …)`, in the statement's order.
pub(crate) async fn rows(db: &TestDb, sql: &str) -> Vec<QueryResult> {
    let statement = Statement::from_string(db.backend().db_backend(), sql);
    db.observer().query_all_raw(statement).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn text(row: &QueryResult, place: usize) -> String {
    row.try_get_by_index::<Option<String>>(place).unwrap().unwrap_or_default()
}

/// `name type [NOT NULL] [collation]`, in the table's order.
pub(crate) async fn columns(db: &TestDb, table: &str) -> Vec<String> {
    let sql = db.backend().pick(
        format!(
            "SELECT concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), \
             CASE WHEN a.attnotnull THEN 'NOT NULL' END, CASE WHEN c.collname <> 'default' THEN c.collname END, \
             CASE WHEN a.attidentity <> '' THEN 'identity ' || a.attidentity::text END) FROM pg_attribute a \
             LEFT JOIN pg_collation c ON c.oid = a.attcollation \
             WHERE a.attrelid = '{table}'::regclass AND a.attnum > 0 ORDER BY a.attnum"
        ),
        format!(
            "SELECT CAST(CONCAT_WS(' ', COLUMN_NAME, COLUMN_TYPE, IF(IS_NULLABLE = 'NO', 'NOT NULL', NULL), \
             COLLATION_NAME, NULLIF(EXTRA, '')) AS CHAR) FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{table}' ORDER BY ORDINAL_POSITION"
        ),
        format!(
            "SELECT trim(name || ' ' || type || iif(\"notnull\", ' NOT NULL', '')) FROM pragma_table_info('{table}') \
             ORDER BY cid"
        ),
    );
    rows(db, &sql).await.iter().map(|row| text(row, 0)).collect()
}

/// The whole DDL of a table, as the database gives it back.
pub(crate) async fn ddl(db: &TestDb, table: &str) -> String {
    match db.backend() {
        Backend::Postgres => {
            let indexes = format!("SELECT indexdef FROM pg_indexes WHERE tablename = '{table}' ORDER BY indexname");
            let indexes: Vec<_> = rows(db, &indexes).await.iter().map(|row| text(row, 0)).collect();
            format!("{}\n{}", columns(db, table).await.join("\n"), indexes.join("\n"))
        }
        Backend::MySql => text(&rows(db, &format!("SHOW CREATE TABLE `{table}`")).await[0], 1),
        Backend::Sqlite => {
            let sql = format!("SELECT sql FROM sqlite_master WHERE tbl_name = '{table}' AND sql IS NOT NULL ORDER BY name");
            rows(db, &sql).await.iter().map(|row| text(row, 0)).collect::<Vec<_>>().join("\n")
        }
    }
}

/// The tables of the database, SQLite's own left out.
pub(crate) async fn tables(db: &TestDb) -> Vec<String> {
    let sql = db.backend().pick(
        "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
        "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1",
    );
    rows(db, sql).await.iter().map(|row| text(row, 0)).collect()
}

/// Versions in a history table.
pub(crate) async fn history(db: &TestDb, table: &str) -> Vec<String> {
    rows(db, &format!("SELECT version FROM {table} ORDER BY version")).await.iter().map(|row| text(row, 0)).collect()
}

/// Inserts markers as plain rows, past everything.
pub(crate) async fn insert_marker(db: &TestDb, message: u8, consumer: &str) -> Result<u64, sea_orm::DbErr> {
    let message = db.backend().pick(
        format!("'00000000-0000-0000-0000-0000000000{message:02x}'"),
        format!("UNHEX('000000000000000000000000000000{message:02x}')"),
        format!("x'000000000000000000000000000000{message:02x}'"),
    );
    let now = db.backend().pick("now()", "UTC_TIMESTAMP(6)", "strftime('%Y-%m-%dT%H:%M:%f+00:00','now')");
    db.try_exec(&format!(
        "INSERT INTO inbox_message (message_id, consumer, received_at, processed_at, attempts) \
         VALUES ({message}, '{consumer}', {now}, {now}, 0)"
    ))
    .await
}
