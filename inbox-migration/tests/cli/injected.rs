//! The command line as a function: its writers are the caller's.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use inbox_migration::cli::{Exit, Output, run};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

async fn inbox(arguments: &[&str]) -> (Exit, String, String) {
    let (out, err) = (Written::default(), Written::default());
    let mut output = Output::new(Box::new(out.clone()), Box::new(err.clone()));
    let arguments = std::iter::once("inbox").chain(arguments.iter().copied()).map(Into::into).collect();
    let exit = run(arguments, &mut output).await;
    (exit, out.text(), err.text())
}

#[tokio::test]
async fn answers_and_errors_go_where_they_are_told() {
    let (exit, out, err) = inbox(&["up", "--database-url", "sqlite::memory:"]).await;
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    assert_eq!(out, "applied m20261130_000001_create_inbox_message\n");

    let (exit, out, err) = inbox(&["up", "--database-url", "foo://u:hunter2@h/d"]).await;
    assert_eq!((exit, out.as_str()), (Exit::BadUrl, ""));
    assert!(err.starts_with("inbox: ") && !err.contains("hunter2"), "{err}");

    let (exit, out, _) = inbox(&["--help"]).await;
    assert_eq!(exit, Exit::Done);
    assert!(out.contains("Usage: inbox"), "{out}");

    let (exit, _, err) = inbox(&["up", "mysql://u:hunter2@h/d"]).await;
    assert_eq!(exit, Exit::Usage);
    assert!(err.contains("unexpected argument") && !err.contains("hunter2"), "{err}");
}

#[tokio::test]
async fn debug_says_nothing() {
    let output = Output::new(Box::new(io::sink()), Box::new(io::sink()));
    assert_eq!(format!("{output:?}"), "Output { .. }");
}
