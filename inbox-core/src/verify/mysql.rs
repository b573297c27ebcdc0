//! MySQL's and MariaDB's catalogue. Source:
//! [INFORMATION_SCHEMA.STATISTICS](https://dev.mysql.com/doc/refman/8.0/en/information-schema-statistics-table.html).

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, QueryResult, Statement};

use super::judge::{Column, Fault, Index, Owner, Shown, Table, Wanted};
use super::remedy::alter_table;
use crate::entity::{TABLE, UNIQUE_INDEX};

const INSTANT: &[&str] = &["datetime(6)"];
const LONG_TEXT: &[&str] = &["text", "mediumtext", "longtext"];

const WANTED: &[Wanted] = &[
    Wanted { name: "id", kinds: &["bigint"], nullable: false, definition: "bigint AUTO_INCREMENT" },
    Wanted { name: "message_id", kinds: &["binary(16)"], nullable: false, definition: "binary(16)" },
    Wanted {
        name: "consumer",
        kinds: &["varchar(200)"],
        nullable: false,
        definition: "varchar(200) CHARACTER SET ascii COLLATE ascii_bin",
    },
    Wanted { name: "received_at", kinds: INSTANT, nullable: false, definition: "datetime(6)" },
    Wanted { name: "processed_at", kinds: INSTANT, nullable: true, definition: "datetime(6)" },
    Wanted { name: "claim_token", kinds: &["binary(16)"], nullable: true, definition: "binary(16)" },
    Wanted { name: "claimed_until", kinds: INSTANT, nullable: true, definition: "datetime(6)" },
    Wanted { name: "attempts", kinds: &["int"], nullable: false, definition: "int" },
    Wanted { name: "payload", kinds: LONG_TEXT, nullable: true, definition: "longtext" },
    Wanted { name: "last_error", kinds: &["varchar(2000)", "text", "mediumtext", "longtext"], nullable: true, definition: "varchar(2000)" },
];

// The casts: servers differ in the types of their own catalogue.
const RELATION: &str = "SELECT CAST(ENGINE AS CHAR) AS engine, CAST(TABLE_TYPE AS CHAR) AS kind FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?";

const COLUMNS: &str = "SELECT CAST(COLUMN_NAME AS CHAR) AS name, CAST(COLUMN_TYPE AS CHAR) AS kind, IS_NULLABLE = 'YES' AS nullable, \
     CAST(COALESCE(COLLATION_NAME, 'binary') AS CHAR) AS collation FROM information_schema.COLUMNS \
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?";

/// One row for each key of each index.
const INDEXES: &str = "SELECT CAST(INDEX_NAME AS CHAR) AS name, NON_UNIQUE = 0 AS is_unique, CAST(INDEX_TYPE AS CHAR) AS method, \
     SUB_PART IS NOT NULL AS is_prefix, CASE WHEN SUB_PART IS NULL THEN CAST(COLUMN_NAME AS CHAR) END AS keyed \
     FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND (NON_UNIQUE = 0 OR INDEX_NAME = ?) \
     ORDER BY INDEX_NAME, SEQ_IN_INDEX";

pub(super) async fn read(db: &DatabaseConnection) -> Result<Shown, DbErr> {
    let ask = |sql: &str, names: &[&str]| {
        let names: Vec<sea_orm::Value> = names.iter().map(|name| (*name).into()).collect();
        Statement::from_sql_and_values(DbBackend::MySql, sql, names)
    };
    let Some(relation) = db.query_one_raw(ask(RELATION, &[TABLE])).await? else {
        // No table, or no right on it at all: the first marker will tell which.
        return Ok(Shown::Hidden);
    };
    let (engine, kind): (Option<String>, String) = (relation.try_get("", "engine")?, relation.try_get("", "kind")?);
    if kind.contains("VIEW") {
        return Ok(Shown::NoTable("a view".to_owned()));
    }
    let engine = engine.unwrap_or_default();
    let storage = (!engine.eq_ignore_ascii_case("InnoDB")).then(|| {
        let what = format!("`{TABLE}` is stored by {engine}, whose rows stay when a transaction is rolled back; it must be InnoDB");
        Fault::new(what, [alter_table("ENGINE = InnoDB")])
    });
    let mut table = Table { storage, wanted: WANTED, ..Table::default() };
    for row in db.query_all_raw(ask(COLUMNS, &[TABLE])).await? {
        let (name, collation): (String, String) = (row.try_get("", "name")?, row.try_get("", "collation")?);
        let bytewise = name != "consumer" || collation == "binary" || collation.ends_with("_bin");
        table.columns.push(Column {
            name,
            kind: row.try_get("", "kind")?,
            nullable: row.try_get("", "nullable")?,
            folds: (!bytewise).then(|| format!("is compared by the collation `{collation}`")),
        });
    }
    for row in db.query_all_raw(ask(INDEXES, &[TABLE, UNIQUE_INDEX])).await? {
        add_key(&mut table.indexes, &row)?;
    }
    Ok(Shown::Table(table))
}

fn add_key(indexes: &mut Vec<Index>, row: &QueryResult) -> Result<(), DbErr> {
    let name: String = row.try_get("", "name")?;
    if indexes.last().is_none_or(|index| index.name != name) {
        // A primary key goes by no DROP INDEX of its own, and the surrogate key hangs on it.
        let owner = if name == "PRIMARY" { Owner::Table } else { Owner::Nobody };
        indexes.push(Index { name, unique: row.try_get("", "is_unique")?, owner, ..Index::default() });
    }
    let Some(index) = indexes.last_mut() else {
        return Ok(());
    };
    index.keys.push(row.try_get("", "keyed")?);
    if row.try_get::<bool>("", "is_prefix")? {
        index.faults.push("covers a part of a column only, which takes different keys for one");
    }
    let method: String = row.try_get("", "method")?;
    if method != "BTREE" && index.faults.is_empty() {
        index.faults.push("is no BTREE");
    }
    Ok(())
}
