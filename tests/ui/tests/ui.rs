//! What the macros say, and where.
//!
//! `cargo test -p inbox-ui-tests` runs all of it, `cargo test -p inbox-ui-tests -- ui trybuild=retries` the files of that
//! name. `TRYBUILD=overwrite` before it writes the messages anew: read the difference, it is what a user will read.

#[test]
fn ui() {
    let tests = trybuild::TestCases::new();
    tests.pass("pass/*.rs");
    tests.compile_fail("fail/*.rs");
}
