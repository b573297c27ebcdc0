//! PostgreSQL's catalogue. Sources: [pg_class](https://www.postgresql.org/docs/current/catalog-pg-class.html),
//! [pg_index](https://www.postgresql.org/docs/current/catalog-pg-index.html).

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, QueryResult, Statement};

use super::judge::{Column, Fault, Index, NOT_VALID, Owner, Shown, Table, Wanted};
use super::remedy::alter_table;
use crate::entity::{TABLE, UNIQUE_INDEX};

const INSTANT: &[&str] = &["timestamp(6) with time zone"];

const WANTED: &[Wanted] = &[
    Wanted { name: "id", kinds: &["bigint"], nullable: false, definition: "bigint" },
    Wanted { name: "message_id", kinds: &["uuid"], nullable: false, definition: "uuid" },
    Wanted { name: "consumer", kinds: &["character varying(200)", "text"], nullable: false, definition: "varchar(200) COLLATE \"C\"" },
    Wanted { name: "received_at", kinds: INSTANT, nullable: false, definition: "timestamptz" },
    Wanted { name: "processed_at", kinds: INSTANT, nullable: true, definition: "timestamptz" },
    Wanted { name: "claim_token", kinds: &["uuid"], nullable: true, definition: "uuid" },
    Wanted { name: "claimed_until", kinds: INSTANT, nullable: true, definition: "timestamptz" },
    Wanted { name: "attempts", kinds: &["integer"], nullable: false, definition: "integer" },
    Wanted { name: "payload", kinds: &["text"], nullable: true, definition: "text" },
    Wanted { name: "last_error", kinds: &["character varying(2000)", "text"], nullable: true, definition: "varchar(2000)" },
];

const RELATION: &str = "SELECT c.relkind::text AS kind, c.relpersistence::text AS persistence, current_schemas(false)::text AS path \
     FROM (SELECT to_regclass($1) AS oid) t LEFT JOIN pg_class c ON c.oid = t.oid";

const COLUMNS: &str = "SELECT a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS kind, NOT a.attnotnull AS nullable, \
     coalesce(c.collisdeterministic, true) AS bytewise, coalesce(c.collname::text, '') AS collation \
     FROM pg_attribute a LEFT JOIN pg_collation c ON c.oid = a.attcollation \
     WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped";

/// One row for each key of each index; what an index INCLUDEs is no key.
const INDEXES: &str = "SELECT c.relname::text AS name, i.indisunique, i.indisvalid AND i.indisready AS is_valid, i.indimmediate, \
     i.indpred IS NOT NULL AS is_partial, m.amname::text AS method, a.attname::text AS key, \
     coalesce(o.collisdeterministic, true) AS bytewise, \
     EXISTS (SELECT FROM pg_constraint p \
     WHERE p.conindid = i.indexrelid AND p.conrelid = i.indrelid AND p.contype IN ('p', 'u', 'x')) AS is_owned \
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam \
     CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place) \
     LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number AND k.number <> 0 \
     LEFT JOIN pg_collation o ON o.oid = i.indcollation[(k.place - 1)::int] \
     WHERE i.indrelid = to_regclass($1) AND (i.indisunique OR c.relname = $2) AND k.place <= i.indnkeyatts ORDER BY c.relname, k.place";

pub(super) async fn read(db: &DatabaseConnection) -> Result<Shown, DbErr> {
    let ask = |sql: &str, names: &[&str]| {
        let names: Vec<sea_orm::Value> = names.iter().map(|name| (*name).into()).collect();
        Statement::from_sql_and_values(DbBackend::Postgres, sql, names)
    };
    let Some(relation) = db.query_one_raw(ask(RELATION, &[TABLE])).await? else {
        return Ok(Shown::Hidden);
    };
    let storage = match (relation.try_get::<Option<String>>("", "kind")?.as_deref(), relation.try_get::<Option<String>>("", "persistence")?)
    {
        (None, _) => {
            let path: Option<String> = relation.try_get("", "path")?;
            return Ok(Shown::Nothing(format!(" in the schemas that this connection searches, {}", path.unwrap_or_default())));
        }
        (Some("r" | "p"), persistence) => (persistence.as_deref() != Some("p")).then(|| {
            let what = format!("`{TABLE}` is not logged, so a crash empties it and every redelivered message takes effect again");
            Fault::new(what, [alter_table("SET LOGGED")])
        }),
        (Some("v" | "m"), _) => return Ok(Shown::NoTable("a view".to_owned())),
        (Some(other), _) => return Ok(Shown::NoTable(format!("of kind {other:?} in pg_class"))),
    };
    let mut table = Table { storage, wanted: WANTED, ..Table::default() };
    for row in db.query_all_raw(ask(COLUMNS, &[TABLE])).await? {
        let (bytewise, collation): (bool, String) = (row.try_get("", "bytewise")?, row.try_get("", "collation")?);
        table.columns.push(Column {
            name: row.try_get("", "name")?,
            kind: row.try_get("", "kind")?,
            nullable: row.try_get("", "nullable")?,
            folds: (!bytewise).then(|| format!("is compared by the nondeterministic collation `{collation}`")),
        });
    }
    for row in db.query_all_raw(ask(INDEXES, &[TABLE, UNIQUE_INDEX])).await? {
        add_key(&mut table.indexes, &row)?;
    }
    Ok(Shown::Table(table))
}

fn add_key(indexes: &mut Vec<Index>, row: &QueryResult) -> Result<(), DbErr> {
    let name: String = row.try_get("", "name")?;
    let is = |name| row.try_get::<bool>("", name);
    let key = row.try_get("", "key")?;
    if indexes.last().is_none_or(|index| index.name != name) {
        let faults = [
            (!is("is_valid")?, NOT_VALID),
            (!is("indimmediate")?, "is deferrable, so a duplicate shows at the commit only, after both bodies ran"),
            (is("is_partial")?, "has a predicate, so rows outside of it repeat"),
            (row.try_get::<String>("", "method")? != "btree", "is no btree"),
        ];
        let faults = faults.into_iter().filter_map(|(at_fault, what)| at_fault.then_some(what)).collect();
        let owner = if is("is_owned")? { Owner::Constraint } else { Owner::Nobody };
        indexes.push(Index { name, keys: Vec::new(), unique: is("indisunique")?, faults, owner });
    }
    if let Some(index) = indexes.last_mut() {
        index.keys.push(key);
        if !is("bytewise")? {
            index.faults.push("compares by a nondeterministic collation, which takes different names for one");
        }
    }
    Ok(())
}
