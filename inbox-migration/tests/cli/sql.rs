//! The printed DDL, run by hand.

use std::io::Write as _;
use std::process::{Command, Stdio};

use inbox_core::{Consumer, InboxKey, MessageId, Outcome, process};
use inbox_migration::{Rows, Status, down, status, up};
use inbox_tests::{Backend, TestDb, backends};
use sea_orm::{ConnectionTrait as _, DbErr, Statement};
use sea_orm_migration::{MigrationTrait, MigratorTrait};

use super::process::{Inbox, insert_marker};

const NAME: &str = "m20261130_000001_create_inbox_message";

fn backend(db: &TestDb) -> &'static str {
    db.backend().pick("postgres", "mysql", "sqlite")
}

/// What `inbox sql` prints for this database.
pub(crate) async fn printed(db: &TestDb, more: &[&str]) -> String {
    Inbox::new(&[&["sql", "--backend", backend(db)], more].concat()).ends(0).await.out
}

/// As one text on a connection of its own, which is closed.
async fn run_by_hand(db: &TestDb, text: &str) -> Result<(), DbErr> {
    let session = db.pool(1).await;
    let done = session.execute_unprepared(text).await.map(drop);
    session.close().await.unwrap();
    done
}

/// Both tables, as the database describes them.
async fn catalogue(db: &TestDb) -> Vec<String> {
    let questions = db.backend().pick(
        vec![
            "SELECT json_agg(t)::text FROM (SELECT table_name, column_name, data_type, character_maximum_length, datetime_precision, \
             is_nullable, column_default, collation_name, is_identity, identity_generation FROM information_schema.columns \
             WHERE table_name LIKE 'inbox%' ORDER BY table_name, ordinal_position) t",
            "SELECT json_agg(indexdef ORDER BY indexname)::text FROM pg_indexes WHERE tablename LIKE 'inbox%'",
        ],
        vec!["SHOW CREATE TABLE inbox_message", "SHOW CREATE TABLE inbox_migrations"],
        vec![
            "SELECT 1, group_concat(sql, '; ') FROM \
             (SELECT sql FROM sqlite_master WHERE tbl_name LIKE 'inbox%' AND sql IS NOT NULL ORDER BY name)",
        ],
    );
    let place = db.backend().pick(0, 1, 1);
    let mut answers = Vec::new();
    for sql in questions {
        let row = db.observer().query_one_raw(Statement::from_string(db.backend().db_backend(), sql)).await.unwrap().unwrap();
        answers.push(row.try_get_by_index::<String>(place).unwrap());
    }
    answers
}

