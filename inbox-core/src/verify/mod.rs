//! Is the inbox table what this version needs? By catalogue and by behaviour (D12).
//!
//! The worst failure is silent: the table is there, its unique index is not, and every duplicate is processed. So a service
//! asks before its first message, and refuses to start.

mod behaviour;
mod error;
mod judge;
mod meaning;
mod mysql;
mod postgres;
mod remedy;
mod sqlite;

use std::time::Duration;

use sea_orm::{DatabaseConnection, DbBackend, DbErr};
use tokio::time::Instant;

pub use self::error::SchemaError;
use self::judge::{Catalogue, judge};
use crate::Error;
use crate::transient::is_transient;

/// Twelve tries, about a second together: replicas that start at once meet each other's locks.
const TRIES: u32 = 12;

/// No further try after this: each may have waited for the pool's own timeout.
const PATIENCE: Duration = Duration::from_secs(5);

/// Proves that the inbox table and its unique index are there and do what a delivery relies on. Call it before the first
/// message; refuse to start on an error.
///
/// * By catalogue: the unique index is valid, unique, immediate, without a predicate, on exactly the two plain columns, with
///   a binary comparison; no other unique index interferes; every column is there with its type; the table survives a crash
///   and knows transactions. Where the role may not read the catalogue, a warning is logged and behaviour decides.
/// * By behaviour, in a transaction that is always rolled back, with a fresh random id: markers of two consumers, of two that
///   differ in case, and of two messages are accepted, found and given back as they were written; a repeated one is refused by
///   our index.
///
/// It writes nothing that stays, locks nobody out, and any number of replicas may call it at once. Where they meet each
/// other's locks it tries again, for about a second.
///
/// # Errors
///
/// [`Error::Schema`] names what is wrong and what mends it. [`Error::Begin`] and [`Error::Query`] when the database could not
/// be asked; they are [transient](Error::is_transient) where trying again may help.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let db = sea_orm::Database::connect("sqlite::memory:").await?;
/// assert!(inbox_core::verify(&db).await.is_err());      // no table yet
/// inbox_migration::up(&db).await?;
/// inbox_core::verify(&db).await?;
/// # Ok(())
/// # }
/// ```
pub async fn verify(db: &DatabaseConnection) -> Result<(), Error> {
    let started = Instant::now();
    let mut tries = 1;
    loop {
        match verify_once(db).await {
            Err(error) if error.is_transient() && tries < TRIES && started.elapsed() < PATIENCE => {
                tracing::debug!(%error, tries, "the inbox table cannot be verified just now");
                tokio::time::sleep(Duration::from_millis(30).mul_f64(f64::from(tries) * fastrand::f64())).await;
                tries += 1;
            }
            verified => return verified,
        }
    }
}

async fn verify_once(db: &DatabaseConnection) -> Result<(), Error> {
    let catalogue = match read_catalogue(db).await {
        Ok(catalogue) => catalogue,
        Err(error) if is_transient(&error) => return Err(Error::Query(error)),
        Err(error) => Catalogue::Unreadable(Some(error)),
    };
    if let Catalogue::Wrong(faults) = catalogue {
        return Err(Error::Schema(SchemaError::of(db.get_database_backend(), faults)));
    }
    behaviour::prove(db, &catalogue).await?;
    if let Catalogue::Unreadable(error) = catalogue {
        let error = error.map(tracing::field::display);
        tracing::warn!(error, "the catalogue does not show the inbox table to this role; its behaviour alone was verified");
    }
    Ok(())
}

async fn read_catalogue(db: &DatabaseConnection) -> Result<Catalogue, DbErr> {
    let backend = db.get_database_backend();
    let table = match backend {
        DbBackend::Postgres => postgres::read(db).await?,
        DbBackend::MySql => mysql::read(db).await?,
        _ => sqlite::read(db).await?,
    };
    Ok(judge(backend, table))
}

#[cfg(test)]
mod tests;
