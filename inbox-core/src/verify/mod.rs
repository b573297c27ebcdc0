//! Is the inbox table what this version needs? By catalogue and by behaviour (D12).
//!
//! The worst failure is silent: the table is there, its unique index is not, and every duplicate is processed. So a service
//! asks before its first message, and refuses to start.

mod behaviour;
mod mysql;
mod postgres;
mod sqlite;

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use sea_orm::{DatabaseConnection, DbBackend, DbErr};

use crate::Error;
use crate::entity::{TABLE, UNIQUE_INDEX};
use crate::transient::is_transient;

/// What is wrong with the inbox table, and what mends it: [`Error::Schema`]. Refuse to start.
#[derive(Clone, Debug)]
pub struct SchemaError {
    pub(crate) problems: Vec<String>,
    pub(crate) remedy: &'static str,
    pub(crate) source: Option<DbErr>,
}

/// What mends a table or a column that is not there.
const MIGRATE: &str = "run `inbox up` (or your own migrator with `inbox_migration::migrations()` in it)";
/// What mends an index that is wrong.
const MEND_INDEX: &str = "stop the consumers, remove rows that repeat a (message_id, consumer), drop the wrong index and create \
     `CREATE UNIQUE INDEX \"idx-inbox_message-message_consumer\" ON inbox_message (message_id, consumer)` (with backticks on MySQL); or, where \
     no marker is worth keeping, `inbox down --force` and `inbox up`";
/// What mends a column of the wrong kind.
const MEND_COLUMN: &str =
    "alter the columns to what `inbox up` creates, or, where no marker is worth keeping, run `inbox down --force` and `inbox up`";
/// What mends a role that may not write.
const MEND_RIGHTS: &str = "grant this role INSERT, SELECT, UPDATE and DELETE on inbox_message";

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the inbox table is not what this version needs: {}. Duplicates would not be recognised, so no message must be taken: {}",
            self.problems.join("; "),
            self.remedy
        )
    }
}

impl StdError for SchemaError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// What the catalogue says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Catalogue {
    Proven,
    /// This role, or this server, does not show it: behaviour must do.
    Unreadable,
    Wrong {
        problems: Vec<String>,
        remedy: &'static str,
    },
}

/// Twelve tries, up to about a second together: replicas that start at once meet each other's locks.
const TRIES: u32 = 12;

/// Proves that the inbox table and its unique index are there and do what a delivery relies on. Call it before the first
/// message; refuse to start on an error.
///
/// * By catalogue: the unique index is valid, unique, immediate, without a predicate, on exactly the two plain columns, with
///   a binary comparison; every column is there with its type. Where the role may not read the catalogue, a warning is logged
///   and behaviour decides.
/// * By behaviour, in a transaction that is always rolled back, with a fresh random id: markers of two consumers, and of two
///   that differ in case, are accepted; a repeated one is refused by our index.
///
/// It writes nothing that stays, locks nobody out, and any number of replicas may call it at once.
///
/// # Errors
///
/// [`Error::Schema`] names what is wrong and the command that mends it. [`Error::Begin`] and [`Error::Query`] when the
/// database could not be asked; they are [transient](Error::is_transient) where trying again may help.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let db = sea_orm::Database::connect("sqlite::memory:").await?;
/// assert!(inbox_core::verify(&db).await.is_err());      // no table yet
/// inbox_migration::up(&db).await?;
/// inbox_core::verify(&db).await?;
/// # Ok(())
/// # }
/// ```
pub async fn verify(db: &DatabaseConnection) -> Result<(), Error> {
    let catalogue = match read_catalogue(db).await {
        Ok(catalogue) => catalogue,
        Err(error) if is_transient(&error) => return Err(Error::Query(error)),
        Err(error) => {
            tracing::warn!(%error, "the catalogue cannot be read; the inbox table is verified by its behaviour alone");
            Catalogue::Unreadable
        }
    };
    if let Catalogue::Wrong { problems, remedy } = catalogue {
        return Err(Error::Schema(SchemaError { problems, remedy, source: None }));
    }
    if catalogue == Catalogue::Unreadable {
        tracing::warn!("this role cannot see the index in the catalogue; the inbox table is verified by its behaviour alone");
    }
    let mut tries = 1;
    loop {
        match behaviour::prove(db, &catalogue).await {
            Err(error) if tries < TRIES && error.is_transient() => {
                tokio::time::sleep(Duration::from_millis(20).mul_f64(f64::from(tries) * fastrand::f64())).await;
                tries += 1;
            }
            proven => return proven,
        }
    }
}

