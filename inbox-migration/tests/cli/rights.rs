//! Users who may not do everything. Real ones: a role without CREATE, a user with nothing but SELECT.

use inbox_tests::{Backend, TestDb, backends};

use super::process::{Inbox, PASSWORD, as_user, create_user, drop_user};

fn grant(db: &TestDb, user: &str, rights: &str, table: &str) -> String {
    db.backend().pick(
        format!("GRANT {rights} ON {table} TO \"{user}\""),
        format!("GRANT {rights} ON `{}`.{table} TO '{user}'@'%'", db.name()),
        String::new(),
    )
}

backends! {
    /// `up` on an empty database says which right is missing, and changes nothing.
    [postgres, mysql]
    async fn may_not_create(db: TestDb) {
        let user = create_user(&db).await;
        let url = as_user(&db, &user, PASSWORD);
        if db.backend() == Backend::MySql {
            db.exec(&grant(&db, &user, "SELECT", "*")).await;
        } else {
            db.exec("REVOKE CREATE ON SCHEMA public FROM PUBLIC").await;
        }
        let run = Inbox::new(&["up"]).url(&url).ends(4).await;
        assert!(run.err.contains("missing rights on") && run.err.contains("needs the right to create tables"), "{}", run.err);
        // Reading that there is nothing needs no more.
        assert!(Inbox::new(&["status"]).url(&url).ends(0).await.out.contains("pending"));
        assert!(Inbox::new(&["down"]).url(&url).ends(0).await.out.contains("nothing to do"));
        drop_user(&db, &user).await;
    }

    /// A service's role, which may only work with the rows: `up` and `status` at every start need no DDL rights, `verify` works,
    /// `down` does not.
    [postgres, mysql]
    async fn may_only_read_and_write(db: TestDb) {
        Inbox::on(&db, &["up"]).ends(0).await;
        let user = create_user(&db).await;
        let url = as_user(&db, &user, PASSWORD);
        db.exec(&grant(&db, &user, "SELECT, INSERT, UPDATE, DELETE", "inbox_message")).await;
        db.exec(&grant(&db, &user, "SELECT", "inbox_migrations")).await;
        assert!(Inbox::new(&["up"]).url(&url).ends(0).await.out.contains("nothing to do"));
        assert!(Inbox::new(&["status"]).url(&url).ends(0).await.out.contains("applied"));
        Inbox::new(&["verify"]).url(&url).ends(0).await;
        for command in [&["down"][..], &["down", "--force"]] {
            let run = Inbox::new(command).url(&url).ends(4).await;
            assert!(run.err.contains("needs the right to drop"), "{}", run.err);
        }
        assert_eq!(db.count("inbox_message").await, 0, "it is still there");
        drop_user(&db, &user).await;
    }

    /// Nothing but SELECT: enough to look, not to verify.
    [postgres, mysql]
    async fn may_only_read(db: TestDb) {
        Inbox::on(&db, &["up"]).ends(0).await;
        let user = create_user(&db).await;
        let url = as_user(&db, &user, PASSWORD);
        db.exec(&grant(&db, &user, "SELECT", "inbox_message")).await;
        db.exec(&grant(&db, &user, "SELECT", "inbox_migrations")).await;
        assert!(Inbox::new(&["status"]).url(&url).ends(0).await.out.contains("applied"));
        assert!(Inbox::new(&["up"]).url(&url).ends(0).await.out.contains("nothing to do"));
        let run = Inbox::new(&["verify"]).url(&url).run().await;
        assert!([4, 8].contains(&run.code) && run.err.contains("INSERT"), "{} {}", run.code, run.err);
        drop_user(&db, &user).await;
    }

    /// Not even that.
    [postgres]
    async fn may_not_read(db: TestDb) {
        Inbox::on(&db, &["up"]).ends(0).await;
        let user = create_user(&db).await;
        let run = Inbox::new(&["status"]).url(&as_user(&db, &user, PASSWORD)).ends(4).await;
        assert!(run.err.contains("needs SELECT on inbox_migrations"), "{}", run.err);
        drop_user(&db, &user).await;
    }

    /// The server does not know the user, or not by this password.
    [postgres, mysql]
    async fn refused_at_the_door(db: TestDb) {
        let user = if db.backend() == Backend::Postgres { "nobody_of_that_name".to_owned() } else { create_user(&db).await };
        for command in ["up", "down", "status", "verify"] {
            let run = Inbox::new(&[command]).url(&as_user(&db, &user, "hunter2-geheim-wrong")).ends(4).await;
            assert!(run.err.contains("refuses this user or password"), "{}", run.err);
        }
        if db.backend() == Backend::MySql {
            drop_user(&db, &user).await;
        }
    }

    /// A standby, a read-only file: told apart from a missing right. (MySQL's `read_only` is the whole server's, and does not bind
    /// root.)
    [postgres, sqlite]
    async fn read_only(db: TestDb) {
        let and = if db.url().contains('?') { '&' } else { '?' };
        let url = match db.backend() {
            Backend::Sqlite => db.url().replace("mode=rwc", "mode=ro"),
            _ => format!("{}{and}options=-c%20default_transaction_read_only%3Don", db.url()),
        };
        let run = Inbox::new(&["up"]).url(&url).ends(4).await;
        assert!(run.err.contains("read-only"), "{}", run.err);
        assert!(Inbox::new(&["status"]).url(&url).ends(0).await.out.contains("pending"));
        Inbox::on(&db, &["up"]).ends(0).await;
        assert!(Inbox::new(&["up"]).url(&url).ends(0).await.out.contains("nothing to do"));
        assert!(Inbox::new(&["status"]).url(&url).ends(0).await.out.contains("applied"));
    }
}
