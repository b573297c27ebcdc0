//! The database's URL: taken apart as far as is needed to refuse it early, to name the database, and to know its secrets.

use std::fmt;

use sea_orm::DbBackend;

use super::exit::Exit;
use super::failure::Failure;
use super::scrub::Scrub;

/// A URL that has a driver. `Display` names the database, without user and password; `Debug` says no more.
pub(super) struct DatabaseUrl {
    text: String,
    backend: DbBackend,
    place: String,
    secrets: Vec<String>,
}

/// The drivers of this binary.
#[derive(Clone, Copy)]
struct Drivers {
    postgres: bool,
    mysql: bool,
    sqlite: bool,
}

const COMPILED_IN: Drivers =
    Drivers { postgres: cfg!(feature = "sqlx-postgres"), mysql: cfg!(feature = "sqlx-mysql"), sqlite: cfg!(feature = "sqlx-sqlite") };

impl DatabaseUrl {
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        Self::parse_for(text.trim(), COMPILED_IN)
    }

    fn parse_for(text: &str, drivers: Drivers) -> Result<Self, Failure> {
        let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
        let (backend, compiled_in) = match scheme.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" => (DbBackend::Postgres, drivers.postgres),
            "mysql" => (DbBackend::MySql, drivers.mysql),
            "sqlite" => (DbBackend::Sqlite, drivers.sqlite),
            "mssql" | "sqlserver" => {
                return Err(no_driver("SeaORM 2.0 has no driver for SQL Server".to_owned()));
            }
            "mariadb" => return Err(bad("the scheme of MariaDB is mysql too: write mysql://…")),
            // It is not repeated: a URL without a scheme starts with the user's name, or with anything.
            _ => {
                return Err(bad("the database URL must start with postgres:// (or postgresql://), mysql:// or sqlite:"));
            }
        };
        if !compiled_in {
            return Err(no_driver(format!(
                "this binary was built without the driver for {}: build it with --features sqlx-{}",
                backend_name(backend),
                scheme.to_ascii_lowercase().replace("postgresql", "postgres")
            )));
        }
        let (place, secrets) = if backend == DbBackend::Sqlite { sqlite(rest) } else { server(backend, rest)? };
        Ok(Self { text: text.to_owned(), backend, place, secrets })
    }

    /// For the driver, for nobody else.
    pub(super) fn expose(&self) -> &str {
        &self.text
    }

    pub(super) fn is_sqlite(&self) -> bool {
        self.backend == DbBackend::Sqlite
    }

    pub(super) fn backend(&self) -> DbBackend {
        self.backend
    }

    pub(super) fn scrub(&self) -> Scrub {
        Scrub::new(self.secrets.iter().cloned())
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", backend_name(self.backend), self.place)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// A file has no password.
fn sqlite(rest: &str) -> (String, Vec<String>) {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    (decoded(path), Vec::new())
}

fn server(backend: DbBackend, rest: &str) -> Result<(String, Vec<String>), Failure> {
    let Some(rest) = rest.strip_prefix("//") else {
        return Err(bad("the database URL lacks the // after its scheme"));
    };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = path.split_once('/').unwrap_or((path, ""));
    // Behind an unescaped / ? or # the rest of a password would be taken for a database's name, and shown.
    if rest.contains('#') || database.contains('@') || query.contains('@') {
        return Err(bad("the database URL has one of / ? # @ in a place where it must be percent-encoded (%2F %3F %23 %40), \
             in the password perhaps"));
    }
    let (user_info, address) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (address, ""),
    };
    if !port.is_empty() && port.parse::<u16>().is_err() {
        return Err(bad("the port in the database URL is not a number (a / in the password must be written %2F)"));
    }
    let mut secrets = vec![rest.to_owned()];
    if let Some((_, password)) = user_info.split_once(':') {
        secrets.extend([password.to_owned(), decoded(password)]);
    }
    let default_port = if backend == DbBackend::Postgres { "5432" } else { "3306" };
    let mut place = Place {
        host: decoded(host),
        port: if port.is_empty() { default_port.to_owned() } else { port.to_owned() },
        database: decoded(database),
    };
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let value_text = decoded(&value.replace('+', " "));
        match &*decoded(name) {
            "host" | "hostaddr" if backend == DbBackend::Postgres => place.host = value_text,
            "port" if backend == DbBackend::Postgres => place.port = value_text,
            "dbname" if backend == DbBackend::Postgres => place.database = value_text,
            "socket" if backend == DbBackend::MySql => place.host = value_text,
            name if is_secret(name) => secrets.extend([value.to_owned(), value_text]),
            _ => {}
        }
    }
    if backend == DbBackend::MySql && place.database.is_empty() {
        return Err(bad("the database URL names no database: mysql://host/DATABASE"));
    }
    Ok((place.to_string(), secrets))
}

struct Place {
    host: String,
    port: String,
    database: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = if self.host.is_empty() { "localhost" } else { &self.host };
        write!(f, "at {host}")?;
        if !host.starts_with('/') {
            write!(f, ":{}", self.port)?;
        }
        if self.database.is_empty() { Ok(()) } else { write!(f, ", database {}", self.database) }
    }
}

/// Also the parameter that is misspelt, which the driver ignores.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["pas", "pwd", "secret", "token"].iter().any(|part| name.contains(part))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        if let Some(byte) = hex.filter(|_| *first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn backend_name(backend: DbBackend) -> &'static str {
    match backend {
        DbBackend::Postgres => "PostgreSQL",
        DbBackend::MySql => "MySQL",
        _ => "SQLite",
    }
}

fn bad(message: &str) -> Failure {
    Failure { exit: Exit::BadUrl, message: message.to_owned() }
}

fn no_driver(message: String) -> Failure {
    Failure { exit: Exit::NoDriver, message }
}

#[cfg(test)]
mod tests;
