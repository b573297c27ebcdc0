//! A schema that is neither there nor not there: what exists, what is missing, what to do.

use std::fmt;

use inbox_core::entity::TABLE;

use crate::HISTORY_TABLE;
use crate::m20261130_000001_create_inbox_message::Migration;
use crate::state::Pieces;

/// A table that the history does not know, a history whose table is gone, or a table that lacks a piece.
///
/// Its text is for the operator: what is there, what is missing, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HalfApplied {
    there: Vec<String>,
    missing: Vec<String>,
    remedy: String,
    sql: Vec<String>,
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

    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    /// The statements that the remedy speaks of, in order; none where no SQL is needed.
    #[must_use]
    pub fn sql(&self) -> &[String] {
        &self.sql
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
            sql: Vec::new(),
        }
    }

    pub(crate) fn pieces(pieces: Pieces, recorded: bool, collisions: &[Collision]) -> Self {
        let Pieces { mut there, mut missing, mend, columns_missing } = pieces;
        let mut sql = Vec::new();
        let remedy = if columns_missing {
            format!(
                "this is not the table that inbox-migration creates: rename it, or `DROP TABLE {TABLE}` if it holds nothing that \
                 you need; then run {}`inbox up`",
                if recorded { "`inbox down` and " } else { "" }
            )
        } else if missing.is_empty() {
            format!(
                "if the application's own migrator created the table (through `inbox_migration::migrations()`), leave it to \
                 that migrator and do not run `inbox up`; if an `up` was interrupted or a restore left the history out, \
                 `inbox up --adopt` records it; if the table is empty, `DROP TABLE {TABLE}` and `inbox up` start afresh"
            )
        } else {
            sql = mend;
            format!(
                "stop the consumers, {}run the SQL below, {}and `inbox verify`",
                surplus(collisions),
                if recorded { "" } else { "`inbox up --adopt`, " }
            )
        };
        if recorded {
            there.push(record());
        } else {
            missing.push(record());
        }
        Self { there, missing, remedy, sql }
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
        )?;
        for statement in &self.sql {
            write!(f, "\n    {statement};")?;
        }
        Ok(())
    }
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}) {} times", self.message_id, self.consumer, self.copies)
    }
}
