//! Everything that is written goes through here, and leaves the secrets behind.

use std::fmt;
use std::io::{self, Write};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::exit::Exit;
use super::failure::Failure;
use super::scrub::Scrub;

/// Where the command line writes.
pub struct Output {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    scrub: Scrub,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl Output {
    /// Answers go to `out`, errors to `err`.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Self {
        Self { out, err, scrub: Scrub::default() }
    }

    /// From now on these are not shown either.
    pub(super) fn scrub(&mut self, scrub: Scrub) {
        self.scrub.add(scrub);
    }

    pub(super) fn line(&mut self, text: &str) {
        // Who closed the pipe does not want to know.
        let _ = writeln!(self.out, "{}", self.scrub.clean(text.trim_end()));
    }

    /// A text to be kept, as it is: names in it may look like secrets, and a part of it must not be taken for the whole.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            // Who closed the pipe does not want to know.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure { exit: Exit::Other, message: format!("the text cannot be written: {error}") })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn error(&mut self, text: &str) {
        let _ = writeln!(self.err, "{}", self.scrub.clean(text.trim_end()));
    }
}

/// Warnings, with `verbose` everything, of the inbox's own crates. Not the environment's choice: at `trace` SeaORM and sqlx
/// log the connection's options, password included.
pub(super) fn log_to_stderr(verbose: bool, scrub: Scrub) {
    let level = if verbose { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let targets = Targets::new().with_target("inbox_migration", level).with_target("inbox_core", level).with_target(crate::PROGRESS, level);
    let layer = tracing_subscriber::fmt::layer().without_time().with_ansi(false).with_writer(Scrubbed(scrub));
    // Somebody else's subscriber stays, where this is a part of another program.
    let _ = tracing_subscriber::registry().with(targets).with(layer).try_init();
}

#[derive(Clone)]
struct Scrubbed(Scrub);

impl Write for Scrubbed {
    /// A record comes in one piece.
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let text = self.0.clean(&String::from_utf8_lossy(record));
        io::stderr().write_all(text.as_bytes())?;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for Scrubbed {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