backends! {
    /// `verify` accepts it, the history knows it, deliveries work, and `down` takes it away as if `up` had made it.
    async fn run_instead_of_up(db: TestDb) {
        run_by_hand(&db, &printed(&db, &[]).await).await.unwrap();
        let pool = db.pool(2).await;
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);
        inbox_core::verify(&pool).await.unwrap();
        assert_eq!(up(&pool).await.unwrap(), [""; 0]);
        assert!(Inbox::on(&db, &["status"]).ends(0).await.out.contains(&format!("applied   {NAME}")));

        let key = || InboxKey::new(Consumer::from_static("credit"), MessageId::from_text("orders", "o-1").unwrap());
        let first = process(&pool, key(), async |_| Ok::<_, DbErr>(())).await.unwrap();
        let again = process(&pool, key(), async |_| Ok::<_, DbErr>(())).await.unwrap();
        assert_eq!((first, again), (Outcome::Processed(()), Outcome::Duplicate));

        assert!(matches!(down(&pool, Rows::Keep).await, Err(inbox_migration::Error::RowsExist { rows: 1 })));
        assert_eq!(down(&pool, Rows::Lose).await.unwrap(), [NAME]);
        assert_eq!(status(&pool).await.unwrap(), Status::Pending);
        assert_eq!(up(&pool).await.unwrap(), [NAME]);
    }

    /// The same tables, the same record.
    async fn it_is_what_up_makes(db: TestDb) {
        run_by_hand(&db, &printed(&db, &[]).await).await.unwrap();
        let by_hand = (catalogue(&db).await, db.scalar_i64("SELECT applied_at FROM inbox_migrations").await);
        for table in ["inbox_message", "inbox_migrations"] {
            run_by_hand(&db, &format!("DROP TABLE {table}")).await.unwrap();
        }
        up(&db.pool(1).await).await.unwrap();
        let by_up = (catalogue(&db).await, db.scalar_i64("SELECT applied_at FROM inbox_migrations").await);
        assert_eq!(by_hand.0, by_up.0);
        assert!((0..600).contains(&(by_up.1 - by_hand.1)), "seconds: {} and {}", by_hand.1, by_up.1);
        assert_eq!(db.scalar_text("SELECT version FROM inbox_migrations").await.as_deref(), Some(NAME));
    }

    /// It leaves nothing of ours but the history, and everything that is not ours.
    async fn the_way_back(db: TestDb) {
        db.exec("CREATE TABLE customers (id INTEGER PRIMARY KEY)").await;
        let text = printed(&db, &["--down"]).await;
        assert!(text.contains("processed again"), "{text}");
        // By `up` or by hand is the same to it.
        up(&db.pool(1).await).await.unwrap();
        run_by_hand(&db, &text).await.unwrap();
        run_by_hand(&db, &printed(&db, &[]).await).await.unwrap();
        insert_marker(&db).await;
        run_by_hand(&db, &text).await.unwrap();
        let pool = db.pool(1).await;
        assert_eq!(status(&pool).await.unwrap(), Status::Pending);
        assert_eq!(db.count("customers").await + db.count("inbox_migrations").await, 0);
        assert!(db.try_exec("SELECT 1 FROM inbox_message").await.is_err());
        up(&pool).await.unwrap();
        inbox_core::verify(&pool).await.unwrap();
    }

    /// A second time it changes nothing, whoever made the table.
    async fn twice(db: TestDb) {
        let text = printed(&db, &[]).await;
        up(&db.pool(1).await).await.unwrap();
        insert_marker(&db).await;
        run_by_hand(&db, &text).await.unwrap_err();
        assert_eq!((db.count("inbox_message").await, db.count("inbox_migrations").await), (1, 1));
        inbox_core::verify(&db.pool(1).await).await.unwrap();
    }

    /// MySQL stopped in between: what it left is told, and adopted.
    [mysql]
    async fn without_the_record(db: TestDb) {
        let text = printed(&db, &[]).await;
        let (ddl, _) = text.split_once("INSERT INTO").unwrap();
        run_by_hand(&db, ddl).await.unwrap();
        assert!(Inbox::on(&db, &["status"]).ends(7).await.err.contains("--adopt"));
        Inbox::on(&db, &["up", "--adopt"]).ends(0).await;
        Inbox::on(&db, &["verify"]).ends(0).await;
    }

    /// In an application with one history, its own: what the text says to do then.
    async fn beside_the_applications_migrator(db: TestDb) {
        struct Before;
        #[async_trait::async_trait]
        impl MigratorTrait for Before {
            fn migrations() -> Vec<Box<dyn MigrationTrait>> {
                Vec::new()
            }
        }
        struct After;
        #[async_trait::async_trait]
        impl MigratorTrait for After {
            fn migrations() -> Vec<Box<dyn MigrationTrait>> {
                inbox_migration::migrations()
            }
        }
        let pool = db.pool(2).await;
        Before::up(&pool, None).await.unwrap();
        let text = printed(&db, &[]).await;
        assert!(text.contains("the table of that migrator, seaql_migrations"), "{text}");
        let without_history = text.lines().filter(|line| !line.starts_with("CREATE TABLE IF NOT EXISTS")).collect::<Vec<_>>().join("\n");
        run_by_hand(&db, &without_history.replace("INSERT INTO inbox_migrations", "INSERT INTO seaql_migrations")).await.unwrap();
        After::up(&pool, None).await.unwrap();
        assert_eq!(After::get_pending_migrations(&pool).await.unwrap().len(), 0);
        inbox_core::verify(&pool).await.unwrap();
    }

    /// Where the unique index cannot be made there is no table either: because it is in one transaction, whose end the client
    /// never reaches (SQLite's, told to stop at an error), or reaches in vain.
    [postgres, sqlite]
    async fn never_without_its_index(db: TestDb) {
        db.exec("CREATE TABLE customers (id INTEGER PRIMARY KEY)").await;
        db.exec("CREATE INDEX \"idx-inbox_message-message_consumer\" ON customers (id)").await;
        let text = printed(&db, &[]).await;
        let session = db.pool(1).await;
        let mut failed = 0;
        for statement in text.split_inclusive(";\n") {
            failed += i32::from(session.execute_unprepared(statement).await.is_err());
            if failed > 0 && db.backend() == Backend::Sqlite {
                break;
            }
        }
        session.close().await.unwrap();
        assert!(failed > 0);
        assert!(db.try_exec("SELECT 1 FROM inbox_message").await.is_err(), "a table without its index");
        assert_eq!(status(&db.pool(1).await).await.unwrap(), Status::Pending);
    }

    /// `inbox sql … | psql`.
    [postgres, mysql]
    async fn through_the_client(db: TestDb) {
        let (rest, _) = db.url().split_once('?').unwrap_or((db.url(), ""));
        let mut client = if db.backend() == Backend::Postgres {
                let mut psql = Command::new("psql");
                psql.args(["-X", "-v", "ON_ERROR_STOP=1", rest]).env("PGOPTIONS", "-c client_min_messages=warning");
                psql
            } else {
                let (user, place) = rest.strip_prefix("mysql://").unwrap().rsplit_once('@').unwrap();
                let (host, port) = place.split_once('/').unwrap().0.split_once(':').unwrap();
                let mut mariadb = Command::new("mariadb");
                mariadb.args(["--no-defaults", "--protocol=TCP", "-h", host, "-P", port, "-u", user.trim_end_matches(':'), db.name()]);
                mariadb
            };
        for more in [&[][..], &["--down"], &[]] {
            let text = printed(&db, more).await;
            let mut running = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            running.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
            assert!(running.wait().unwrap().success(), "{text}");
        }
        inbox_core::verify(&db.pool(1).await).await.unwrap();
        Inbox::on(&db, &["down"]).ends(0).await;
    }
}
