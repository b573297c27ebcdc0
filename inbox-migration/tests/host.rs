//! An application that hands our `Migrator` to SeaORM's own command line (case 101).
//!
//! `run_migrate` installs a global subscriber and can do so once in a process: so each command runs in one of its own, which is
//! this test binary again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

use inbox_migration::{Migrator, Status, status};
use inbox_tests::{TestDb, backends};
use sea_orm_cli::MigrateSubcommands;
use sea_orm_migration::cli::run_migrate;

/// What `sea-orm-cli migrate …` comes to.
async fn migrate(db: &TestDb, command: &str) -> (bool, String) {
    let output = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "as_an_application", "--ignored", "--nocapture"])
        .env("HOST_COMMAND", command)
        .env("HOST_URL", db.url())
        .output()
        .await
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

#[ignore = "run by the tests below, in a process of its own"]
#[tokio::test]
async fn as_an_application() {
    let Ok(command) = std::env::var("HOST_COMMAND") else { return };
    let command = match command.as_str() {
        "fresh" => MigrateSubcommands::Fresh,
        "refresh" => MigrateSubcommands::Refresh,
        "reset" => MigrateSubcommands::Reset,
        "status" => MigrateSubcommands::Status,
        "up" => MigrateSubcommands::Up { num: None },
        "down" => MigrateSubcommands::Down { num: 1 },
        other => panic!("{other}"),
    };
    let db = sea_orm::Database::connect(std::env::var("HOST_URL").unwrap()).await.unwrap();
    run_migrate(Migrator, &db, Some(command), false).await.unwrap();
}

backends! {
    async fn seaorms_command_line(db: TestDb) {
        db.exec("CREATE TABLE customers (id INTEGER PRIMARY KEY)").await;
        db.exec("INSERT INTO customers VALUES (1), (2)").await;

        let (done, text) = migrate(&db, "status").await;
        assert!(done && text.contains("Pending"), "{text}");
        assert!(migrate(&db, "up").await.0);
        let (done, text) = migrate(&db, "status").await;
        assert!(done && text.contains("'m20261130_000001_create_inbox_message'... Applied"), "{text}");
        let insert = "INSERT INTO inbox_message (message_id, consumer, received_at, attempts)";
        db.exec(&db.backend().pick(
            format!("{insert} VALUES (gen_random_uuid(), 'credit', now(), 0)"),
            format!("{insert} VALUES (RANDOM_BYTES(16), 'credit', UTC_TIMESTAMP(6), 0)"),
            format!("{insert} VALUES (randomblob(16), 'credit', '2026-01-01T00:00:00.000+00:00', 0)"),
        )).await;

        for command in ["fresh", "refresh", "reset"] {
            let (done, text) = migrate(&db, command).await;
            assert!(!done && text.contains(&format!("refuses `{command}`")), "{text}");
        }
        // With markers, down as well.
        let (done, text) = migrate(&db, "down").await;
        assert!(!done && text.contains("1 marker(s)"), "{text}");

        assert_eq!(db.count("customers").await, 2);
        assert_eq!(db.count("inbox_message").await, 1);
        assert_eq!(status(&db.pool(1).await).await.unwrap(), Status::Applied);

        db.exec("DELETE FROM inbox_message").await;
        assert!(migrate(&db, "down").await.0);
        assert_eq!(db.count("customers").await, 2);
    }
}
