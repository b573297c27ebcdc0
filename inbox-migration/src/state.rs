//! History and table together: nothing there, all there, or half applied. The judgement is pure; [`read`] asks.

use inbox_core::entity::{OPEN_INDEX, TABLE, UNIQUE_INDEX};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, IdenStatic, Statement};

use crate::catalog::{self, Table};
use crate::half_applied::{Collision, HalfApplied};
use crate::m20261130_000001_create_inbox_message::Migration;
use crate::{HISTORY_TABLE, ddl, history};

/// What is there.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) backend: DbBackend,
    /// The migrations that the history records.
    pub(crate) history: Vec<String>,
    pub(crate) table: Option<Table>,
    /// Keys that are stored more than once; only asked for where the unique index is not what it should be.
    pub(crate) collisions: Vec<Collision>,
}

/// How far the schema is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// There is no inbox here.
    Pending,
    /// All there.
    Applied,
    /// Neither.
    HalfApplied(HalfApplied),
}

/// Asks history and catalogue; writes nothing and needs no rights on the table itself (unless its index is missing).
pub(crate) async fn read<C: ConnectionTrait>(db: &C) -> Result<Facts, DbErr> {
    let backend = db.get_database_backend();
    let mut facts = Facts {
        backend,
        history: history::read(db).await?.into_iter().map(|model| model.version).collect(),
        table: catalog::table(db).await?,
        collisions: Vec::new(),
    };
    if facts.table.as_ref().is_some_and(keys_can_collide) {
        facts.collisions = collisions(db).await?;
    }
    Ok(facts)
}

impl Facts {
    pub(crate) fn recorded(&self) -> bool {
        self.history.iter().any(|name| name == Migration::NAME)
    }

    /// Migrations of a version after this one.
    pub(crate) fn unknown(&self) -> Vec<String> {
        self.history.iter().filter(|name| *name != Migration::NAME).cloned().collect()
    }

    pub(crate) fn status(&self) -> Status {
        match (&self.table, self.recorded()) {
            (None, false) => Status::Pending,
            (None, true) => Status::HalfApplied(HalfApplied::table_gone()),
            (Some(table), recorded) => {
                let pieces = Pieces::of(self.backend, table);
                if recorded && pieces.missing.is_empty() {
                    Status::Applied
                } else {
                    Status::HalfApplied(HalfApplied::pieces(pieces, recorded, &self.collisions))
                }
            }
        }
    }
}

/// What of the migration is there, what is not, and the SQL that makes up for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    pub(crate) there: Vec<String>,
    pub(crate) missing: Vec<String>,
    pub(crate) mend: Vec<String>,
    /// SQL cannot make up for a missing column: the table is not ours, or not of this version.
    pub(crate) columns_missing: bool,
}

impl Pieces {
    fn of(backend: DbBackend, table: &Table) -> Self {
        let mut pieces = Self::default();
        let (there, missing): (Vec<_>, Vec<_>) =
            ddl::COLUMNS.iter().map(IdenStatic::as_str).partition(|column| table.columns.iter().any(|found| found == column));
        pieces.there.push(format!("table {TABLE} with {} of its {} columns", there.len(), ddl::COLUMNS.len()));
        pieces.missing.extend(missing.iter().map(|column| format!("column {column}")));
        pieces.columns_missing = !missing.is_empty();
        pieces.index(backend, table, UNIQUE_INDEX);
        pieces.index(backend, table, OPEN_INDEX);
        pieces
    }

    fn index(&mut self, backend: DbBackend, table: &Table, name: &str) {
        let unique = name == UNIQUE_INDEX;
        let columns = if unique { &ddl::UNIQUE_COLUMNS } else { ddl::open_columns(backend) };
        let columns: Vec<Option<&str>> = columns.iter().map(|column| Some(column.as_str())).collect();
        let create = if unique { ddl::create_unique_index(backend) } else { ddl::create_open_index(backend) };
        let kind = if unique { "unique index" } else { "index" };
        let Some(index) = table.indexes.iter().find(|index| index.name == name) else {
            self.missing.push(format!("{kind} {name}"));
            self.mend.push(create);
            return;
        };
        let fault = if !index.valid {
            Some("is invalid (its build failed, or it is deferrable)")
        } else if index.unique != unique {
            Some(if unique { "is not unique" } else { "is unique" })
        } else if index.partial != (!unique && backend != DbBackend::MySql) {
            Some(if index.partial { "is partial" } else { "is not partial" })
        } else if index.columns.iter().map(Option::as_deref).ne(columns) {
            Some("is not on the columns it should be on")
        } else {
            None
        };
        if let Some(fault) = fault {
            self.missing.push(format!("{kind} {name}: the one there {fault}"));
            self.mend.push(ddl::drop_index(backend, name));
            self.mend.push(create);
        } else {
            self.there.push(format!("{kind} {name}"));
        }
    }
}

/// What the migration says when it finds a table in its way; it cannot know in whose history it runs.
pub(crate) fn in_the_way(backend: DbBackend, table: &Table) -> String {
    let pieces = Pieces::of(backend, table);
    let missing = if pieces.missing.is_empty() {
        "nothing is missing in it".to_owned()
    } else {
        format!("it is without: {}", pieces.missing.join("; "))
    };
    format!(
        "{name} cannot create {TABLE}: a table (or view) of that name exists already, and {missing}. Either another history \
         records it: `inbox up` keeps {HISTORY_TABLE}, an application that appends `inbox_migration::migrations()` keeps its \
         own; use one of the two. Or schema sync or an interrupted migration left it: if it holds no rows that you need, \
         run `DROP TABLE {TABLE}` and migrate again",
        name = Migration::NAME,
    )
}

/// The index does not hold the keys apart, and the keys can be counted.
fn keys_can_collide(table: &Table) -> bool {
    let guarded = table.indexes.iter().any(|index| {
        let columns = ddl::UNIQUE_COLUMNS.iter().map(|column| Some(column.as_str()));
        index.unique && index.valid && !index.partial && index.columns.iter().map(Option::as_deref).eq(columns)
    });
    !guarded && ddl::UNIQUE_COLUMNS.iter().all(|column| table.columns.iter().any(|found| found == column.as_str()))
}

async fn collisions<C: ConnectionTrait>(db: &C) -> Result<Vec<Collision>, DbErr> {
    let backend = db.get_database_backend();
    let [message_id, consumer] = ddl::UNIQUE_COLUMNS.map(|column| column.as_str());
    let message_text = match backend {
        DbBackend::Postgres => format!("{message_id}::text"),
        DbBackend::MySql => format!("LOWER(HEX({message_id}))"),
        _ => format!("CASE typeof({message_id}) WHEN 'blob' THEN lower(hex({message_id})) ELSE {message_id} END"),
    };
    let sql = format!(
        "SELECT {message_text} AS message_text, {consumer} AS consumer_text, COUNT(*) AS copies FROM {TABLE} \
         GROUP BY {message_id}, {consumer} HAVING COUNT(*) > 1 LIMIT {}",
        Collision::LIMIT
    );
    let rows = db.query_all_raw(Statement::from_string(backend, sql)).await?;
    rows.iter()
        .map(|row| {
            Ok(Collision {
                message_id: row.try_get("", "message_text")?,
                consumer: row.try_get("", "consumer_text")?,
                copies: row.try_get("", "copies")?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
