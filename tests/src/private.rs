//! Servers of one test's own, which it may kill and start again.
//!
//! A server ends when its value is dropped, and when the thread that started it ends, however that happens: start and restart it on
//! the test's own thread (or a worker of its runtime), not on one of a pool of threads for blocking calls.

mod database;
mod processes;
mod rabbitmq;

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;

pub use database::Database;
pub use rabbitmq::RabbitMq;

/// The longest that a server may take to start, or to end.
const LIMIT: Duration = Duration::from_mins(1);

/// A folder that the server's own user can reach.
fn folder_of(user: &str) -> TempDir {
    let folder = tempfile::Builder::new().prefix("inbox-server").tempdir_in("/tmp").unwrap();
    if rustix::process::getuid().is_root() {
        run(Command::new("chown").arg(user).arg(folder.path()));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
    }
    folder
}

/// One that nothing listens on, below those that the kernel gives to clients.
fn free_port() -> u16 {
    // A server may take seconds until it listens, and another test must not get its port meanwhile.
    static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| AtomicU16::new(fastrand::u16(..)));
    loop {
        let port = 20_000 + NEXT.fetch_add(1, Ordering::Relaxed) % 12_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Servers refuse to run as root, and die with the test program, however that ends.
fn as_user(user: &str, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if rustix::process::getuid().is_root() {
        command.args(["--reuid", user, "--regid", user, "--init-groups"]);
    }
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command.current_dir("/");
    command
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
}

/// Starts it; what it prints is appended to the log.
fn spawn(command: &mut Command, folder: &Path) -> Child {
    let log = fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn log(folder: &TempDir) -> String {
    fs::read_to_string(folder.path().join("log")).unwrap_or_default()
}
