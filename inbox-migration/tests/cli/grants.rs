//! The printed rights are enough, and each of them is needed by something.

use inbox_core::{Consumer, InboxKey, MessageId, Outcome, process, seen};
use inbox_migration::{Rows, Status, down, status, up};
use inbox_tests::{Backend, TestDb, backends};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, TransactionTrait as _};

use super::process::Inbox;
use super::role::{Role, each_right};

/// PostgreSQL's, with quotes in its name; nobody has a right on it by being PUBLIC.
const SCHEMA: &str = "in \"box\"";

/// A database in which PUBLIC may do nothing.
async fn hardened(db: &TestDb) {
    if db.backend() == Backend::Postgres {
        let schema = SCHEMA.replace('"', "\"\"");
        db.exec(&format!("CREATE SCHEMA \"{schema}\"")).await;
        db.exec(&format!("ALTER DATABASE \"{}\" SET search_path = \"{schema}\"", db.name())).await;
        db.exec(&format!("REVOKE ALL ON DATABASE \"{}\" FROM PUBLIC", db.name())).await;
    } else {
        // So that a handler can commit behind the back of its delivery.
        db.exec("CREATE PROCEDURE commits() COMMIT").await;
    }
}

/// What `inbox grants` prints for a role of this database.
async fn printed(db: &TestDb, kind: &str, role: &Role) -> String {
    let role = role.argument();
    let mut arguments = vec!["grants", "--for", kind, "--database", db.name(), "--role", &role];
    arguments.extend(db.backend().pick(vec!["--backend", "postgres", "--schema", SCHEMA], vec!["--backend", "mysql"], vec![]));
    Inbox::new(&arguments).ends(0).await.out
}

fn key(message: &str) -> InboxKey {
    InboxKey::new(Consumer::from_static("credit"), MessageId::from_text("orders", message).unwrap())
}

/// What a service does. Returns what it could not do.
async fn application(db: &TestDb, role: &Role) -> Vec<&'static str> {
    let Ok(pool) = role.pool().await else { return vec!["connect"] };
    let mut failed = Vec::new();
    let mut tried = |what, worked: bool| {
        if !worked {
            failed.push(what);
        }
    };
    let deliver = async |message| process(&pool, key(message), async |_| Ok::<_, DbErr>(())).await;
    tried("start", matches!(up(&pool).await, Ok(applied) if applied.is_empty()));
    tried("status", matches!(status(&pool).await, Ok(Status::Applied)));
    tried("verify", inbox_core::verify(&pool).await.is_ok());
    tried("deliver", matches!(deliver("m1").await, Ok(Outcome::Processed(()))));
    tried("duplicate", matches!(deliver("m1").await, Ok(Outcome::Duplicate)));
    let own = process(&pool, key("m2"), async |_| Err::<(), _>(DbErr::Custom("mine".to_owned()))).await;
    tried("failing body", matches!(own, Err(DbErr::Custom(text)) if text == "mine"));
    let nested = process(&pool, key("m3"), async |outer| {
        assert_eq!(process(outer, key("m4"), async |_| Ok::<_, DbErr>(())).await?, Outcome::Processed(()));
        process(outer, key("m4"), async |_| Ok::<_, DbErr>(())).await
    });
    tried("nested", matches!(nested.await, Ok(Outcome::Processed(Outcome::Duplicate))));
    let callers = pool.begin().await.unwrap();
    let again = process(&callers, key("m1"), async |_| Ok::<_, DbErr>(())).await;
    tried("own transaction", matches!(again, Ok(Outcome::Duplicate)));
    callers.rollback().await.unwrap();
    tried("seen", matches!(seen(&pool, &key("m1")).await, Ok(true)));
    if db.backend() == Backend::MySql {
        let hidden = process(&pool, key("m5"), async |tx| {
            tx.execute_unprepared("CALL commits()").await?;
            Err::<(), _>(DbErr::Custom("mine".to_owned()))
        });
        let aborted = hidden.await.is_err();
        tried("take back", aborted && matches!(deliver("m5").await, Ok(Outcome::Processed(()))));
    }
    // What a claim's transitions are made of.
    tried("claim", works(&pool, "UPDATE inbox_message SET claimed_until = NULL, attempts = attempts + 1 WHERE attempts = 1").await);
    pool.close().await.unwrap();
    failed
}

/// What an operator does. Returns what it could not do.
async fn operator(_: &TestDb, role: &Role) -> Vec<&'static str> {
    let Ok(pool) = role.pool().await else { return vec!["connect"] };
    let mut failed = Vec::new();
    let mut tried = |what, worked: bool| {
        if !worked {
            failed.push(what);
        }
    };
    tried("up", matches!(up(&pool).await, Ok(applied) if applied.len() == 1));
    tried("again", matches!(up(&pool).await, Ok(applied) if applied.is_empty()));
    tried("status", matches!(status(&pool).await, Ok(Status::Applied)));
    tried("verify", inbox_core::verify(&pool).await.is_ok());
    // What freeing a parked message and purging are made of.
    tried("free", works(&pool, "UPDATE inbox_message SET attempts = 0 WHERE processed_at IS NULL").await);
    tried("purge", works(&pool, "DELETE FROM inbox_message WHERE id > 0 AND id <= 1000 AND processed_at IS NOT NULL").await);
    tried("down", matches!(down(&pool, Rows::Keep).await, Ok(undone) if undone.len() == 1));
    pool.close().await.unwrap();
    failed
}

async fn works(pool: &DatabaseConnection, sql: &str) -> bool {
    pool.execute_unprepared(sql).await.is_ok()
}

/// The tables as a DBA makes them, by hand and as somebody else.
async fn tables(db: &TestDb) {
    let text = super::sql::printed(db, &[]).await;
    let session = db.pool(1).await;
    session.execute_unprepared(&text).await.unwrap();
    session.close().await.unwrap();
}

