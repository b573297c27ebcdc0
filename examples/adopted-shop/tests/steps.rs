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

const GUIDE: &str = include_str!("../../../inbox-core/src/docs/adopting.md");

#[test]
fn the_guide_says_what_it_took() {
    let handler = changed(&versions!("order_placed.rs", "stock.rs", "shipment.rs"));
    let start = changed(&versions!("mod.rs"));
    let tests = changed(&versions!("order_placed/tests.rs"));
    for (what, (written, gone)) in [("handler and its helpers", handler), ("start-up", start), ("unit tests", tests)] {
        let row = format!("| {what} | {written} | {gone} |");
        assert!(GUIDE.contains(&row), "the guide does not say: {row}");
    }
    assert!(handler.0 <= 12, "{handler:?}");
    assert_eq!(changed(&versions!("http.rs", "migration.rs")), (0, 0), "the guide says that these stay as they are");
}

/// Each line that the guide's steps take away is one of the old version's, each that they bring one of the new one's.
#[test]
fn the_guide_shows_these_lines() {
    let files = versions!("mod.rs", "order_placed.rs", "stock.rs", "shipment.rs", "http.rs");
    let is_in = |version: usize, line: &str| files.iter().any(|file| file[version].lines().any(|there| there == line));
    let (mut gone, mut written) = (0, 0);
    for block in GUIDE.split("```diff\n").skip(1) {
        for shown in block.split("```").next().unwrap().lines() {
            let (sign, line) = shown.split_at(1);
            let (before, after) = (is_in(0, line), is_in(1, line));
            match sign {
                "-" => gone += usize::from(before && !after),
                "+" => written += usize::from(after),
                _ => assert!(before && after, "not in both: {shown}"),
            }
            assert!(sign == " " || (sign == "-" && before) || (sign == "+" && after), "not there: {shown}");
        }
    }
    assert!(gone >= 10 && written >= 10, "{gone} and {written}");
}
