//! The guide cannot rot: what it names is there.
#![allow(clippy::unwrap_used, reason = "a failed set-up stops the test")]

use std::{fs, path::Path};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../inbox-core/src/docs");
const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");

fn pages() -> Vec<(String, String)> {
    let files = fs::read_dir(DOCS).unwrap().map(|file| file.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap())).collect()
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(DOCS).join(name)).unwrap()
}

/// The cells of each row of each table, without the headings.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let table = |line: &&str| line.starts_with("| ");
    let lines: Vec<&str> = page.lines().collect();
    let is_heading = |n: usize| lines.get(n + 1).is_some_and(|next| next.starts_with("| ---"));
    let rows = lines.iter().enumerate().filter(|(n, line)| table(line) && !line.starts_with("| ---") && !is_heading(*n));
    rows.map(|(_, line)| line[1..line.len() - 1].split('|').map(str::trim).collect()).collect()
}

#[test]
fn every_failure_mode_names_tests_that_exist() {
    let page = page("failure_modes.md");
    let rows = rows(&page);
    assert!(rows.len() > 35, "{} rows", rows.len());
    for row in rows {
        assert_eq!(row.len(), 5, "{row:?}");
        let tests: Vec<&str> = row[4].split('`').filter(|word| !word.trim().is_empty()).collect();
        assert!(!tests.is_empty(), "no test: {row:?}");
        for test in tests {
            let (file, name) = test.split_once("::").unwrap_or_else(|| panic!("not FILE::TEST: {test}"));
            let text = fs::read_to_string(Path::new(TESTS).join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(is_test(&text, name), "there is no test {test}");
        }
    }
}

/// A function of this name that is one of `backends!`'s, or is marked as a test.
fn is_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let declared = |line: &str| line.trim_start().trim_start_matches("async ").starts_with(&format!("fn {name}("));
    let Some(at) = lines.iter().position(|line| declared(line)) else { return false };
    let in_backends = lines[..at].iter().rev().find(|line| !line.is_empty() && !line.starts_with(' ')) == Some(&"backends! {");
    in_backends
        || lines[..at].iter().rev().take_while(|line| !line.is_empty()).any(|line| line.contains("test]") || line.contains("tokio::test("))
}

/// The page about errors has a row for each variant, and the row about no other.
#[test]
fn every_error_has_its_row() {
    let source = include_str!("../../inbox-core/src/error.rs");
    let body = source.split_once("pub enum Error {").unwrap().1.split_once("\n}").unwrap().0;
    let variants: Vec<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("    ").filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase())))
        .map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap())
        .collect();
    let page = page("errors.md");
    let mut told: Vec<&str> = rows(&page).iter().filter_map(|row| row[0].strip_prefix('`')?.strip_suffix('`')).collect();
    let mut there = variants;
    told.sort_unstable();
    there.sort_unstable();
    assert!(there.len() >= 11, "{there:?}");
    assert_eq!(told, there);
}

/// On the forge: each link leads to a file. In rustdoc: `links.md` has each of them, too.
#[test]
fn every_link_leads_somewhere() {
    let links = page("links.md");
    for (name, text) in pages().into_iter().filter(|(name, _)| name != "links.md") {
        let own: Vec<(&str, &str)> = text.lines().filter(|line| line.starts_with('[')).filter_map(|line| line.split_once("]: ")).collect();
        for (label, target) in &own {
            assert!(Path::new(DOCS).join(target).is_file(), "{name}: {target}");
            assert!(links.contains(&format!("\n{label}]: ")), "links.md lacks {label}]");
        }
        // Every link that is used is defined: `[label]` without a target of its own, outside of code.
        let prose: String = text.split("```").step_by(2).collect();
        for link in links.lines().filter_map(|line| line.split_once("]: ")).map(|(label, _)| format!("{label}]")) {
            let used = prose.lines().filter(|line| !line.starts_with(&format!("{link}: "))).any(|line| line.contains(&link));
            let defined = own.iter().any(|(label, _)| format!("{label}]") == link);
            assert_eq!(used, defined, "{name}: {link}");
        }
    }
}

/// Every page is in the guide's table, in rustdoc, and read from top to bottom.
#[test]
fn every_page_is_reached() {
    let (guide, modules) = (page("guide.md"), include_str!("../../inbox-core/src/guide.rs"));
    for (name, text) in pages().into_iter().filter(|(name, _)| !["links.md", "guide.md"].contains(&name.as_str())) {
        assert!(guide.contains(&format!("]: {name}")), "guide.md lacks {name}");
        assert!(modules.contains(&format!("\"docs/{name}\"")), "guide.rs lacks {name}");
        assert!(
            name == "failure_modes.md" || text.contains("\nNext: ") || text.contains("shows it: [failure modes]"),
            "{name} ends nowhere"
        );
    }
}
