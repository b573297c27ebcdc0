//! What mends a table: SQL where some will do, `inbox` commands otherwise. Pure.

use std::collections::BTreeSet;

use sea_orm::DbBackend;

use crate::entity::{TABLE, UNIQUE_INDEX};

/// One step of a remedy, in the order in which the steps are taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mend {
    /// The role may not do what a delivery does.
    Grant,
    /// The role does not see what is wrong.
    Ask,
    /// The table is not there.
    Migrate,
    /// No SQL of one line makes this table ours.
    Rebuild,
    Drop(String),
    Alter(String),
    /// Our unique index.
    Create,
}

/// The steps as one text: commands in backticks.
pub(super) fn compose<'a>(backend: DbBackend, steps: impl Iterator<Item = &'a Mend>) -> String {
    let steps: BTreeSet<&Mend> = steps.collect();
    if steps.contains(&Mend::Grant) {
        return match backend {
            DbBackend::Sqlite => "open the file with `?mode=rwc`, as a user who may write to it and to its folder".to_owned(),
            _ => format!("`GRANT SELECT, INSERT, UPDATE, DELETE ON {TABLE}` to this role"),
        };
    }
    if steps.contains(&Mend::Ask) {
        return "run `inbox verify` as the table's owner: the catalogue, which is hidden from this role, shows what exactly is wrong"
            .to_owned();
    }
    if steps.contains(&Mend::Migrate) {
        return "run `inbox up` (or your own migrator with `inbox_migration::migrations()` in it)".to_owned();
    }
    if steps.contains(&Mend::Rebuild) {
        return "this is not the table that the migration creates. Stop the consumers, and when nothing is redelivered any more (the \
                markers are lost) run `inbox down --force` and `inbox up`"
            .to_owned();
    }
    let sql: Vec<String> = steps
        .iter()
        .filter_map(|step| match step {
            Mend::Drop(sql) | Mend::Alter(sql) => Some(fenced(sql)),
            Mend::Create => Some(fenced(&create(backend))),
            _ => None,
        })
        .collect();
    let rows = if steps.contains(&Mend::Create) {
        " (where it says that rows repeat a key: their messages took effect more than once; look at them and delete the surplus first)"
    } else {
        ""
    };
    format!("stop the consumers and run {}{rows}", sql.join("; "))
}

/// A command in as many backticks as keep its own apart, as Markdown has it.
fn fenced(sql: &str) -> String {
    if sql.contains('`') { format!("`` {sql} ``") } else { format!("`{sql}`") }
}

pub(super) fn quoted(backend: DbBackend, name: &str) -> String {
    if backend == DbBackend::MySql { format!("`{}`", name.replace('`', "``")) } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn create(backend: DbBackend) -> String {
    format!("CREATE UNIQUE INDEX {} ON {TABLE} (message_id, consumer)", quoted(backend, UNIQUE_INDEX))
}

pub(super) fn drop_index(backend: DbBackend, name: &str) -> Mend {
    let on = if backend == DbBackend::MySql { format!(" ON {TABLE}") } else { String::new() };
    Mend::Drop(format!("DROP INDEX {}{on}", quoted(backend, name)))
}

/// PostgreSQL's index of a constraint goes with the constraint only.
pub(super) fn drop_constraint(backend: DbBackend, name: &str) -> Mend {
    Mend::Drop(format!("ALTER TABLE {TABLE} DROP CONSTRAINT {}", quoted(backend, name)))
}

pub(super) fn alter_table(what: &str) -> Mend {
    Mend::Alter(format!("ALTER TABLE {TABLE} {what}"))
}
