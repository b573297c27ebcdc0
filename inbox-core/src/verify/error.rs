//! What a refusal says: what is wrong, and what mends it.

use std::error::Error as StdError;
use std::fmt;

use sea_orm::{DbBackend, DbErr};

use super::judge::Fault;
use super::remedy;

/// What is wrong with the inbox table, and what mends it: [`Error::Schema`](crate::Error::Schema). Refuse to start.
#[derive(Clone, Debug)]
pub struct SchemaError {
    problems: Vec<String>,
    remedy: String,
    source: Option<DbErr>,
}

impl SchemaError {
    pub(super) fn of(backend: DbBackend, faults: Vec<Fault>) -> Self {
        let remedy = remedy::compose(backend, faults.iter().flat_map(|fault| &fault.mends));
        Self { problems: faults.into_iter().map(|fault| fault.what).collect(), remedy, source: None }
    }

    pub(super) fn because(mut self, source: DbErr) -> Self {
        self.source = Some(source);
        self
    }

    /// What is wrong, one text for each fault.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// What mends it: commands in backticks, in their order.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { problems, remedy, .. } = self;
        write!(f, "the inbox table is not what this version needs: {}. Take no message before it is mended: {remedy}", problems.join("; "))
    }
}

impl StdError for SchemaError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}
