//! One run of the binary.

use std::path::Path;
use std::process::Stdio;

use inbox_tests::{Backend, TestDb};
use sea_orm::ConnectionTrait as _;

/// The password of every test that has one. No output may hold it, or its decoded form: [`Run`] sees to that.
pub(crate) const PASSWORD: &str = "hunter2%40geheim";
pub(crate) const PASSWORD_DECODED: &str = "hunter2@geheim";

/// What came of it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A command line to be run.
pub(crate) struct Inbox(tokio::process::Command);

impl Inbox {
    /// `inbox` and these arguments, in an empty folder, with nothing of this environment's that it reads.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_inbox"));
        command.args(arguments).env_remove("DATABASE_URL").current_dir(empty_folder()).stdin(Stdio::null()).kill_on_drop(true);
        Self(command)
    }

    /// On this database, by the environment.
    pub(crate) fn on(db: &TestDb, arguments: &[&str]) -> Self {
        Self::new(arguments).url(db.url())
    }

    pub(crate) fn url(self, url: &str) -> Self {
        self.env("DATABASE_URL", url)
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    pub(crate) async fn run(mut self) -> Run {
        let output = self.0.output().await.unwrap();
        let run = Run {
            code: output.status.code().expect("it ended by itself"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        for text in [&run.out, &run.err] {
            assert!(!text.contains("hunter2") && !text.contains("geheim"), "a password is shown: {text}");
        }
        run
    }

    /// And says how it must end.
    pub(crate) async fn ends(self, code: i32) -> Run {
        let run = self.run().await;
        assert_eq!(run.code, code, "{}{}", run.out, run.err);
        if code == 0 {
            assert_eq!(run.err, "", "nothing to complain about");
        } else {
            assert_ne!(run.err, "", "it says what is wrong");
        }
        run
    }
}

/// Has no `.env`, and neither has any folder above it.
fn empty_folder() -> &'static Path {
    static FOLDER: std::sync::OnceLock<tempfile::TempDir> = std::sync::OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().unwrap()).path()
}

/// The same database as another user.
pub(crate) fn as_user(db: &TestDb, user: &str, password: &str) -> String {
    let (scheme, rest) = db.url().split_once("://").unwrap();
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    format!("{scheme}://{user}:{password}@{rest}")
}

/// A user of the server with nothing but the right to connect, and [`PASSWORD`]. `drop_user` when done.
pub(crate) async fn create_user(db: &TestDb) -> String {
    let user = format!("u{}", db.name().rsplit_once('_').unwrap().1);
    match db.backend() {
        Backend::Postgres => db.exec(&format!("CREATE ROLE \"{user}\" LOGIN PASSWORD '{PASSWORD_DECODED}'")).await,
        Backend::MySql => db.exec(&format!("CREATE USER '{user}'@'%' IDENTIFIED BY '{PASSWORD_DECODED}'")).await,
        Backend::Sqlite => panic!("SQLite has no users"),
    }
    user
}

pub(crate) async fn drop_user(db: &TestDb, user: &str) {
    match db.backend() {
        Backend::Postgres => {
            // Over one connection: what the role owns goes first.
            let pool = db.pool(1).await;
            pool.execute_unprepared(&format!("DROP OWNED BY \"{user}\"")).await.unwrap();
            pool.execute_unprepared(&format!("DROP ROLE \"{user}\"")).await.unwrap();
        }
        _ => db.exec(&format!("DROP USER '{user}'@'%'")).await,
    }
}

/// Inserts a marker past everything.
pub(crate) async fn insert_marker(db: &TestDb) {
    let (id, now) = db.backend().pick(
        ("gen_random_uuid()", "now()"),
        ("RANDOM_BYTES(16)", "UTC_TIMESTAMP(6)"),
        ("randomblob(16)", "strftime('%Y-%m-%dT%H:%M:%f+00:00','now')"),
    );
    let sql = "INSERT INTO inbox_message (message_id, consumer, received_at, processed_at, attempts)";
    db.exec(&format!("{sql} VALUES ({id}, 'credit', {now}, {now}, 0)")).await;
}

/// What SQL spells differently.
pub(crate) fn drop_unique_index(db: &TestDb) -> String {
    let index = inbox_core::entity::UNIQUE_INDEX;
    db.backend().pick(
        format!("DROP INDEX \"{index}\""),
        format!("DROP INDEX `{index}` ON inbox_message"),
        format!("DROP INDEX \"{index}\""),
    )
}
