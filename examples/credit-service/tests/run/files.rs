//! Files that are not what they should be, and things that are not there.

use std::fmt::Write as _;
use std::io::Write as _;

use tempfile::NamedTempFile;

use crate::program::run;

pub(crate) fn events(text: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_ref()).unwrap();
    file
}

fn event(id: &str, amount: &str) -> String {
    let head = r#""specversion":"1.0","source":"/s","type":"com.example.credit.requested.v1""#;
    format!("{{{head},\"id\":{id},\"data\":{{\"account_id\":1,\"amount\":{amount}}}}}\n")
}

/// What is no event is refused, each with its reason, and the events among it are credited.
#[test]
fn bad_files() {
    let run_on = |text: &[u8]| run(None, &["--events", events(text).path().to_str().unwrap()]);

    let empty = run_on(b"");
    assert_eq!(empty.assert_good().count("deliveries"), 0);
    assert!(empty.out.ends_with("There was no event to credit.\n"), "{empty:?}");
    assert_eq!(run_on(b"\n\n  \r\n").assert_good().count("deliveries"), 0);

    let mut garbage = b"garbage\n\0\0\0\n\xff\xfe\xfd\n{}\n[]\nnull\n\"text\"\n{\"id\":\n".to_vec();
    garbage.extend(b"[".repeat(300_000));
    let garbage = run_on(&garbage);
    assert_eq!(garbage.assert_good().count("processed"), 0);
    assert_eq!(garbage.count("rejected"), garbage.count("deliveries"));

    let mut mixed = String::new();
    for (id, amount) in [
        ("\"1\"", "100"),
        ("\"\"", "100"),
        ("\" \\t\"", "100"),
        ("null", "100"),
        ("7", "100"),
        ("\"2\"", "-100"),
        ("\"3\"", "0"),
        ("\"4\"", "99999999999"),
    ] {
        mixed += &event(id, amount);
    }
    writeln!(mixed, "\n{}\r\n{}", event("\"1\"", "100").trim(), event("\"1 \"", "1").trim()).unwrap();
    let mixed = run_on(mixed.as_bytes());
    assert_eq!(mixed.assert_good().count("processed"), 2, "{mixed:?}");
    assert_eq!(mixed.row("total"), "1.01");
    for said in
        ["line 2: the message has no usable identity: the id is empty or blank", "line 3: the message has", "line 5: it is no CloudEvent"]
    {
        assert!(mixed.out.contains(&format!("rejected, {said}")), "{said}: {mixed:?}");
    }

    run_on((event("\"1\"", "100") + &event("\"1\"", "200")).as_bytes())
        .assert_bad("line 2 repeats the source and id of an earlier one with another credit");
}

#[test]
fn what_is_not_there() {
    run(None, &["--events", "/no/such/file.jsonl"]).assert_bad("cannot read /no/such/file.jsonl: No such file");
    run(None, &["--events", "/tmp"]).assert_bad("cannot read /tmp");
    run(Some("sqlite:///no/such/folder/x.sqlite?mode=rwc"), &[]).assert_bad("no connection to the database");
    run(Some("nonsense"), &[]).assert_bad("no connection to the database");
    assert_eq!(run(None, &["--nonsense"]).code, Some(2));
    let help = run(None, &["--help"]);
    assert!(help.out.contains("--events <FILE>") && !help.out.contains("replica <N>"), "{help:?}");
}

/// A password is nowhere to be read.
#[test]
fn an_unreachable_server() {
    let run = run(Some("postgres://somebody:sesame@127.0.0.1:1/x"), &[]);
    run.assert_bad("no connection to the database");
    assert!(!run.err.contains("sesame") && !run.out.contains("sesame"), "{run:?}");
}
