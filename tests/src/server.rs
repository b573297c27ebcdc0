//! Where the test servers are, and statements that no test database is needed for.

use std::{env, fmt};

use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DbErr};

use crate::Backend;

/// `scheme://user@host:port/database?query`, taken apart as far as the tests need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    /// `scheme://user:password@`, or `scheme://`.
    head: String,
    host: String,
    port: u16,
    database: String,
    query: String,
}

impl ServerUrl {
    /// Of the server that `tests/run` started for this backend.
    ///
    /// A missing server is a failure, never a skipped test.
    pub(crate) fn of(backend: Backend) -> Self {
        let variable = backend.pick("INBOX_TEST_POSTGRES_URL", "INBOX_TEST_MYSQL_URL", "");
        let url = env::var(variable)
            .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `tests/run`, which starts {backend} and sets it"));
        Self::parse(&url).unwrap_or_else(|| panic!("{variable} has no host and port: {url}"))
    }

    fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (format!("{user}@"), address),
            None => (String::new(), authority),
        };
        let (host, port) = address.rsplit_once(':')?;
        Some(Self {
            head: format!("{scheme}://{user}"),
            host: host.to_owned(),
            port: port.parse().ok()?,
            database: database.to_owned(),
            query: query.to_owned(),
        })
    }

    pub(crate) fn with_database(&self, database: &str) -> Self {
        Self { database: database.to_owned(), ..self.clone() }
    }

    /// The same database through a proxy that listens on this machine.
    pub(crate) fn with_port(&self, port: u16) -> Self {
        Self { host: "127.0.0.1".to_owned(), port, ..self.clone() }
    }

    /// `host:port`.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// One connection to the server's maintenance database.
    pub(crate) async fn admin(&self) -> Result<DatabaseConnection, DbErr> {
        let mut options = ConnectOptions::new(self.to_string());
        options.max_connections(1).sqlx_logging(false);
        Database::connect(options).await
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}:{}/{}", self.head, self.host, self.port, self.database)?;
        if !self.query.is_empty() {
            write!(f, "?{}", self.query)?;
        }
        Ok(())
    }
}

/// Creates an empty database.
pub(crate) async fn create_database(backend: Backend, name: &str) -> Result<(), DbErr> {
    let admin = ServerUrl::of(backend).admin().await?;
    admin
        .execute_unprepared(&backend.pick(
            // template0: nobody can be connected to it, so that tests create databases at the same time.
            format!("CREATE DATABASE \"{name}\" TEMPLATE template0"),
            format!("CREATE DATABASE `{name}` CHARACTER SET utf8mb4"),
            String::new(),
        ))
        .await?;
    admin.close().await
}

/// Drops a database with everybody who is still connected to it.
pub(crate) async fn drop_database(backend: Backend, name: &str) -> Result<(), DbErr> {
    let admin = ServerUrl::of(backend).admin().await?;
    if backend == Backend::MySql {
        // An open transaction's metadata lock would hold up DROP DATABASE for a day.
        let sessions = format!("SELECT id FROM information_schema.processlist WHERE db = '{name}'");
        let sessions = sea_orm::Statement::from_string(backend.db_backend(), sessions);
        for row in admin.query_all_raw(sessions).await? {
            let id: i64 = row.try_get_by_index::<i64>(0).or_else(|_| row.try_get_by_index::<u64>(0).map(u64::cast_signed))?;
            // Gone already is as good.
            let _ = admin.execute_unprepared(&format!("KILL {id}")).await;
        }
    }
    admin
        .execute_unprepared(&backend.pick(
            format!("DROP DATABASE \"{name}\" WITH (FORCE)"),
            format!("SET STATEMENT lock_wait_timeout = 10 FOR DROP DATABASE `{name}`"),
            String::new(),
        ))
        .await?;
    admin.close().await
}

#[cfg(test)]
mod tests {
    use super::ServerUrl;

    #[test]
    fn a_url_survives_parsing() {
        for url in
            ["postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable", "mysql://root:a@b@localhost:3306/", "mysql://localhost:3306/x"]
        {
            assert_eq!(ServerUrl::parse(url).unwrap().to_string(), url);
        }
        let url = ServerUrl::parse("mysql://root@db:3306/?ssl-mode=disabled").unwrap();
        assert_eq!(url.with_database("x").with_port(7).to_string(), "mysql://root@127.0.0.1:7/x?ssl-mode=disabled");
        assert_eq!(ServerUrl::parse("mysql://no-port/"), None);
    }
}
