//! The program as a user runs it: on every backend, twice, on bad files, killed, interrupted, and where it has to say no.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "run/databases.rs"]
mod databases;
#[path = "run/files.rs"]
mod files;
#[path = "run/naive.rs"]
mod naive;
#[path = "run/program.rs"]
mod program;
#[path = "run/recount.rs"]
mod recount;
#[path = "run/stopped.rs"]
mod stopped;

use std::collections::HashMap;

use crate::program::run;
use crate::recount::{Recount, SAMPLE, assert_table};

#[test]
fn the_sample_is_what_it_should_be() {
    let file = Recount::of(SAMPLE);
    assert!(file.lines >= 200, "{}", file.lines);
    assert_eq!(file.unreadable, 1);
    let repeats = file.lines - file.unreadable - file.amounts.len();
    assert!((25..=35).contains(&(repeats * 100 / file.lines)), "{repeats} of {}", file.lines);
    let mut sources: HashMap<&str, Vec<&str>> = HashMap::new();
    for (source, id) in file.amounts.keys() {
        sources.entry(id).or_default().push(source);
    }
    assert!(sources.values().filter(|sources| sources.len() > 1).count() > 20, "equal ids from several sources");
    // The damaged line lands at one replica, so the table shows one rejection.
    assert!(SAMPLE.lines().position(|line| !line.ends_with("}}")).unwrap() % 3 < 2);
}

/// The README's main command, twice in the same folder.
#[test]
fn without_arguments() {
    for _ in 0..2 {
        let run = run(None, &[]);
        assert_table(&run, &Recount::of(SAMPLE), Recount::of(SAMPLE).amounts.len());
        assert!(run.out.contains("two replicas on SQLite"), "{run:?}");
        assert!(run.out.contains("rejected, line 119: it is no CloudEvent of this service"), "{run:?}");
        assert!(run.out.ends_with("Every event was credited once.\n"), "{run:?}");
    }
}
