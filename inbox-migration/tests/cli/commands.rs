//! What each command does and says.

use inbox_tests::{TestDb, backends};

use super::process::{Inbox, drop_unique_index, insert_marker};

const NAME: &str = "m20261130_000001_create_inbox_message";

backends! {
    async fn a_whole_life(db: TestDb) {
        let status = Inbox::on(&db, &["status"]).ends(0).await;
        assert!(status.out.contains(&format!("pending   {NAME}")), "{}", status.out);
        assert!(status.out.contains(db.backend().pick(db.name(), db.name(), "db.sqlite")), "{}", status.out);

        assert_eq!(Inbox::on(&db, &["up"]).ends(0).await.out, format!("applied {NAME}\n"));
        assert_eq!(Inbox::on(&db, &["up"]).ends(0).await.out, "nothing to do: the inbox is there\n");
        let status = Inbox::on(&db, &["status"]).ends(0).await;
        assert!(status.out.contains(&format!("applied   {NAME}")), "{}", status.out);
        assert!(Inbox::on(&db, &["verify"]).ends(0).await.out.starts_with("verified"));

        insert_marker(&db).await;
        insert_marker(&db).await;
        let refused = Inbox::on(&db, &["down"]).ends(9).await;
        assert!(refused.err.contains("2 marker(s)") && refused.err.contains("processed again"), "{}", refused.err);
        assert!(refused.err.contains("--force"), "{}", refused.err);
        assert_eq!(db.count("inbox_message").await, 2);

        assert_eq!(Inbox::on(&db, &["down", "--force"]).ends(0).await.out, format!("undone {NAME}\n"));
        assert_eq!(Inbox::on(&db, &["down"]).ends(0).await.out, "nothing to do: there is no inbox here\n");
        assert_eq!(Inbox::on(&db, &["up"]).ends(0).await.out, format!("applied {NAME}\n"));
        // Empty: no force needed.
        assert_eq!(Inbox::on(&db, &["down"]).ends(0).await.out, format!("undone {NAME}\n"));
    }

    /// Case 101: every command, and those that must not exist, beside somebody's table.
    async fn nothing_touches_the_applications_tables(db: TestDb) {
        db.exec("CREATE TABLE customers (id INTEGER PRIMARY KEY)").await;
        db.exec("INSERT INTO customers VALUES (1), (2), (3)").await;
        for command in [&["up"][..], &["up", "--adopt"], &["status"], &["verify"], &["down", "--force"], &["up"], &["down"]] {
            Inbox::on(&db, command).ends(0).await;
        }
        for command in ["fresh", "refresh", "reset", "uninstall", "init", "generate"] {
            let unknown = Inbox::on(&db, &[command]).ends(2).await;
            assert!(unknown.err.contains("unrecognized subcommand"), "{}", unknown.err);
        }
        assert_eq!(db.count("customers").await, 3);
    }

    /// Half applied: the code, the text and the remedy, from the shell.
    async fn half_applied(db: TestDb) {
        Inbox::on(&db, &["up"]).ends(0).await;
        db.exec("DELETE FROM inbox_migrations").await;
        insert_marker(&db).await;
        for command in [&["up"][..], &["status"], &["down"], &["down", "--force"]] {
            let half = Inbox::on(&db, command).ends(7).await;
            assert!(half.err.contains("half applied") && half.err.contains("--adopt"), "{}", half.err);
        }
        assert!(Inbox::on(&db, &["status"]).run().await.out.contains("half applied"));
        assert_eq!(Inbox::on(&db, &["up", "--adopt"]).ends(0).await.out, format!("applied {NAME}\n"));
        assert_eq!(db.count("inbox_message").await, 1);

        db.exec(&drop_unique_index(&db)).await;
        let half = Inbox::on(&db, &["up"]).ends(7).await;
        assert!(half.err.contains("unique index idx-inbox_message-message_consumer"), "{}", half.err);
        assert!(half.err.contains("\n    CREATE UNIQUE INDEX"), "{}", half.err);
        Inbox::on(&db, &["up", "--adopt"]).ends(7).await;
    }

    /// No table, no index: no service may start.
    async fn verification_fails(db: TestDb) {
        let absent = Inbox::on(&db, &["verify"]).ends(8).await;
        assert!(absent.err.contains("inbox up"), "{}", absent.err);
        Inbox::on(&db, &["up"]).ends(0).await;
        db.exec(&drop_unique_index(&db)).await;
        let broken = Inbox::on(&db, &["verify"]).ends(8).await;
        assert!(broken.err.contains("idx-inbox_message-message_consumer"), "{}", broken.err);
    }

    /// More of what happens, on standard error.
    async fn verbose(db: TestDb) {
        let up = Inbox::on(&db, &["up", "--verbose"]).run().await;
        assert_eq!(up.code, 0);
        assert!(up.err.contains("applied") && up.err.contains(NAME), "{}", up.err);
        assert_eq!(up.out, format!("applied {NAME}\n"));
    }
}

#[tokio::test]
async fn help_and_version() {
    let help = Inbox::new(&["--help"]).url("postgres://u:hunter2@h/d").ends(0).await;
    for text in ["up", "down", "status", "verify", "--database-url", "--database-url-file", "Exit codes:", "7  half-applied"] {
        assert!(help.out.contains(text), "{text}: {}", help.out);
    }
    Inbox::new(&["up", "--help"]).url("postgres://u:hunter2@h/d").ends(0).await;
    assert!(Inbox::new(&["--version"]).ends(0).await.out.contains(env!("CARGO_PKG_VERSION")));
    Inbox::new(&[]).run().await;
}
