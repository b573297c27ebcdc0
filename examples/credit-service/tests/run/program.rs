//! The program, started as a user starts it.

use std::process::{Child, Command, Output, Stdio};

/// Starts the program; without a URL on its own SQLite file.
pub(crate) fn start(url: Option<&str>, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_credit-service"));
    command
        .args(arguments)
        .env_remove("CREDIT_SERVICE_DATABASE_URL")
        .env_remove("CREDIT_SERVICE_AMQP_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(url) = url {
        command.args(["--database-url", url]);
    }
    command.spawn().unwrap()
}

pub(crate) fn run(url: Option<&str>, arguments: &[&str]) -> Run {
    Run::of(start(url, arguments).wait_with_output().unwrap())
}

/// What it printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let run = Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        assert!(!run.err.contains("panicked"), "{run:?}");
        let plain = |text: &str| !text.chars().any(|char| char.is_control() && char != '\n');
        assert!(plain(&run.out) && plain(&run.err), "no terminal, no control characters: {run:?}");
        run
    }

    /// The number at the end of a row of the table.
    pub(crate) fn row(&self, name: &str) -> String {
        let row = self.out.lines().rev().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("no {name}: {self:?}"));
        row.rsplit(' ').next().unwrap().to_owned()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.row(name).parse().unwrap()
    }

    pub(crate) fn assert_good(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.err, "", "{self:?}");
        assert_eq!(self.row("total"), self.row("expected total"), "{self:?}");
        self
    }

    /// It says no, and why.
    pub(crate) fn assert_bad(&self, says: &str) {
        assert_eq!(self.code, Some(1), "{self:?}");
        assert!(self.err.contains(says), "{says:?} is not said: {self:?}");
    }
}
