//! A schema that is neither there nor not there: what exists, what is missing, what to do.

use std::fmt;

use inbox_core::entity::TABLE;
use sea_orm::DbBackend;

use crate::m20261130_000001_create_inbox_message::Migration;
use crate::state::Pieces;
use crate::{HISTORY_TABLE, ddl};

/// A table that the history does not know, a history whose table is gone, or a table that lacks a piece.
///
/// Its text is for the operator: what is there, what is missing, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HalfApplied {
    there: Vec<String>,
    missing: Vec<String>,
    remedy: String,
}

/// One key that is stored more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collision {
    pub(crate) message_id: String,
    pub(crate) consumer: String,
    pub(crate) copies: i64,
}

impl Collision {
    /// More than these are not shown.
    pub(crate) const LIMIT: usize = 3;
}

impl HalfApplied {
    /// What was found.
    #[must_use]
    pub fn there(&self) -> &[String] {
        &self.there
    }

    /// What was not found.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// What mends it.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    pub(crate) fn table_gone() -> Self {
        Self {
            there: vec![record()],
            missing: vec![format!("table {TABLE}")],
            remedy: format!(
                "the table was dropped past the migrations, and its markers are lost: a redelivered message is processed \
                 again. Restore it from a backup; or run `inbox down`, which then only removes the record, and `inbox up`. \
                 A PostgreSQL connection whose search_path differs from the one that migrated looks the same: see that \
                 {HISTORY_TABLE} and {TABLE} are looked for in one schema"
            ),
        }
    }

    pub(crate) fn pieces(backend: DbBackend, pieces: Pieces, recorded: bool, collisions: &[Collision]) -> Self {
        let Pieces { mut there, mut missing, mend, columns_missing } = pieces;
        let adopt = if recorded { "" } else { "`inbox up --adopt`, " };
        let remedy = if columns_missing {
            format!(
                "this is not the table that inbox-migration creates: rename it, or drop it (`{}`) if it holds nothing that \
                 you need; then run {}`inbox up`",
                ddl::drop(backend),
                if recorded { "`inbox down` and " } else { "" }
            )
        } else if missing.is_empty() {
            format!(
                "if the application's own migrator created the table (through `inbox_migration::migrations()`), leave it to \
                 that migrator and do not run `inbox up`; if an `up` was interrupted or a restore left the history out, \
                 `inbox up --adopt` records it; if the table is empty, `{}` and `inbox up` start afresh",
                ddl::drop(backend)
            )
        } else {
            format!("stop the consumers, {}run `{}`, {adopt}and `inbox verify`", surplus(collisions), mend.join("; "))
        };
        if recorded {
            there.push(record());
        } else {
            missing.push(record());
        }
        Self { there, missing, remedy }
    }

    /// Whether only the record is missing.
    pub(crate) fn can_be_adopted(&self) -> bool {
        self.missing == [record()]
    }
}

fn surplus(collisions: &[Collision]) -> String {
    if collisions.is_empty() {
        return String::new();
    }
    let keys: Vec<String> = collisions.iter().map(ToString::to_string).collect();
    format!(
        "look at these keys, which are stored more than once (at most {} are shown): {}; their messages took effect more than \
         once, and the surplus rows must be deleted before the index can be built; then ",
        Collision::LIMIT,
        keys.join(", ")
    )
}

fn record() -> String {
    format!("the record of {} in {HISTORY_TABLE}", Migration::NAME)
}

impl fmt::Display for HalfApplied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the inbox's schema is half applied. There: {}. Missing: {}. What to do: {}",
            self.there.join("; "),
            self.missing.join("; "),
            self.remedy
        )
    }
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}) {} times", self.message_id, self.consumer, self.copies)
    }
}
