//! SQLite's catalogue. Source: [PRAGMA index_xinfo](https://www.sqlite.org/pragma.html#pragma_index_xinfo).

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, QueryResult, Statement};

use super::judge::{Column, Index, Owner, Shown, Table, Wanted};
use crate::entity::UNIQUE_INDEX;

const INSTANT: &[&str] = &["timestamp_with_timezone_text", "text"];
const UUID: &[&str] = &["uuid_text", "blob"];

/// The types give the affinity: a number's would make `1e5` and `100000` one consumer. Ids are bound as 16 bytes, which no
/// affinity changes.
const WANTED: &[Wanted] = &[
    Wanted { name: "id", kinds: &["integer"], nullable: false, definition: "" },
    Wanted { name: "message_id", kinds: UUID, nullable: false, definition: "" },
    Wanted { name: "consumer", kinds: &["varchar(200)", "text"], nullable: false, definition: "" },
    Wanted { name: "received_at", kinds: INSTANT, nullable: false, definition: "" },
    Wanted { name: "processed_at", kinds: INSTANT, nullable: true, definition: "" },
    Wanted { name: "claim_token", kinds: UUID, nullable: true, definition: "" },
    Wanted { name: "claimed_until", kinds: INSTANT, nullable: true, definition: "" },
    Wanted { name: "attempts", kinds: &["integer", "int"], nullable: false, definition: "" },
    Wanted { name: "payload", kinds: &["text"], nullable: true, definition: "" },
    Wanted { name: "last_error", kinds: &["varchar(2000)", "text"], nullable: true, definition: "" },
];

/// Whether the table's text has a COLLATE in it: an index on the column takes it over, and no ALTER removes it.
const RELATION: &str =
    "SELECT type AS kind, coalesce(sql, '') LIKE '%COLLATE%' AS collates FROM sqlite_master WHERE name = 'inbox_message'";

const COLUMNS: &str = "SELECT name, type AS kind, \"notnull\" = 0 AND pk = 0 AS nullable FROM pragma_table_info('inbox_message')";

/// One row for each key of each index.
const INDEXES: &str = "SELECT l.name AS name, l.\"unique\" AS is_unique, l.partial AS is_partial, l.origin AS origin, x.name AS keyed, \
     upper(x.coll) = 'BINARY' AS bytewise FROM pragma_index_list('inbox_message') l JOIN pragma_index_xinfo(l.name) x \
     WHERE x.key = 1 AND (l.\"unique\" OR l.name = ?) ORDER BY l.name, x.seqno";

pub(super) async fn read(db: &DatabaseConnection) -> Result<Shown, DbErr> {
    let ask = |sql: &str| Statement::from_string(DbBackend::Sqlite, sql);
    let Some(relation) = db.query_one_raw(ask(RELATION)).await? else {
        return Ok(Shown::Nothing(String::new()));
    };
    let kind: String = relation.try_get("", "kind")?;
    if kind != "table" {
        return Ok(Shown::NoTable(format!("a {kind}")));
    }
    let mut table = Table { wanted: WANTED, ..Table::default() };
    for row in db.query_all_raw(ask(COLUMNS)).await? {
        table.columns.push(Column {
            name: row.try_get("", "name")?,
            kind: row.try_get("", "kind")?,
            nullable: row.try_get("", "nullable")?,
            folds: None,
        });
    }
    let collates: bool = relation.try_get("", "collates")?;
    for row in db.query_all_raw(Statement::from_sql_and_values(DbBackend::Sqlite, INDEXES, [UNIQUE_INDEX.into()])).await? {
        add_key(&mut table.indexes, &row, collates)?;
    }
    Ok(Shown::Table(table))
}

fn add_key(indexes: &mut Vec<Index>, row: &QueryResult, collates: bool) -> Result<(), DbErr> {
    let name: String = row.try_get("", "name")?;
    if indexes.last().is_none_or(|index| index.name != name) {
        let faults = Vec::from_iter(row.try_get::<bool>("", "is_partial")?.then_some("has a predicate, so rows outside of it repeat"));
        let owner = if row.try_get::<String>("", "origin")? == "c" { Owner::Nobody } else { Owner::Table };
        indexes.push(Index { name, keys: Vec::new(), unique: row.try_get("", "is_unique")?, faults, owner });
    }
    let Some(index) = indexes.last_mut() else {
        return Ok(());
    };
    index.keys.push(row.try_get("", "keyed")?);
    if !row.try_get::<bool>("", "bytewise")? {
        index.faults.push("compares by a collation that is not BINARY, which takes different names for one");
        if collates {
            index.owner = Owner::Table;
        }
    }
    Ok(())
}
