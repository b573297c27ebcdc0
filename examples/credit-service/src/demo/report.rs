//! What the run came to, for a reader and for the exit code.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _, stdout};

use super::expected::Expected;
use super::say;
use crate::wire::Verdict;

#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// All that were sent; each is settled in one of the ways that follow.
    pub(crate) deliveries: u64,
    pub(crate) processed: u64,
    pub(crate) duplicates: u64,
    pub(crate) rejected: u64,
    /// Not settled, and delivered again.
    pub(crate) redelivered: u64,
    /// Not settled, and given up.
    pub(crate) failed: u64,
    pub(crate) interrupted: bool,
}

impl Counts {
    /// Counts one delivery that was settled, and returns what there is to tell about it.
    pub(crate) fn add(&mut self, verdict: &Verdict) -> Option<String> {
        self.deliveries += 1;
        match verdict {
            Verdict::Processed => self.processed += 1,
            Verdict::Duplicate => self.duplicates += 1,
            Verdict::Rejected { reason } => {
                self.rejected += 1;
                return Some(format!("rejected: {reason}"));
            }
            Verdict::Redeliver { transient, reason } => {
                self.redelivered += 1;
                if !transient {
                    return Some(format!("to be delivered again: {reason}"));
                }
            }
        }
        None
    }

    pub(super) fn settled(&self) -> u64 {
        self.processed + self.duplicates + self.rejected + self.redelivered + self.failed
    }
}

/// What is in the database in the end.
#[derive(Debug)]
pub(crate) struct Audit {
    pub(crate) balances: BTreeMap<i64, i64>,
    /// Events that this service has credited, in this run and before.
    pub(crate) credits: u64,
}

/// A line that is written over on a terminal, and now and then a plain one elsewhere.
pub(crate) struct Progress {
    terminal: bool,
    /// `None` where nobody knows how many there will be.
    planned: Option<usize>,
    shown: u64,
}

impl Progress {
    pub(crate) fn new(planned: Option<usize>) -> Self {
        Self { terminal: stdout().is_terminal(), planned, shown: 0 }
    }

    pub(crate) fn show(&mut self, counts: &Counts) {
        let settled = counts.settled();
        if settled < self.shown + if self.terminal { 1 } else { 100 } {
            return;
        }
        self.shown = settled;
        let of = self.planned.map_or(String::new(), |planned| format!(" of {}", counts.deliveries.max(planned as u64)));
        let text = format!(
            "{settled}{of} deliveries: {} processed, {} duplicates, {} rejected",
            counts.processed, counts.duplicates, counts.rejected
        );
        if self.terminal {
            over(&text);
        } else {
            say(text);
        }
    }

    /// Something to read at any time.
    pub(crate) fn note(&self, text: &str) {
        self.end();
        say(text);
    }

    pub(crate) fn end(&self) {
        if self.terminal {
            over("");
        }
    }
}

/// Writes over the terminal's present line.
fn over(text: &str) {
    let mut out = stdout();
    _ = write!(out, "\r\x1b[K{text}").and_then(|()| out.flush());
}

pub(crate) fn print(counts: &Counts, audit: Option<&Audit>, expected: Option<&Expected>) {
    say("");
    for (name, number) in [
        ("deliveries", counts.deliveries),
        ("  processed", counts.processed),
        ("  duplicates", counts.duplicates),
        ("  rejected", counts.rejected),
        ("  delivered again", counts.redelivered),
        ("  given up", counts.failed),
    ] {
        say(format_args!("{name:<20}{number:>12}"));
    }
    if let Some(audit) = audit {
        say(format_args!("{:<20}{:>12}", "credits applied", audit.credits));
        say(format_args!("{:<20}{:>12}", "total", money(sum(&audit.balances))));
    }
    if let Some(expected) = expected {
        say(format_args!("{:<20}{:>12}", "expected total", money(sum(expected.accounts()))));
    }
}

/// More wrong accounts than these are not named.
const SHOWN: usize = 3;

/// `Ok` where every account holds what the file says.
pub(crate) fn judge(counts: &Counts, audit: &Audit, expected: &Expected) -> anyhow::Result<()> {
    anyhow::ensure!(!counts.interrupted, "interrupted: not every event was delivered");
    anyhow::ensure!(counts.failed == 0, "{} deliveries were given up", counts.failed);
    let holds = |accounts: &BTreeMap<i64, i64>, id: i64| accounts.get(&id).copied().unwrap_or_default();
    let mut ids: Vec<i64> = audit.balances.keys().chain(expected.accounts().keys()).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    let wrong: Vec<String> = ids
        .into_iter()
        .map(|id| (id, holds(&audit.balances, id), holds(expected.accounts(), id)))
        .filter(|(_, found, wanted)| found != wanted)
        .map(|(id, found, wanted)| format!("account {id} holds {} and should hold {}", money(found.into()), money(wanted.into())))
        .collect();
    if !wrong.is_empty() {
        let more = if wrong.len() > SHOWN { format!(", and {} more", wrong.len() - SHOWN) } else { String::new() };
        let shown = wrong.into_iter().take(SHOWN).collect::<Vec<_>>().join(", ");
        anyhow::bail!("the accounts are wrong: {shown}{more}. Were they empty, or credited by these events alone, before?");
    }
    anyhow::ensure!(audit.credits == expected.events() as u64, "{} credits were applied for {} events", audit.credits, expected.events());
    say(if expected.events() == 0 { "\nThere was no event to credit." } else { "\nEvery event was credited once." });
    Ok(())
}

fn sum(accounts: &BTreeMap<i64, i64>) -> i128 {
    accounts.values().copied().map(i128::from).sum()
}

/// Cents as people write them.
fn money(cents: i128) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
}
