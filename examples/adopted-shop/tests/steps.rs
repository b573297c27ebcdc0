//! How many lines the adoption took: the guide says it, and this counts it.
#![allow(clippy::unwrap_used, reason = "a failed set-up stops the test")]

use similar::{ChangeTag, TextDiff};

/// Lines of the new version that are not in the old one, and lines of the old one that are gone.
fn changed(files: &[[&str; 2]]) -> (usize, usize) {
    let diffs: Vec<_> = files.iter().map(|[before, after]| TextDiff::from_lines(*before, *after)).collect();
    let count = |tag| diffs.iter().flat_map(TextDiff::iter_all_changes).filter(|change| change.tag() == tag).count();
    (count(ChangeTag::Insert), count(ChangeTag::Delete))
}

macro_rules! versions {
    ($($file:literal),+) => { [$([include_str!(concat!("../src/before/", $file)), include_str!(concat!("../src/after/", $file))]),+] };
}

#[test]
fn the_guide_says_what_it_took() {
    let guide = include_str!("../../../inbox-core/src/docs/adopting.md");
    let handler = changed(&versions!("order_placed.rs", "stock.rs", "shipment.rs"));
    let start = changed(&versions!("mod.rs"));
    let tests = changed(&versions!("order_placed/tests.rs"));
    for (what, (written, gone)) in [("handler and its helpers", handler), ("start-up", start), ("unit tests", tests)] {
        let row = format!("| {what} | {written} | {gone} |");
        assert!(guide.contains(&row), "the guide does not say: {row}");
    }
    assert!(handler.0 <= 12, "{handler:?}");
    assert_eq!(changed(&versions!("http.rs", "migration.rs")), (0, 0), "the guide says that these stay as they are");
}
