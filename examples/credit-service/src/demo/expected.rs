//! What must be in the accounts in the end: by (source, id), from the file alone.

use std::collections::{BTreeMap, HashMap};

use inbox_core::Message as _;

use super::Line;
use crate::event::{Credit, CreditRequested};

#[derive(Debug)]
pub(crate) struct Expected {
    events: usize,
    accounts: BTreeMap<i64, i64>,
}

impl Expected {
    /// Adds up every event once. What is no event counts nothing, whatever it is.
    pub(crate) fn from(lines: &[Line<'_>]) -> anyhow::Result<Self> {
        let mut seen: HashMap<(String, String), Credit> = HashMap::new();
        let mut accounts = BTreeMap::new();
        for Line { number, event } in lines {
            let Ok(event) = CreditRequested::parse(event) else {
                continue;
            };
            if event.message_id().is_err() {
                continue;
            }
            let Credit { account_id, amount } = event.data;
            let before = seen.insert((event.source, event.id), event.data);
            match before {
                None => *accounts.entry(account_id).or_default() += amount,
                Some(before) if before == event.data => {}
                Some(before) => anyhow::bail!(
                    "line {number} repeats the source and id of an earlier one with another credit ({:?}, {before:?}): the file does not \
                     say which of them is to be applied",
                    event.data
                ),
            }
        }
        Ok(Self { events: seen.len(), accounts })
    }

    /// How many different events there are.
    pub(crate) fn events(&self) -> usize {
        self.events
    }

    /// What each account must hold.
    pub(crate) fn accounts(&self) -> &BTreeMap<i64, i64> {
        &self.accounts
    }
}
