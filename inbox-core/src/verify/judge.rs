//! What of a table, as a catalogue shows it, is wrong. Pure; the backends' files only ask.

use sea_orm::{DbBackend, DbErr};

use super::remedy::{Mend, alter_table, drop_constraint, drop_index};
use crate::entity::{TABLE, UNIQUE_INDEX};

/// What the catalogue says.
#[derive(Debug)]
pub(super) enum Catalogue {
    Proven,
    /// This role, or this server, does not show it: behaviour must do.
    Unreadable(Option<DbErr>),
    Wrong(Vec<Fault>),
}

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: String,
    pub(super) mends: Vec<Mend>,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>, mends: impl Into<Vec<Mend>>) -> Self {
        Self { what: what.into(), mends: mends.into() }
    }
}

/// A fault of PostgreSQL's that passes, while REINDEX CONCURRENTLY is at work.
pub(super) const NOT_VALID: &str = "is not valid: its concurrent build failed";

/// What a catalogue shows under the table's name.
#[derive(Debug)]
pub(super) enum Shown {
    /// Nothing, and this says where it looked.
    Nothing(String),
    /// Nothing, and the role's rights may be why.
    Hidden,
    /// A view, or the like.
    NoTable(String),
    Table(Table),
}

#[derive(Debug, Default)]
pub(super) struct Table {
    /// What is wrong with the table as a whole.
    pub(super) storage: Option<Fault>,
    pub(super) wanted: &'static [Wanted],
    pub(super) columns: Vec<Column>,
    pub(super) indexes: Vec<Index>,
}

/// A column as it has to be.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) name: &'static str,
    /// The types that will do. A length of text is the least, every other number is exact.
    pub(super) kinds: &'static [&'static str],
    pub(super) nullable: bool,
    /// What `inbox up` creates; empty where no ALTER leads there.
    pub(super) definition: &'static str,
}

/// A column as it is.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) nullable: bool,
    /// Why it takes different texts for one, if it does.
    pub(super) folds: Option<String>,
}

/// A unique index, or the one with our name, as it is.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) name: String,
    /// In order; `None` is an expression or a part of a column.
    pub(super) keys: Vec<Option<String>>,
    pub(super) unique: bool,
    /// What else is wrong with it, if it is ours.
    pub(super) faults: Vec<&'static str>,
    pub(super) owner: Owner,
}

/// What an index belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Owner {
    #[default]
    Nobody,
    /// A constraint of the same name, which has to be dropped instead.
    Constraint,
    /// The table's own text, which nothing can change.
    Table,
}

pub(super) fn judge(backend: DbBackend, shown: Shown) -> Catalogue {
    let faults = match shown {
        Shown::Hidden => return Catalogue::Unreadable(None),
        Shown::Nothing(place) => vec![Fault::new(format!("there is no table `{TABLE}`{place}"), [Mend::Migrate])],
        Shown::NoTable(kind) => vec![Fault::new(format!("`{TABLE}` is {kind} and must be a table"), [Mend::Rebuild])],
        Shown::Table(table) => {
            let mut faults = Vec::from_iter(table.storage);
            for wanted in table.wanted {
                judge_column(backend, wanted, &table.columns, &mut faults);
            }
            judge_our_index(backend, &table.indexes, &mut faults);
            judge_other_indexes(backend, &table.indexes, &mut faults);
            faults
        }
    };
    if faults.is_empty() { Catalogue::Proven } else { Catalogue::Wrong(faults) }
}

fn judge_column(backend: DbBackend, wanted: &Wanted, found: &[Column], faults: &mut Vec<Fault>) {
    let Wanted { name, kinds, nullable, .. } = wanted;
    let Some(column) = found.iter().find(|column| column.name == *name) else {
        let seen = if backend == DbBackend::MySql { " that this role can see" } else { "" };
        faults.push(Fault::new(format!("`{TABLE}` has no column `{name}`{seen}"), [Mend::Rebuild]));
        return;
    };
    let kind = column.kind.to_ascii_lowercase();
    let fits = kinds.iter().any(|wanted| fits(backend, wanted, &kind));
    let mut fault = |what: String, mends: Vec<Mend>| faults.push(Fault::new(format!("`{TABLE}.{name}` {what}"), mends));
    if !fits {
        let found = if kind.is_empty() { "has no type" } else { &format!("is `{kind}`") };
        fault(format!("{found} and should be `{}`", kinds.join("` or `")), retype(backend, wanted, &kind));
    }
    if let Some(why) = &column.folds {
        fault(format!("{why}, which takes different names for one"), retype(backend, wanted, &kind));
    }
    if column.nullable && !nullable {
        fault("takes NULL, and NULL equals nothing, so it repeats".to_owned(), renull(backend, wanted, &kind, fits));
    }
    if !column.nullable && *nullable {
        fault("does not take NULL".to_owned(), renull(backend, wanted, &kind, fits));
    }
}

