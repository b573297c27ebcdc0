//! MySQL's and MariaDB's catalogue. Source:
//! [INFORMATION_SCHEMA.STATISTICS](https://dev.mysql.com/doc/refman/8.0/en/information-schema-statistics-table.html).

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, Statement};

use super::{Catalogue, Column, Index, MEND_COLUMN, Wanted, judge_columns, judge_index, no_table};
use crate::entity::{TABLE, UNIQUE_INDEX};

const WANTED: [Wanted; 10] = [
    ("id", &["bigint"], false),
    ("message_id", &["binary(16)"], false),
    ("consumer", &["varchar(200)", "varbinary(200)"], false),
    ("received_at", &["datetime(6)"], false),
    ("processed_at", &["datetime(6)"], true),
    ("claim_token", &["binary(16)"], true),
    ("claimed_until", &["datetime(6)"], true),
    ("attempts", &["int", "bigint"], false),
    ("payload", &["text", "mediumtext", "longtext"], true),
    ("last_error", &["varchar(2000)", "text", "mediumtext", "longtext"], true),
];

pub(super) async fn read(db: &DatabaseConnection) -> Result<Catalogue, DbErr> {
    let ask = |sql: &str, names: &[&str]| {
        Statement::from_sql_and_values(DbBackend::MySql, sql, names.iter().map(|name| (*name).into()).collect::<Vec<sea_orm::Value>>())
    };
    // The casts: servers differ in the types of their own catalogue.
    let table = ask(
        "SELECT CAST(ENGINE AS CHAR) AS engine FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?",
        &[TABLE],
    );
    let Some(row) = db.query_one_raw(table).await? else {
        // No table, or no right on it at all: the first marker will tell which.
        return Ok(no_table());
    };
    let engine: String = row.try_get("", "engine")?;
    if !engine.eq_ignore_ascii_case("InnoDB") {
        let problems = vec![format!("`{TABLE}` is stored by {engine}, which knows no transactions; it must be InnoDB")];
        return Ok(Catalogue::Wrong { problems, remedy: MEND_COLUMN });
    }
    let columns = ask(
        "SELECT CAST(COLUMN_NAME AS CHAR) AS name, CAST(COLUMN_TYPE AS CHAR) AS kind, CAST(IS_NULLABLE AS CHAR) AS nullable, \
         CAST(COALESCE(COLLATION_NAME, 'binary') AS CHAR) AS collation FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?",
        &[TABLE],
    );
    let mut found = Vec::new();
    let mut folded = false;
    for row in db.query_all_raw(columns).await? {
        let nullable: String = row.try_get("", "nullable")?;
        let column = Column { name: row.try_get("", "name")?, kind: row.try_get("", "kind")?, nullable: nullable == "YES" };
        let collation: String = row.try_get("", "collation")?;
        folded |= column.name == "consumer" && !(collation == "binary" || collation.ends_with("_bin"));
        found.push(column);
    }
    if let Some(wrong) = judge_columns(&WANTED, &found) {
        return Ok(wrong);
    }
    let index = ask(
        "SELECT CAST(COALESCE(COLUMN_NAME, 'an expression') AS CHAR) AS name, CAST(NON_UNIQUE AS SIGNED) AS repeats, \
         SUB_PART IS NOT NULL AS prefix, CAST(INDEX_TYPE AS CHAR) AS method FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND INDEX_NAME = ? ORDER BY SEQ_IN_INDEX",
        &[TABLE, UNIQUE_INDEX],
    );
    let rows = db.query_all_raw(index).await?;
    if rows.is_empty() {
        return Ok(judge_index(None));
    }
    let mut columns = Vec::new();
    let (mut repeats, mut prefix, mut other_method) = (false, false, false);
    for row in &rows {
        columns.push(row.try_get::<String>("", "name")?);
        repeats |= row.try_get::<i64>("", "repeats")? != 0;
        prefix |= row.try_get::<bool>("", "prefix")?;
        other_method |= row.try_get::<String>("", "method")? != "BTREE";
    }
    let faults = vec![
        (repeats, "is not unique"),
        (prefix, "covers a prefix only, which takes different keys for one"),
        (other_method, "is no BTREE"),
        (folded, "compares `consumer` by a collation that is not binary, which takes different names for one"),
    ];
    Ok(judge_index(Some(Index { columns: columns.join(","), faults })))
}
