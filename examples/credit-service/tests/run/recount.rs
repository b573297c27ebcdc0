//! The file counted again, by other means than the program's, and its table compared with that.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::program::Run;

pub(crate) const SAMPLE: &str = include_str!("../../events.jsonl");

/// The file counted again, by other means than the program's.
pub(crate) struct Recount {
    pub(crate) lines: usize,
    pub(crate) unreadable: usize,
    pub(crate) amounts: HashMap<(String, String), (i64, i64)>,
}

impl Recount {
    pub(crate) fn of(file: &str) -> Self {
        let mut recount = Self { lines: 0, unreadable: 0, amounts: HashMap::new() };
        for line in file.lines() {
            recount.lines += 1;
            let Ok(event) = serde_json::from_str::<Value>(line) else {
                recount.unreadable += 1;
                continue;
            };
            let text = |name: &str| event[name].as_str().unwrap().to_owned();
            let data = (event["data"]["account_id"].as_i64().unwrap(), event["data"]["amount"].as_i64().unwrap());
            recount.amounts.insert((text("source"), text("id")), data);
        }
        recount
    }

    pub(crate) fn total(&self) -> i64 {
        self.amounts.values().map(|(_, amount)| amount).sum()
    }

    pub(crate) fn balances(&self) -> BTreeMap<i64, i64> {
        let mut balances = BTreeMap::new();
        for (account, amount) in self.amounts.values() {
            *balances.entry(*account).or_default() += amount;
        }
        balances
    }
}

pub(crate) fn money(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

pub(crate) fn assert_table(run: &Run, file: &Recount, processed: usize) {
    run.assert_good();
    // Every third line goes to both replicas.
    let again = run.count("delivered again");
    assert_eq!(run.count("deliveries"), file.lines + file.lines / 3 + again, "{run:?}");
    assert_eq!(run.count("processed"), processed, "{run:?}");
    assert_eq!(run.count("rejected"), file.unreadable, "{run:?}");
    assert_eq!(run.count("given up"), 0, "{run:?}");
    let settled = ["processed", "duplicates", "rejected", "delivered again"].iter().map(|name| run.count(name)).sum::<usize>();
    assert_eq!(settled, run.count("deliveries"), "{run:?}");
    assert_eq!(run.count("credits applied"), file.amounts.len(), "{run:?}");
    assert_eq!(run.row("total"), money(file.total()), "{run:?}");
}