/// Gives a column its type.
fn retype(backend: DbBackend, wanted: &Wanted, kind: &str) -> Vec<Mend> {
    let Wanted { name, definition, .. } = wanted;
    match backend {
        DbBackend::Postgres => {
            let plain = definition.split(" COLLATE").next().unwrap_or(definition);
            vec![alter_table(&format!("ALTER COLUMN {name} TYPE {definition} USING {name}::{plain}"))]
        }
        // Text would be cut into 16 bytes of its own.
        DbBackend::MySql if !definition.starts_with("binary") => {
            let mut mends = Vec::new();
            if kind.starts_with("timestamp") {
                // It is converted from the session's zone, and `datetime` has none.
                mends.push(Mend::Alter("SET time_zone = '+00:00'".to_owned()));
            }
            mends.extend(modify(wanted));
            mends
        }
        _ => vec![Mend::Rebuild],
    }
}

/// Lets a column take NULL, or not. On MySQL it is one definition with the type.
fn renull(backend: DbBackend, wanted: &Wanted, kind: &str, fits: bool) -> Vec<Mend> {
    let Wanted { name, nullable, .. } = wanted;
    match backend {
        DbBackend::Postgres => {
            let change = if *nullable { "DROP" } else { "SET" };
            vec![alter_table(&format!("ALTER COLUMN {name} {change} NOT NULL"))]
        }
        DbBackend::MySql if fits => modify(wanted),
        _ => retype(backend, wanted, kind),
    }
}

fn modify(wanted: &Wanted) -> Vec<Mend> {
    let null = if wanted.nullable { "NULL" } else { "NOT NULL" };
    vec![alter_table(&format!("MODIFY {} {} {null}", wanted.name, wanted.definition))]
}

fn judge_our_index(backend: DbBackend, found: &[Index], faults: &mut Vec<Fault>) {
    let Some(index) = found.iter().find(|index| index.name == UNIQUE_INDEX) else {
        faults.push(Fault::new(format!("`{TABLE}` has no index `{UNIQUE_INDEX}`"), [Mend::Create]));
        return;
    };
    let again = [drop_of(backend, index), Mend::Create];
    let mut fault = |what: &str| faults.push(Fault::new(format!("index `{UNIQUE_INDEX}` {what}"), again.clone()));
    if !index.unique {
        fault("is not unique");
    }
    index.faults.iter().copied().for_each(&mut fault);
    if index.keys != [Some("message_id".to_owned()), Some("consumer".to_owned())] {
        fault(&format!("is on ({}) and must be on exactly (message_id, consumer)", keys(index)));
    }
}

/// Another unique index refuses markers that are no duplicates, or hides which index found a duplicate. With the surrogate key
/// in it, it never finds anything. Another one on exactly ours' columns is what REINDEX CONCURRENTLY builds on PostgreSQL, where
/// the row is looked at whichever of the two found the duplicate.
fn judge_other_indexes(backend: DbBackend, found: &[Index], faults: &mut Vec<Fault>) {
    let is_id = |key: &Option<String>| key.as_deref() == Some("id");
    let is_a_copy = |index: &&Index| {
        let ours = index.keys == [Some("message_id".to_owned()), Some("consumer".to_owned())];
        let beside = index.owner == Owner::Nobody && found.iter().any(|index| index.name == UNIQUE_INDEX);
        backend == DbBackend::Postgres && ours && beside && index.faults.iter().all(|fault| *fault == NOT_VALID)
    };
    let others = found.iter().filter(|index| index.name != UNIQUE_INDEX && index.unique && !index.keys.iter().any(is_id));
    for index in others.filter(|index| !is_a_copy(index)) {
        let what = format!(
            "`{TABLE}` has another unique index, `{}` on ({}): it refuses markers that are no duplicates, or hides those that are",
            index.name,
            keys(index)
        );
        faults.push(Fault::new(what, [drop_of(backend, index)]));
    }
}

fn drop_of(backend: DbBackend, index: &Index) -> Mend {
    match index.owner {
        Owner::Nobody => drop_index(backend, &index.name),
        Owner::Constraint => drop_constraint(backend, &index.name),
        Owner::Table => Mend::Rebuild,
    }
}

fn keys(index: &Index) -> String {
    index.keys.iter().map(|key| key.as_deref().unwrap_or("an expression or a part of a column")).collect::<Vec<_>>().join(", ")
}

/// Whether a type will do. Without a number PostgreSQL and SQLite mean the most, and MySQL the least.
pub(super) fn fits(backend: DbBackend, wanted: &str, kind: &str) -> bool {
    let (wanted_words, wanted_number) = words_and_number(wanted);
    let (words, number) = words_and_number(kind);
    words == wanted_words
        && match (wanted_number, number) {
            (None, _) => true,
            (Some(_), None) => backend != DbBackend::MySql,
            (Some(wanted), Some(number)) if words.contains("char") => number >= wanted,
            (wanted, number) => number == wanted,
        }
}

/// `timestamp(6) with time zone` is `timestamp with time zone` and 6.
fn words_and_number(kind: &str) -> (String, Option<u32>) {
    let Some((head, (number, tail))) = kind.split_once('(').and_then(|(head, rest)| Some((head, rest.split_once(')')?))) else {
        return (kind.to_owned(), None);
    };
    match number.parse() {
        Ok(number) => (format!("{head}{tail}"), Some(number)),
        Err(_) => (kind.to_owned(), None),
    }
}