async fn no_tables(db: &TestDb) {
    let session = db.pool(1).await;
    for table in ["inbox_message", "inbox_migrations"] {
        session.execute_unprepared(&format!("DROP TABLE IF EXISTS {table}")).await.unwrap();
    }
    session.close().await.unwrap();
}

/// A fresh role with these rights and no others.
async fn with_rights(db: &TestDb, rights: &str) -> Role {
    let role = Role::new(db).await;
    db.exec(rights).await;
    if db.backend() == Backend::MySql {
        db.exec(&format!("GRANT EXECUTE ON PROCEDURE commits TO {}", role.quoted())).await;
    }
    role
}

/// `(right, what fails without it)`, for all that is printed; the last part of a table's name stands for it.
type Needed = &'static [(&'static str, &'static [&'static str])];

async fn are_enough_and_needed(db: &TestDb, kind: &str, does: impl AsyncFn(&TestDb, &Role) -> Vec<&'static str>, needed: Needed) {
    let role = Role::new(db).await;
    let text = printed(db, kind, &role).await;
    role.gone().await;

    let role = with_rights(db, &text).await;
    assert_eq!(does(db, &role).await, [""; 0], "{text}");
    role.gone().await;

    let rights = each_right(&text);
    assert_eq!(rights.len(), needed.len(), "{rights:?}");
    for ((right, others), (expected, fails)) in rights.iter().zip(needed) {
        let (what, on) = expected.split_once(" ON ").unwrap();
        assert!(right.starts_with(&format!("{what} ON ")) && right.contains(on), "{right} is not {expected}");
        // MySQL gives no rights but CREATE on tables that are not there, and keeps them when the tables are dropped.
        no_tables(db).await;
        tables(db).await;
        let role = with_rights(db, others).await;
        if kind == "operator" {
            no_tables(db).await;
        }
        let failed = does(db, &role).await;
        for what in *fails {
            assert!(failed.contains(what), "without {right} {what} works; what fails: {failed:?}");
        }
        if *fails == ["claim"] || *fails == ["free"] {
            assert_eq!(failed, *fails, "{right} is for what this version does not have");
        }
        role.gone().await;
    }
}

backends! {
    /// With exactly these rights everything works, without any one of them something does not.
    [postgres, mysql]
    async fn of_an_application(db: TestDb) {
        hardened(&db).await;
        tables(&db).await;
        let inbox: Needed = db.backend().pick(
            &[
                ("CONNECT ON DATABASE", &["connect"]),
                ("USAGE ON SCHEMA", &["start", "status", "verify", "deliver"]),
                ("SELECT ON inbox_message", &["verify", "duplicate", "own transaction", "seen"]),
                ("INSERT ON inbox_message", &["verify", "deliver", "nested"]),
                ("SELECT ON inbox_migrations", &["start", "status"]),
                ("UPDATE ON inbox_message", &["claim"]),
            ],
            &[
                ("SELECT ON inbox_message", &["verify", "duplicate", "own transaction", "seen"]),
                ("INSERT ON inbox_message", &["verify", "deliver", "nested"]),
                ("DELETE ON inbox_message", &["verify", "take back"]),
                ("SELECT ON inbox_migrations", &["start", "status"]),
                ("UPDATE ON inbox_message", &["claim"]),
            ],
            &[],
        );
        are_enough_and_needed(&db, "application", application, inbox).await;
    }

    [postgres, mysql]
    async fn of_an_operator(db: TestDb) {
        hardened(&db).await;
        let needed: Needed = db.backend().pick(
            &[("CONNECT ON DATABASE", &["connect"]), ("USAGE ON SCHEMA", &["up"]), ("CREATE ON SCHEMA", &["up"])],
            &[
                ("CREATE ON inbox_message", &["up"]),
                ("DROP ON inbox_message", &["down"]),
                ("SELECT ON inbox_message", &["verify", "purge", "down"]),
                ("INSERT ON inbox_message", &["verify"]),
                ("UPDATE ON inbox_message", &["free"]),
                ("DELETE ON inbox_message", &["verify", "purge"]),
                ("CREATE ON inbox_migrations", &["up"]),
                ("SELECT ON inbox_migrations", &["again", "status", "down"]),
                ("INSERT ON inbox_migrations", &["up"]),
                ("DELETE ON inbox_migrations", &["down"]),
                ("LOCK TABLES ON .*", &["down"]),
            ],
            &[],
        );
        are_enough_and_needed(&db, "operator", operator, needed).await;
    }

    /// `_` in a database's name stands for any character in MySQL's grants: rights on `a_b` must not be rights on `axb`.
    [mysql]
    async fn of_one_database_only(db: TestDb) {
        let role = Role::new(&db).await;
        let text = printed(&db, "operator", &role).await;
        db.exec(&text).await;
        let other = db.name().replace('_', "x");
        db.exec(&format!("CREATE DATABASE `{other}`")).await;
        db.exec(&format!("CREATE TABLE `{other}`.t (a INTEGER)")).await;
        // The other right that LOCK TABLES takes.
        db.exec(&format!("GRANT SELECT ON `{other}`.t TO {}", role.quoted())).await;
        let pool = role.pool().await.unwrap();
        assert!(works(&pool, &format!("SELECT a FROM `{other}`.t")).await);
        let elsewhere = pool.execute_unprepared(&format!("LOCK TABLES `{other}`.t READ")).await;
        pool.close().await.unwrap();
        db.exec(&format!("DROP DATABASE `{other}`")).await;
        role.gone().await;
        assert!(elsewhere.unwrap_err().to_string().contains("denied"));
    }
}
