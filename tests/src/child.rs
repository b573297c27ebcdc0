//! A process to kill: the test program starts itself again, with one test only.
//!
//! ```no_run
//! # use inbox_tests::child;
//! // In the test program; cargo never runs it by itself.
//! #[tokio::test]
//! #[ignore = "runs only as the child process of crash tests"]
//! async fn child_main() {
//!     let url = child::argument("url");
//!     // … deliver a message on `url` …
//! }
//!
//! // In the test:
//! # fn f() {
//! let child = child::spawn("child_main", &[("url", "postgres://…")]);
//! child.kill();
//! # }
//! ```

use std::{
    env, fs,
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Signal, getpid, kill_process};
use tempfile::NamedTempFile;

const PREFIX: &str = "INBOX_TEST_CHILD_";

/// The longest that a child may take; it is killed then.
const LIMIT: Duration = Duration::from_mins(1);

/// A running child; clones are the same process. The last one kills it when it is dropped.
#[derive(Clone, Debug)]
pub struct Child(Arc<Process>);

#[derive(Debug)]
struct Process {
    child: Mutex<std::process::Child>,
    output: NamedTempFile,
}

/// How a child ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it printed.
    pub output: String,
}

impl Ended {
    /// Whether SIGKILL ended it, and nothing else.
    pub fn killed(&self) -> bool {
        std::os::unix::process::ExitStatusExt::signal(&self.status) == Some(Signal::KILL.as_raw())
    }
}

/// Starts this test program again, to run the ignored test with this path (`child_main`, `crash::child_main`) only.
pub fn spawn(test: &str, arguments: &[(&str, &str)]) -> Child {
    let output = NamedTempFile::new().unwrap();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .envs(arguments.iter().map(|(name, value)| (format!("{PREFIX}{name}"), value)))
        .env(PREFIX, "1")
        .stdin(Stdio::null())
        .stdout(output.reopen().unwrap())
        .stderr(output.reopen().unwrap())
        .spawn()
        .unwrap();
    Child(Arc::new(Process { child: Mutex::new(child), output }))
}

impl Child {
    /// Kills it with SIGKILL, and returns when it is dead.
    pub fn kill(&self) {
        let mut child = self.0.child.lock().unwrap();
        // Dead already is as good.
        let _ = child.kill();
        child.wait().unwrap();
    }

    /// For [`Action::Call`](crate::proxy::Action::Call): kills the child when the proxy sees the request go by.
    pub fn killer(&self) -> Box<dyn FnOnce() + Send> {
        let child = self.clone();
        Box::new(move || child.kill())
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// When it takes more than a minute, with what it printed.
    pub async fn wait(&self) -> Ended {
        let begun = Instant::now();
        loop {
            let ended = self.0.child.lock().unwrap().try_wait().unwrap();
            let output = || fs::read_to_string(self.0.output.path()).unwrap();
            if let Some(status) = ended {
                return Ended { status, output: output() };
            }
            if begun.elapsed() > LIMIT {
                self.kill();
                panic!("the child did not end within {LIMIT:?}: {}", output());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// In the child: what the parent passed.
///
/// # Panics
/// When this is no child process, so that nobody takes its test for one that passed.
pub fn argument(name: &str) -> String {
    assert!(env::var_os(PREFIX).is_some(), "runs only as the child process of a crash test");
    env::var(format!("{PREFIX}{name}")).unwrap_or_else(|_| panic!("the parent passed no {name}"))
}

/// Ends this process as a crash would: with SIGKILL, without any destructor.
pub fn die() -> ! {
    kill_process(getpid(), Signal::KILL).unwrap();
    // The signal may take its time to arrive at this thread.
    loop {
        thread::park();
    }
}
