//! Events to publish, and what they must come to, without the program's help.

use std::collections::BTreeMap;
use std::io::Write as _;

use tempfile::NamedTempFile;

/// So many accounts are credited.
const ACCOUNTS: i64 = 7;

/// Lines of JSON, 30 of 100 a repeat, and 1 of 25 poison.
pub(crate) struct Events {
    lines: Vec<String>,
    /// What the accounts must hold.
    pub(crate) balances: BTreeMap<i64, i64>,
    /// Different events.
    pub(crate) different: i64,
    /// What nobody can handle.
    pub(crate) poison: Vec<String>,
}

impl Events {
    pub(crate) fn new(count: usize) -> Self {
        let mut events = Self { lines: Vec::new(), balances: BTreeMap::new(), different: 0, poison: Vec::new() };
        let mut good: Vec<String> = Vec::new();
        for n in 0..count {
            let line = if n % 25 == 7 {
                let poison = poison(n);
                events.poison.push(poison.clone());
                poison
            } else if n % 10 >= 7 && !good.is_empty() {
                // Often a near one: both replicas have it at the same time then.
                good[good.len() - 1 - fastrand::usize(0..good.len().min(if n % 2 == 0 { 3 } else { 200 }))].clone()
            } else {
                let (account, amount) = (i64::try_from(n).unwrap() % ACCOUNTS + 1, fastrand::i64(1..10_000));
                *events.balances.entry(account).or_default() += amount;
                events.different += 1;
                good.push(event(&format!("c-{n}"), account, amount));
                good[good.len() - 1].clone()
            };
            events.lines.push(line);
        }
        events
    }

    /// A file for each of so many parts.
    pub(crate) fn files(&self, parts: usize) -> Vec<NamedTempFile> {
        self.lines.chunks(self.lines.len().div_ceil(parts)).map(file).collect()
    }
}

pub(crate) fn event(id: &str, account: i64, amount: i64) -> String {
    format!(
        r#"{{"specversion":"1.0","id":"{id}","source":"/shops/rabbit","type":"com.example.credit.requested.v1","data":{{"account_id":{account},"amount":{amount}}}}}"#
    )
}

/// Each of a different kind.
fn poison(n: usize) -> String {
    match n / 25 % 5 {
        0 => format!("{{\"n\":{n}"),
        1 => event("  ", 1, 100).replace("/shops/rabbit", &format!("/{n}")),
        2 => event(&format!("p-{n}"), 1, 100).replace("com.example.credit", "com.example.debit"),
        3 => event(&format!("p-{n}"), 1, -100),
        _ => event("", 1, 100).replace("/shops/rabbit", &format!("/{n}")),
    }
}

pub(crate) fn file(lines: &[String]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
    file
}
