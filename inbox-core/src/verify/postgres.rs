//! PostgreSQL's catalogue. Source: [pg_index](https://www.postgresql.org/docs/current/catalog-pg-index.html).

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, Statement};

use super::{Catalogue, Column, Index, Wanted, judge_columns, judge_index, no_table};
use crate::entity::{TABLE, UNIQUE_INDEX};

const WANTED: [Wanted; 10] = [
    ("id", &["bigint"], false),
    ("message_id", &["uuid"], false),
    ("consumer", &["character varying(200)", "text"], false),
    ("received_at", &["timestamp with time zone", "timestamp(6) with time zone"], false),
    ("processed_at", &["timestamp with time zone", "timestamp(6) with time zone"], true),
    ("claim_token", &["uuid"], true),
    ("claimed_until", &["timestamp with time zone", "timestamp(6) with time zone"], true),
    ("attempts", &["integer", "bigint"], false),
    ("payload", &["text"], true),
    ("last_error", &["character varying(2000)", "text"], true),
];

pub(super) async fn read(db: &DatabaseConnection) -> Result<Catalogue, DbErr> {
    let ask = |sql: &str, name: &str| Statement::from_sql_and_values(DbBackend::Postgres, sql, [name.into()]);
    let columns = ask(
        "SELECT a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS kind, NOT a.attnotnull AS nullable, \
         coalesce(c.collisdeterministic, true) AS bytewise \
         FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation \
         WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped",
        TABLE,
    );
    let mut found = Vec::new();
    let mut folded = false;
    for row in db.query_all_raw(columns).await? {
        let column = Column { name: row.try_get("", "name")?, kind: row.try_get("", "kind")?, nullable: row.try_get("", "nullable")? };
        folded |= column.name == "consumer" && !row.try_get::<bool>("", "bytewise")?;
        found.push(column);
    }
    if found.is_empty() {
        return Ok(no_table());
    }
    if let Some(wrong) = judge_columns(&WANTED, &found) {
        return Ok(wrong);
    }
    let index = ask(
        "SELECT i.indisunique, i.indisvalid AND i.indisready AS valid, i.indimmediate, i.indpred IS NOT NULL AS partial, \
         m.amname::text AS method, coalesce((SELECT string_agg(coalesce(a.attname::text, 'an expression'), ',' ORDER BY k.at) \
         FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(number, at) \
         LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number AND k.number > 0), '') AS columns \
         FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam \
         WHERE i.indrelid = to_regclass('inbox_message') AND c.relname = $1",
        UNIQUE_INDEX,
    );
    let Some(row) = db.query_one_raw(index).await? else {
        return Ok(judge_index(None));
    };
    let is = |name| row.try_get::<bool>("", name);
    let faults = vec![
        (!is("indisunique")?, "is not unique"),
        (!is("valid")?, "is not valid (a concurrent build failed)"),
        (!is("indimmediate")?, "is deferrable, so a duplicate would show at the commit only, after both bodies ran"),
        (is("partial")?, "has a predicate, so rows outside of it repeat"),
        (row.try_get::<String>("", "method")? != "btree", "is no btree"),
        (folded, "compares `consumer` by a nondeterministic collation, which takes different names for one"),
    ];
    Ok(judge_index(Some(Index { columns: row.try_get("", "columns")?, faults })))
}
