//! SQLite's catalogue. Source: [PRAGMA index_xinfo](https://www.sqlite.org/pragma.html#pragma_index_xinfo).

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, Statement};

use super::{Catalogue, Column, Index, Wanted, judge_columns, judge_index, no_table};
use crate::entity::UNIQUE_INDEX;

/// The types give the affinity: a number's would make `1e5` and `100000` one consumer. `message_id` is bound as 16 bytes,
/// which no affinity changes.
const WANTED: [Wanted; 10] = [
    ("id", &["integer"], false),
    ("message_id", &["uuid_text", "blob", "binary(16)"], false),
    ("consumer", &["varchar(200)", "text"], false),
    ("received_at", &["timestamp_with_timezone_text", "text"], false),
    ("processed_at", &["timestamp_with_timezone_text", "text"], true),
    ("claim_token", &["uuid_text", "blob", "binary(16)"], true),
    ("claimed_until", &["timestamp_with_timezone_text", "text"], true),
    ("attempts", &["int"], false),
    ("payload", &["text"], true),
    ("last_error", &["varchar(2000)", "text"], true),
];

pub(super) async fn read(db: &DatabaseConnection) -> Result<Catalogue, DbErr> {
    let ask = |sql: &str| Statement::from_string(DbBackend::Sqlite, sql);
    let mut found = Vec::new();
    for row in db
        .query_all_raw(ask("SELECT name, type AS kind, \"notnull\" = 0 AND pk = 0 AS nullable FROM pragma_table_info('inbox_message')"))
        .await?
    {
        found.push(Column { name: row.try_get("", "name")?, kind: row.try_get("", "kind")?, nullable: row.try_get("", "nullable")? });
    }
    if found.is_empty() {
        return Ok(no_table());
    }
    if let Some(wrong) = judge_columns(&WANTED, &found) {
        return Ok(wrong);
    }
    let list = ask("SELECT name, \"unique\" AS is_unique, partial FROM pragma_index_list('inbox_message')");
    let mut index = None;
    for row in db.query_all_raw(list).await? {
        if row.try_get::<String>("", "name")? == UNIQUE_INDEX {
            index = Some((row.try_get::<bool>("", "is_unique")?, row.try_get::<bool>("", "partial")?));
        }
    }
    let Some((is_unique, is_partial)) = index else {
        return Ok(judge_index(None));
    };
    let keys = "SELECT coalesce(name, 'an expression') AS name, coll FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno";
    let mut columns = Vec::new();
    let mut folded = false;
    for row in db.query_all_raw(Statement::from_sql_and_values(DbBackend::Sqlite, keys, [UNIQUE_INDEX.into()])).await? {
        columns.push(row.try_get::<String>("", "name")?);
        folded |= !row.try_get::<String>("", "coll")?.eq_ignore_ascii_case("BINARY");
    }
    let faults = vec![
        (!is_unique, "is not unique"),
        (is_partial, "has a predicate, so rows outside of it repeat"),
        (folded, "compares by a collation that is not BINARY, which takes different names for one"),
    ];
    Ok(judge_index(Some(Index { columns: columns.join(","), faults })))
}
