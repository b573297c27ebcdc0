//! Roles for the printed grants, with a name that has every character that could end its quotes.

use std::time::Duration;

use inbox_tests::{Backend, TestDb};
use sea_orm::{ConnectOptions, Database, DatabaseConnection, DbErr};

/// A role of the server's without any rights. [`gone`](Self::gone) when done.
pub(crate) struct Role {
    db: TestDb,
    pub(crate) name: String,
}

impl Role {
    pub(crate) async fn new(db: &TestDb) -> Self {
        let unique = db.name().rsplit_once('_').unwrap().1;
        let role = Self { db: db.clone(), name: format!("a'b\"c`d\\e]f@g -- %;{unique}") };
        let sql = db.backend().pick("CREATE ROLE … LOGIN", "CREATE USER … IDENTIFIED BY ''", "");
        db.exec(&sql.replace('…', &role.quoted())).await;
        role
    }

    /// As the server's manual has it, and not by the code under test.
    pub(crate) fn quoted(&self) -> String {
        let name = &self.name;
        let mysql = format!("'{}'@'%'", name.replace('\\', "\\\\").replace('\'', "\\'"));
        self.db.backend().pick(format!("\"{}\"", name.replace('"', "\"\"")), mysql, String::new())
    }

    /// As the command line takes it.
    pub(crate) fn argument(&self) -> String {
        self.db.backend().pick(self.name.clone(), format!("{}@%", self.name), String::new())
    }

    pub(crate) async fn pool(&self) -> Result<DatabaseConnection, DbErr> {
        let (scheme, rest) = self.db.url().split_once("://").unwrap();
        let address = rest.rsplit_once('@').map_or(rest, |(_, address)| address);
        let user = self.name.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        let mut options = ConnectOptions::new(format!("{scheme}://{user}@{address}"));
        options.max_connections(2).acquire_timeout(Duration::from_secs(10)).sqlx_logging(false);
        Database::connect(options).await
    }

    pub(crate) async fn gone(self) {
        if self.db.backend() == Backend::Postgres {
            self.db.exec(&format!("DROP OWNED BY {}", self.quoted())).await;
        }
        self.db.exec(&format!("DROP {} {}", self.db.backend().pick("ROLE", "USER", ""), self.quoted())).await;
    }
}

/// Each single right of a text, and the text without it.
pub(crate) fn each_right(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("GRANT ")).collect();
    let mut all = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let (rights, on_to) = line.strip_prefix("GRANT ").unwrap().split_once(" ON ").unwrap();
        let rights: Vec<&str> = rights.split(", ").collect();
        let on = on_to.split_once(" TO ").unwrap().0;
        for right in &rights {
            let others: Vec<&str> = rights.iter().copied().filter(|other| other != right).collect();
            let changed = if others.is_empty() { String::new() } else { format!("GRANT {} ON {on_to}", others.join(", ")) };
            let mut without: Vec<&str> = lines.clone();
            without[place] = &changed;
            all.push((format!("{right} ON {on}"), without.join("\n")));
        }
    }
    all
}
