//! Roles that may not do what a delivery does, or may not read the catalogue.

use std::sync::{Arc, Mutex};

use inbox_core::{Error, verify};
use inbox_tests::{Backend, TestDb, backends};
use sea_orm::{ConnectOptions, Database, DatabaseConnection};
use tracing::{Event, Level, Metadata, Subscriber, field, instrument::WithSubscriber as _, span};

use crate::fixture::{drop_idx, instead, migrated_and, refusal_of, start_afresh};

/// A role of this test's own with these rights on the inbox table.
pub(crate) struct Role {
    db: TestDb,
    pool: DatabaseConnection,
    name: String,
}

impl Role {
    pub(crate) async fn new(db: &TestDb, rights: &str) -> Self {
        let name = format!("role_{}", &uuid::Uuid::new_v4().simple().to_string()[..12]);
        let user = db.backend().pick(name.clone(), format!("'{name}'@'%'"), String::new());
        db.exec(&db.backend().pick(format!("CREATE ROLE {user} LOGIN"), format!("CREATE USER {user} IDENTIFIED BY ''"), String::new()))
            .await;
        if db.backend() == Backend::MySql {
            // Something, so that it may use the database at all.
            db.exec("CREATE TABLE IF NOT EXISTS elsewhere (a int)").await;
            db.exec(&format!("GRANT SELECT ON elsewhere TO {user}")).await;
        }
        if !rights.is_empty() {
            db.exec(&format!("GRANT {rights} ON inbox_message TO {user}")).await;
        }
        let (scheme, rest) = db.url().split_once("://").unwrap();
        let address = rest.rsplit_once('@').map_or(rest, |(_, address)| address);
        let mut options = ConnectOptions::new(format!("{scheme}://{name}@{address}"));
        options.max_connections(2).sqlx_logging(false);
        Self { db: db.clone(), pool: Database::connect(options).await.unwrap(), name }
    }

    pub(crate) async fn refused(self, says: &[&str]) -> String {
        let error = refusal_of(&self.db, &self.pool, says).await;
        self.gone().await;
        error.remedy().to_owned()
    }

    /// Roles are the server's, and outlive the database.
    async fn gone(self) {
        self.pool.close().await.unwrap();
        let user = self.db.backend().pick(self.name.clone(), format!("'{}'@'%'", self.name), String::new());
        if self.db.backend() == Backend::Postgres {
            self.db.exec(&format!("DROP OWNED BY {user}")).await;
        }
        self.db.exec(&format!("DROP {} {user}", self.db.backend().pick("ROLE", "USER", ""))).await;
    }
}

