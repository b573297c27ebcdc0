//! Where the URL comes from, and what goes before what.

use std::fs;

use super::process::Inbox;

/// `status` says which database it looked at.
async fn looked_at(inbox: Inbox) -> String {
    let out = inbox.ends(0).await.out;
    out.lines().next().unwrap().to_owned()
}

fn folder_with_env(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".env"), text).unwrap();
    folder
}

#[tokio::test]
async fn flag_then_file_then_environment_then_dotenv() {
    let folder = folder_with_env("OTHER=1\nDATABASE_URL=sqlite:by-dotenv.sqlite?mode=rwc\n");
    fs::write(folder.path().join("url"), "  sqlite:by-file.sqlite?mode=rwc\n").unwrap();
    let inbox = |arguments: &[&str]| Inbox::new(arguments).folder(folder.path());
    let by_environment = "sqlite:by-environment.sqlite?mode=rwc";

    let flag = inbox(&["status", "--database-url", "sqlite:by-flag.sqlite?mode=rwc"]).url(by_environment);
    assert_eq!(looked_at(flag).await, "database  SQLite by-flag.sqlite");
    // Before the command as well.
    let flag = inbox(&["--database-url", "sqlite:by-flag.sqlite?mode=rwc", "status"]).url(by_environment);
    assert_eq!(looked_at(flag).await, "database  SQLite by-flag.sqlite");
    let file = inbox(&["status", "--database-url-file", "url"]).url(by_environment);
    assert_eq!(looked_at(file).await, "database  SQLite by-file.sqlite");
    assert_eq!(looked_at(inbox(&["status"]).url(by_environment)).await, "database  SQLite by-environment.sqlite");
    assert_eq!(looked_at(inbox(&["status"])).await, "database  SQLite by-dotenv.sqlite");
    // Set and empty is not set.
    assert_eq!(looked_at(inbox(&["status"]).url("")).await, "database  SQLite by-dotenv.sqlite");

    // A folder below finds it too.
    fs::create_dir(folder.path().join("below")).unwrap();
    let below = Inbox::new(&["status"]).folder(&folder.path().join("below"));
    assert_eq!(looked_at(below).await, "database  SQLite by-dotenv.sqlite");

    let both = inbox(&["status", "--database-url", "sqlite:x", "--database-url-file", "url"]).ends(2).await;
    assert!(both.err.contains("cannot both be given"), "{}", both.err);
    let both = inbox(&["--database-url", "sqlite:x", "status", "--database-url-file", "url"]).ends(2).await;
    assert!(both.err.contains("cannot both be given"), "{}", both.err);
}

#[tokio::test]
async fn what_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty"), "\n").unwrap();
    let inbox = |arguments: &[&str]| Inbox::new(arguments).folder(folder.path());
    assert!(inbox(&["up", "--database-url-file", "absent"]).ends(2).await.err.contains("absent"));
    assert!(inbox(&["up", "--database-url-file", "empty"]).ends(2).await.err.contains("empty"));
    assert!(inbox(&["up", "--database-url", ""]).ends(2).await.err.contains("empty"));
}

/// The line with the password is the one that is malformed.
#[tokio::test]
async fn a_malformed_dotenv() {
    for text in [
        "DATABASE_URL=postgres://u:hunter2 geheim@h/d\n",
        "DATABASE_URL='postgres://u:hunter2@h/d\n",
        "DATABASE_URL postgres://u:hunter2@h/d\n",
        "FIRST=1\nDATABASE_URL=postgres://u:\"hunter2\ngeheim@h/d\n",
    ] {
        let folder = folder_with_env(text);
        let run = Inbox::new(&["up"]).folder(folder.path()).run().await;
        assert_eq!(run.code, 2, "{text}: {}", run.err);
        assert!(run.err.contains(".env"), "{}", run.err);
        // Where the environment says it, the file is not read.
        Inbox::new(&["status"]).folder(folder.path()).url("sqlite::memory:").ends(0).await;
    }
    let nothing = folder_with_env("OTHER=1\n");
    assert!(Inbox::new(&["up"]).folder(nothing.path()).ends(2).await.err.contains("no database"));
    let quoted = folder_with_env("export DATABASE_URL=\"sqlite::memory:\" # in memory\n");
    Inbox::new(&["status"]).folder(quoted.path()).ends(0).await;
}
