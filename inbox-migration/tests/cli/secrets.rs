//! No password in any output. Every run of these tests is searched for it ([`super::process::Inbox::run`]); here are the places
//! where others print it.

use inbox_tests::{TestDb, backends};

use super::process::{Inbox, PASSWORD, PASSWORD_DECODED, as_user, create_user, drop_user};

/// Logs as loud as they get, whoever asks for them.
fn loud(inbox: Inbox) -> Inbox {
    inbox.env("RUST_LOG", "trace").env("RUST_BACKTRACE", "1")
}

backends! {
    /// Every command, with everything that can be logged.
    [postgres, mysql]
    async fn when_all_goes_well(db: TestDb) {
        let user = create_user(&db).await;
        db.exec(&db.backend().pick(
            format!("GRANT ALL ON SCHEMA public TO \"{user}\""),
            format!("GRANT ALL ON `{}`.* TO '{user}'@'%'", db.name()),
            String::new(),
        )).await;
        let url = as_user(&db, &user, PASSWORD);
        for command in ["status", "up", "up", "status", "verify", "down"] {
            let run = loud(Inbox::new(&[command, "--verbose"]).url(&url)).run().await;
            assert_eq!(run.code, 0, "{}{}", run.out, run.err);
            assert!(!run.out.contains(&user) && !run.err.contains(&user), "{}{}", run.out, run.err);
        }
        drop_user(&db, &user).await;
    }

    /// As a parameter of the URL, percent-encoded and not; MySQL's driver ignores what it does not know, and so does PostgreSQL's
    /// a misspelt one, with a warning that shows it.
    [postgres, mysql]
    async fn in_a_parameter(db: TestDb) {
        for parameter in ["password=hunter2%40geheim", "pasword=hunter2%40geheim", "password=hunter2"] {
            let url = format!("{}{}{parameter}", db.url(), if db.url().contains('?') { '&' } else { '?' });
            for command in ["status", "up", "down"] {
                let run = loud(Inbox::new(&[command, "-v"]).url(&url)).run().await;
                assert_eq!(run.code, 0, "{}{}", run.out, run.err);
            }
        }
    }
}

/// clap quotes what it does not understand, and a URL in the wrong place is one.
#[tokio::test]
async fn in_a_wrong_argument() {
    let url = &format!("postgres://u:{PASSWORD}@h/d");
    let with_blank = "postgres://u:hunter2 geheim@h/d";
    for arguments in [
        &[url.as_str()][..],
        &["up", url],
        &["up", with_blank],
        &["up", "--database-ulr", url],
        &["--database-ulr", with_blank],
        &["up", "--database-url", url, "--database-url", url],
        &["up", "u:hunter2@h/d"],
        &["up", "--force", url],
    ] {
        Inbox::new(arguments).ends(2).await;
    }
    let equals = &format!("--database-ulr={url}");
    Inbox::new(&["up", equals]).ends(2).await;
    Inbox::new(&["up", "--database-ulr=postgres://u:hunter2 geheim@h/d"]).ends(2).await;
}

/// SeaORM and sqlx quote a URL that they cannot parse.
#[tokio::test]
async fn in_a_url_that_cannot_be_parsed() {
    let passwords =
        ["hunter2/geheim", "hunter2#geheim", "hunter2?geheim", "hunter2[geheim", "hunter2 geheim", "hunter2%zzgeheim", PASSWORD_DECODED];
    for host in ["127.0.0.1:1", "h:port", "[::1", ""] {
        for scheme in ["postgres", "mysql", "foo"] {
            // At once: some wait for a server that never comes.
            let runs = passwords.map(|password| {
                let url = format!("{scheme}://u:{password}@{host}/d");
                tokio::spawn(loud(Inbox::new(&["up", "-v"]).url(&url)).run())
            });
            for run in runs {
                let run = run.await.unwrap();
                assert!([3, 5].contains(&run.code), "{} {}", run.code, run.err);
            }
        }
    }
}
