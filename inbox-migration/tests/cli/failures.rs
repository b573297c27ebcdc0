//! Every exit code that needs no rights and no half-applied schema, and its text.

use inbox_tests::{TestDb, backends};

use super::process::{Inbox, PASSWORD};

/// All commands say the same of a database that they cannot open.
const COMMANDS: [&str; 4] = ["up", "down", "status", "verify"];

#[tokio::test]
async fn usage() {
    for arguments in [&["up", "--adapt"][..], &["up", "down"], &["nonsense"], &["up", "--wait", "soon"]] {
        Inbox::new(arguments).url("sqlite::memory:").ends(2).await;
    }
    for command in COMMANDS {
        let nothing = Inbox::new(&[command]).ends(2).await;
        assert!(nothing.err.contains("DATABASE_URL") && nothing.err.contains("--database-url"), "{}", nothing.err);
    }
}

#[tokio::test]
async fn no_server() {
    // At once: each waits some seconds for the server to come up.
    let mut runs = Vec::new();
    for scheme in ["postgres", "mysql"] {
        for command in COMMANDS {
            // Nobody listens on port 1.
            let url = format!("{scheme}://u:{PASSWORD}@127.0.0.1:1/app");
            runs.push(tokio::spawn(Inbox::new(&[command]).url(&url).ends(3)));
        }
    }
    for run in runs {
        let err = run.await.unwrap().err;
        assert!(err.contains("127.0.0.1:1, database app cannot be reached"), "{err}");
    }
    let run = Inbox::new(&["up"]).url(&format!("postgres://u:{PASSWORD}@no-such-host.invalid/app")).ends(3).await;
    assert!(run.err.contains("no-such-host.invalid"), "{}", run.err);
}

#[tokio::test]
async fn no_file() {
    for command in COMMANDS {
        let run = Inbox::new(&[command]).url("sqlite:no-such-folder/inbox.sqlite").ends(3).await;
        assert!(run.err.contains("no-such-folder/inbox.sqlite") && run.err.contains("mode=rwc"), "{}", run.err);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text"), "this is no database, however long the text in it may be").unwrap();
    Inbox::new(&["up"]).url("sqlite:text").folder(folder.path()).ends(3).await;
}

#[tokio::test]
async fn a_wrong_url() {
    for url in [
        "foo://u:hunter2@h/d",
        "u:hunter2@h/d",
        "hunter2",
        "postgres://u:hunter2/geheim@h/d",
        "postgres://u:hunter2@h:port/d",
        "postgres://u:hunter2@h/d?sslmode=perhaps",
        "mysql://u:hunter2@h",
        "mariadb://u:hunter2@h/d",
        "sqlite:x?mode=perhaps",
    ] {
        for command in COMMANDS {
            Inbox::new(&[command]).url(url).ends(5).await;
        }
    }
    let run = Inbox::new(&["up"]).url("foo://h/d").ends(5).await;
    assert!(run.err.contains("must start with postgres://"), "{}", run.err);
}

#[tokio::test]
async fn no_driver() {
    for url in ["mssql://sa:hunter2@h/d", "sqlserver://h"] {
        let run = Inbox::new(&["up"]).url(url).ends(6).await;
        assert!(run.err.contains("no driver for SQL Server"), "{}", run.err);
    }
}

backends! {
    /// SQLite creates a file that it is told to create.
    [postgres, mysql]
    async fn no_such_database(db: TestDb) {
        let url = db.url().replace(db.name(), "no_such_database");
        for command in COMMANDS {
            let run = Inbox::new(&[command]).url(&url).ends(3).await;
            assert!(run.err.contains("no_such_database"), "{}", run.err);
        }
    }

    /// A history that somebody broke is neither of the known failures, and still no panic.
    async fn something_else(db: TestDb) {
        db.exec("CREATE TABLE inbox_migrations (id INTEGER PRIMARY KEY)").await;
        let run = Inbox::on(&db, &["up"]).ends(1).await;
        assert!(run.err.contains("version") && !run.err.contains("panicked"), "{}", run.err);
    }
}
