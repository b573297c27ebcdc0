//! A server of one test's own, which it may kill.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use inbox_tests::Backend;
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, Statement};
use tempfile::TempDir;

/// The longest that a server may take to start.
const LIMIT: Duration = Duration::from_mins(1);

pub(crate) struct Server {
    backend: Backend,
    folder: TempDir,
    port: u16,
    process: Child,
}

impl Server {
    /// Makes a database and starts its server.
    pub(crate) async fn new(backend: Backend) -> Self {
        let folder = folder(backend);
        let data = folder.path().join("data");
        let mut make = if backend == Backend::Postgres {
            let mut make = as_its_user(backend, &postgres("initdb"));
            make.args(["-U", "postgres", "-A", "trust", "--no-sync", "--no-instructions", "-D"]).arg(&data);
            make
        } else {
            let mut make = as_its_user(backend, Path::new("mariadb-install-db"));
            make.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
            make.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
            make
        };
        run(&mut make);
        Self::started(backend, folder).await
    }

    /// A standby of it, as it is now.
    pub(crate) async fn replica(&self) -> Self {
        let folder = folder(self.backend);
        let mut copy = as_its_user(self.backend, &postgres("pg_basebackup"));
        copy.args(["-h", "127.0.0.1", "-U", "postgres", "--checkpoint=fast", "--write-recovery-conf", "-p", &self.port.to_string(), "-D"]);
        run(copy.arg(folder.path().join("data")));
        Self::started(self.backend, folder).await
    }

    /// SIGKILL: no checkpoint, no goodbye.
    pub(crate) fn kill(&mut self) {
        // Dead already is as good.
        let _ = self.process.kill();
        self.process.wait().unwrap();
    }

    /// Starts it again, where it was.
    pub(crate) async fn start(&mut self) {
        let begun = Instant::now();
        // What is left of a killed PostgreSQL holds its memory for a moment, and a new one refuses to start meanwhile.
        while !self.is_ready(begun).await {
            assert!(begun.elapsed() < LIMIT, "it does not start: {}", self.log());
            self.process = serve(self.backend, self.folder.path(), self.port);
        }
    }

    /// A standby becomes the primary.
    pub(crate) async fn promote(&self) {
        self.pool().await.execute_unprepared("SELECT pg_promote(true, 60)").await.unwrap();
    }

    /// A pool of one connection, which finds the server again when it comes back.
    pub(crate) async fn pool(&self) -> DatabaseConnection {
        Database::connect(self.options()).await.unwrap()
    }

    async fn started(backend: Backend, folder: TempDir) -> Self {
        let port = free_port();
        let process = serve(backend, folder.path(), port);
        let mut server = Self { backend, folder, port, process };
        server.start().await;
        server
    }

    /// Whether it answers; false when its process has ended.
    async fn is_ready(&mut self, begun: Instant) -> bool {
        loop {
            if self.process.try_wait().unwrap().is_some() {
                return false;
            }
            if self.answers().await {
                return true;
            }
            assert!(begun.elapsed() < LIMIT, "it did not start: {}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether it is this server that answers there, and no other test's.
    async fn answers(&self) -> bool {
        let Ok(pool) = Database::connect(self.options()).await else { return false };
        let sql = self.backend.pick("SELECT current_setting('data_directory')", "SELECT @@datadir", "");
        let row = pool.query_one_raw(Statement::from_string(self.backend.db_backend(), sql)).await;
        let data = row.ok().flatten().and_then(|row| row.try_get_by_index::<String>(0).ok());
        pool.close().await.unwrap();
        data.is_some_and(|data| Path::new(&data) == self.folder.path().join("data"))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn options(&self) -> ConnectOptions {
        let url = self.backend.pick("postgres://postgres@127.0.0.1:{}/postgres", "mysql://root@127.0.0.1:{}/mysql", "");
        let mut options = ConnectOptions::new(url.replace("{}", &self.port.to_string()));
        options.max_connections(1).acquire_timeout(Duration::from_secs(2)).sqlx_logging(false);
        options
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A folder that the server's own user can reach.
fn folder(backend: Backend) -> TempDir {
    let folder = tempfile::Builder::new().prefix("inbox-server").tempdir_in("/tmp").unwrap();
    if rustix::process::getuid().is_root() {
        run(Command::new("chown").arg(user(backend)).arg(folder.path()));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
    }
    folder
}

/// One that nothing listens on, below those that the kernel gives to clients.
fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(20_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn serve(backend: Backend, folder: &Path, port: u16) -> Child {
    let data = folder.join("data");
    let mut server = if backend == Backend::Postgres {
        let mut server = as_its_user(backend, &postgres("postgres"));
        // Nothing is lost with a process, only with the machine.
        server.args([
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-c",
            "fsync=off",
            "-p",
            &port.to_string(),
            "-D",
        ]);
        server.arg(data);
        server
    } else {
        let mut server = as_its_user(backend, Path::new("mariadbd"));
        server.arg("--no-defaults").arg(format!("--datadir={}", data.display())).arg(format!("--port={port}"));
        server.args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-buffer-pool-size=32M", "--pid-file=mariadbd.pid"]);
        server.arg(format!("--socket={}", folder.join("socket").display()));
        server
    };
    let log = fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
    server.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}

/// Database servers refuse to run as root.
fn as_its_user(backend: Backend, program: &Path) -> Command {
    if !rustix::process::getuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    // It dies with the test program, however that ends.
    command.args(["--reuid", user(backend), "--regid", user(backend), "--init-groups", "--pdeathsig", "KILL", "--"]).arg(program);
    command.current_dir("/");
    command
}

fn user(backend: Backend) -> &'static str {
    backend.pick("postgres", "mysql", "")
}

/// One of PostgreSQL's programs, of the newest version that is here.
fn postgres(program: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<_> = versions.map(|version| version.path().join("bin").join(program)).filter(|path| path.exists()).collect();
    found.sort();
    found.pop().unwrap_or_else(|| PathBuf::from(program))
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
}
