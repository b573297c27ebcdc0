//! `sql` and `grants` as commands: what they look at, what they say, where it goes.

use std::process::{Command, Stdio};

use super::process::Inbox;

/// Both, for every backend.
fn all() -> Vec<Vec<&'static str>> {
    let mut all = Vec::new();
    for backend in ["postgres", "mysql", "sqlite", "mssql"] {
        all.push(vec!["sql", "--backend", backend]);
        all.push(vec!["sql", "--backend", backend, "--down"]);
        for kind in ["application", "operator"] {
            let mut grants = vec!["grants", "--backend", backend, "--role", "app", "--for", kind];
            if backend == "mysql" {
                grants.extend(["--database", "shop"]);
            }
            all.push(grants);
        }
    }
    all
}

/// No database is asked: none is named, or one that would be refused, and a `.env` that cannot be read.
#[tokio::test]
async fn no_database() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".env"), "DATABASE_URL=postgres://u:hunter2 geheim\n'").unwrap();
    for arguments in all() {
        let printed = Inbox::new(&arguments).ends(0).await.out;
        assert!(printed.starts_with("-- ") && printed.ends_with('\n'), "{printed}");
        assert_eq!(Inbox::new(&arguments).url("foo://u:hunter2@h/d").folder(folder.path()).ends(0).await.out, printed);
    }
}

/// Names may look like URLs or accounts, which are secrets elsewhere.
#[tokio::test]
async fn a_name_is_shown_as_it_is() {
    let grants = Inbox::new(&["grants", "--backend", "postgres", "--role", "app://x@y"]).ends(0).await.out;
    assert!(grants.contains("TO \"app://x@y\";"), "{grants}");
    let grants = Inbox::new(&["grants", "--backend", "mysql", "--database", "my_shop", "--role", "app@10.0.%"]).ends(0).await.out;
    assert!(grants.contains("ON `my_shop`.`inbox_message` TO `app`@`10.0.%`;"), "{grants}");
}

#[tokio::test]
async fn usage() {
    for command in ["sql", "grants"] {
        for arguments in [vec![command, "--backend", "oracle"], vec![command, "--backend"]] {
            let wrong = Inbox::new(&arguments).ends(2).await;
            assert!(wrong.err.contains("postgres, mysql, sqlite, mssql"), "{}", wrong.err);
        }
        assert!(Inbox::new(&[command]).ends(2).await.err.contains("--backend"));
        // By the names that people have for them.
        for name in ["postgresql", "mariadb", "sqlserver"] {
            Inbox::new(&[command, "--backend", name, "--down"]).run().await;
        }
    }
    let missing = Inbox::new(&["grants", "--backend", "postgres"]).ends(2).await;
    assert!(missing.err.contains("--role is missing") && missing.out.is_empty(), "{missing:?}");
    for role in ["", "a\nb", "public", "a\\\n"] {
        let refused = Inbox::new(&["grants", "--backend", "postgres", "--role", role]).ends(2).await;
        assert!(refused.err.contains("--role") && refused.out.is_empty(), "{refused:?}");
    }
    let help = Inbox::new(&["sql", "--help"]).ends(0).await.out + &Inbox::new(&["grants", "--help"]).ends(0).await.out;
    for text in ["SeaORM 2.0 has no driver", "user@host", "--for", "--schema", "--down"] {
        assert!(help.contains(text), "{text}: {help}");
    }
}

#[tokio::test]
async fn sqlite_has_no_rights() {
    let text = Inbox::new(&["grants", "--backend", "sqlite", "--role", "app"]).ends(0).await.out;
    assert!(text.contains("no rights") && text.contains("folder"), "{text}");
    assert!(text.lines().all(|line| line.starts_with("--")), "{text}");
}

/// `| head -0`: a reader that is gone is no panic and no complaint.
#[tokio::test]
async fn a_broken_pipe() {
    for arguments in all() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let inbox = Command::new(env!("CARGO_BIN_EXE_inbox")).args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((inbox.status.code(), String::from_utf8(inbox.stderr).unwrap().as_str()), (Some(0), ""));
    }
}

/// A text that was cut off must not look like a whole one.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let inbox = Command::new(env!("CARGO_BIN_EXE_inbox")).args(["sql", "--backend", "postgres"]).stdout(full).output().unwrap();
    assert_eq!(inbox.status.code(), Some(1));
    assert!(String::from_utf8(inbox.stderr).unwrap().contains("cannot be written"));
}