backends! {
    [postgres, mysql]
    async fn without_insert(db: TestDb) {
        start_afresh(&db).await;
        let remedy = Role::new(&db, "SELECT").await.refused(&["`inbox_message` refuses a first marker to this role ("]).await;
        assert_eq!(remedy, "`GRANT SELECT, INSERT, UPDATE, DELETE ON inbox_message` to this role");
    }

    /// A duplicate is looked up by its key.
    [postgres, mysql]
    async fn without_select(db: TestDb) {
        start_afresh(&db).await;
        Role::new(&db, "INSERT").await.refused(&["`inbox_message` refuses a look by key to this role ("]).await;
    }

    /// Deletion is needed where a marker may survive its rollback.
    [mysql]
    async fn without_delete(db: TestDb) {
        start_afresh(&db).await;
        Role::new(&db, "SELECT, INSERT").await.refused(&["`inbox_message` refuses the deletion of a marker to this role ("]).await;
    }

    /// A right on some columns hides the others.
    [mysql]
    async fn with_rights_on_some_columns(db: TestDb) {
        start_afresh(&db).await;
        let role = Role::new(&db, "INSERT (message_id, consumer), SELECT (message_id, consumer)").await;
        role.refused(&["has no column `payload` that this role can see"]).await;
    }

    [postgres, mysql]
    async fn without_any_right(db: TestDb) {
        start_afresh(&db).await;
        Role::new(&db, "").await.refused(&["`inbox_message` refuses a first marker to this role ("]).await;
    }

    [postgres, mysql]
    async fn with_what_is_needed(db: TestDb) {
        start_afresh(&db).await;
        let role = Role::new(&db, db.backend().pick("SELECT, INSERT", "SELECT, INSERT, DELETE", "")).await;
        let (warnings, verified) = with_warnings(&role.pool).await;
        verified.unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        role.gone().await;
    }

    /// A file that is not to be written.
    [sqlite]
    async fn read_only(db: TestDb) {
        start_afresh(&db).await;
        let pool = Database::connect(db.url().replace("mode=rwc", "mode=ro")).await.unwrap();
        let error = verify(&pool).await.unwrap_err();
        assert!(error.to_string().contains("readonly"), "{error}");
        assert!(!error.is_transient(), "{error}");
    }

    /// The catalogue is not for everybody: what is right is accepted by its behaviour, with a warning.
    [postgres]
    async fn without_the_catalogue(db: TestDb) {
        start_afresh(&db).await;
        for table in ["pg_index", "pg_class", "pg_attribute"] {
            db.exec(&format!("REVOKE SELECT ON pg_catalog.{table} FROM PUBLIC")).await;
            let role = Role::new(&db, "SELECT, INSERT").await;
            let (warnings, verified) = with_warnings(&role.pool).await;
            verified.unwrap();
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].contains("the catalogue does not show the inbox table to this role"), "{warnings:?}");
            assert!(warnings[0].contains(&format!("permission denied for table {table}")), "{warnings:?}");
            assert_eq!(db.count("inbox_message").await, 0);
            role.gone().await;
            db.exec(&format!("GRANT SELECT ON pg_catalog.{table} TO PUBLIC")).await;
        }
    }

    /// And what is wrong is refused by its behaviour alone.
    [postgres]
    async fn wrong_without_the_catalogue(db: TestDb) {
        db.exec("REVOKE SELECT ON pg_catalog.pg_index FROM PUBLIC").await;
        db.exec("CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)").await;
        let accepts_twice = "`inbox_message` accepts a repeated marker";
        for (change, says) in [
            (vec![drop_idx(&db)], accepts_twice),
            (instead(&db, "", "(message_id, consumer)"), accepts_twice),
            (instead(&db, "UNIQUE", "(message_id, consumer, received_at)"), accepts_twice),
            (instead(&db, "UNIQUE", "(message_id, consumer, attempts)"), accepts_twice),
            (instead(&db, "UNIQUE", "(message_id, consumer, payload)"), accepts_twice),
            (instead(&db, "UNIQUE", "(message_id, consumer) WHERE processed_at IS NULL"), accepts_twice),
            (instead(&db, "UNIQUE", "(message_id)"), "`inbox_message` refuses the marker of a consumer whose name differs in case only ("),
            (instead(&db, "UNIQUE", "(consumer)"), "`inbox_message` refuses a second message's marker of the same consumer ("),
            (
                instead(&db, "UNIQUE", "(message_id, consumer COLLATE folding)"),
                "refuses the marker of a consumer whose name differs in case only (",
            ),
            (
                vec![drop_idx(&db), "CREATE UNIQUE INDEX renamed ON inbox_message (message_id, consumer)".to_owned()],
                "`inbox_message` refuses a repeated marker, but not by the index `idx-inbox_message-message_consumer` (",
            ),
        ] {
            migrated_and(&db, &change).await;
            let remedy = Role::new(&db, "SELECT, INSERT").await.refused(&[says]).await;
            assert!(remedy.contains("run `inbox verify` as the table's owner"), "{remedy}");
        }
    }
}

/// What it warns of, as an operator would read it.
async fn with_warnings(pool: &DatabaseConnection) -> (Vec<String>, Result<(), Error>) {
    let warnings = Warnings::default();
    let verified = verify(pool).with_subscriber(warnings.clone()).await;
    let seen = warnings.0.lock().unwrap().clone();
    (seen, verified)
}

#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl field::Visit for Text {
    fn record_debug(&mut self, _: &field::Field, value: &dyn std::fmt::Debug) {
        use std::fmt::Write as _;
        write!(self.0, "{value:?} ").unwrap();
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}