async fn read_catalogue(db: &DatabaseConnection) -> Result<Catalogue, DbErr> {
    match db.get_database_backend() {
        DbBackend::Postgres => postgres::read(db).await,
        DbBackend::MySql => mysql::read(db).await,
        _ => sqlite::read(db).await,
    }
}

/// A column as a catalogue shows it, in one spelling.
struct Column {
    name: String,
    kind: String,
    nullable: bool,
}

/// What a column must be: its name, the beginnings of the types that will do, and whether it takes null.
type Wanted = (&'static str, &'static [&'static str], bool);

/// What is wrong with the columns, if anything.
fn judge_columns(wanted: &[Wanted], found: &[Column]) -> Option<Catalogue> {
    let missing: Vec<_> =
        wanted.iter().filter(|(name, ..)| !found.iter().any(|column| column.name == *name)).map(|(name, ..)| *name).collect();
    if !missing.is_empty() {
        let problems = vec![format!("`{TABLE}` has no column {}", missing.join(", "))];
        return Some(Catalogue::Wrong { problems, remedy: MIGRATE });
    }
    let mut problems = Vec::new();
    for (name, kinds, nullable) in wanted {
        for column in found.iter().filter(|column| column.name == *name) {
            let kind = column.kind.to_ascii_lowercase();
            if !kinds.iter().any(|wanted| fits(wanted, &kind)) {
                problems.push(format!("`{TABLE}.{name}` is `{kind}` and should be `{}`", kinds.join("` or `")));
            }
            if column.nullable && !nullable {
                problems.push(format!("`{TABLE}.{name}` takes NULL, and NULL equals nothing, so it repeats"));
            }
            if !column.nullable && *nullable {
                problems.push(format!("`{TABLE}.{name}` does not take NULL"));
            }
        }
    }
    (!problems.is_empty()).then_some(Catalogue::Wrong { problems, remedy: MEND_COLUMN })
}

/// `varchar(200)` wants a varchar of at least that length; everything else is the beginning of the type.
fn fits(wanted: &str, kind: &str) -> bool {
    let length = |kind: &str| kind.split_once('(')?.1.split_once(')')?.0.parse::<u32>().ok();
    match wanted.split_once('(') {
        Some((base, _)) => kind.starts_with(base) && length(kind).is_none_or(|found| Some(found) >= length(wanted)),
        None => kind.starts_with(wanted),
    }
}

/// The index as a catalogue shows it.
struct Index {
    columns: String,
    faults: Vec<(bool, &'static str)>,
}

/// What is wrong with the index, if anything.
fn judge_index(index: Option<Index>) -> Catalogue {
    let Some(index) = index else {
        return Catalogue::Wrong { problems: vec![format!("`{TABLE}` has no index `{UNIQUE_INDEX}`")], remedy: MEND_INDEX };
    };
    let mut problems: Vec<_> =
        index.faults.iter().filter(|(is_at_fault, _)| *is_at_fault).map(|(_, what)| format!("index `{UNIQUE_INDEX}` {what}")).collect();
    if index.columns != "message_id,consumer" {
        problems.push(format!("index `{UNIQUE_INDEX}` is on ({}) and must be on exactly (message_id, consumer)", index.columns));
    }
    if problems.is_empty() { Catalogue::Proven } else { Catalogue::Wrong { problems, remedy: MEND_INDEX } }
}

fn no_table() -> Catalogue {
    Catalogue::Wrong { problems: vec![format!("there is no table `{TABLE}`")], remedy: MIGRATE }
}

#[cfg(test)]
mod tests;
