//! One migrator at a time (D11): SeaORM's own takes no lock, and replicas that start together would race it.
//!
//! The lock and the work are on **one** connection, pinned by a transaction: so the lock cannot be lost while the work goes
//! on, a pool of one connection is enough, and what remains after a crash is what the server releases by itself.
//!
//! | | lock | released by |
//! | --- | --- | --- |
//! | PostgreSQL | `pg_try_advisory_xact_lock`, asked again until it is free | the end of the transaction, however it ends |
//! | MySQL, MariaDB | `GET_LOCK`, named after the database | `RELEASE_LOCK` on every path, or the end of the connection |
//! | SQLite | `BEGIN IMMEDIATE`, again while the file is busy | the end of the transaction |

use std::time::{Duration, Instant};

use sea_orm::sqlx;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, IsolationLevel, RuntimeErr, SqliteTransactionMode,
    Statement, TransactionOptions, TransactionTrait as _,
};

use crate::Error;

/// How long a process waits for another one's migration, if it does not say otherwise.
pub(crate) const WAIT: Duration = Duration::from_mins(1);

/// How often it looks again where the server cannot wake it.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Advisory locks are per database.
const POSTGRES_KEY: i64 = i64::from_be_bytes(*b"inbox_mi");

/// MySQL's lock names are the server's, 64 characters long, and regardless of case.
const MYSQL_NAME: &str = "CONCAT('inbox_migrations:', LEFT(SHA2(LOWER(DATABASE()), 256), 40))";

const TAKING: &str = "taking the migration lock";

/// The connection that holds the lock.
#[derive(Debug)]
pub(crate) struct Locked {
    transaction: DatabaseTransaction,
    /// False on a server that has no such lock, see [`mysql`].
    alone: bool,
}

impl Locked {
    pub(crate) async fn take(db: &DatabaseConnection, wait: Duration) -> Result<Self, Error> {
        let (transaction, alone) = match db.get_database_backend() {
            DbBackend::Postgres => (postgres(db, wait).await?, true),
            DbBackend::MySql => mysql(db, wait).await?,
            _ => (sqlite(db, wait).await?, true),
        };
        Ok(Self { transaction, alone })
    }

    pub(crate) fn connection(&self) -> &DatabaseTransaction {
        &self.transaction
    }

    /// Settles the work and gives the lock back, in this order. A failure here never replaces the work's own error.
    pub(crate) async fn settle<T>(self, work: Result<T, Error>) -> Result<T, Error> {
        let mysql = self.transaction.get_database_backend() == DbBackend::MySql;
        match work {
            Ok(done) => {
                if mysql {
                    let committed = self.transaction.execute_unprepared("COMMIT").await;
                    self.release_mysql().await;
                    committed.map_err(Error::database("committing the migration"))?;
                }
                let committed = self.transaction.commit().await;
                committed.map_err(Error::database("committing the migration"))?;
                Ok(done)
            }
            Err(error) => {
                if mysql {
                    self.release_mysql().await;
                }
                if let Err(error) = self.transaction.rollback().await {
                    tracing::warn!(%error, "the failed migration's rollback failed too");
                }
                Err(error)
            }
        }
    }

    /// The pool would keep the connection with everything that it holds.
    async fn release_mysql(&self) {
        let mut statements = vec!["UNLOCK TABLES".to_owned()];
        if self.alone {
            statements.push(format!("DO RELEASE_LOCK({MYSQL_NAME})"));
        }
        for statement in statements {
            if let Err(error) = self.transaction.execute_unprepared(&statement).await {
                tracing::warn!(%error, "the migration lock goes with its connection");
            }
        }
    }
}

/// Takes the lock inside a caller's transaction, to whose end it then stays.
pub(crate) async fn within(transaction: &impl ConnectionTrait) -> Result<(), Error> {
    match transaction.get_database_backend() {
        DbBackend::Postgres => {
            reads_what_is_committed(transaction).await?;
            advisory(transaction, WAIT).await
        }
        DbBackend::MySql => Err(Error::InTransaction),
        _ => Ok(()),
    }
}

/// A snapshot from before the lock would not show the markers that were committed meanwhile.
async fn reads_what_is_committed(transaction: &impl ConnectionTrait) -> Result<(), Error> {
    let statement = Statement::from_string(DbBackend::Postgres, "SELECT current_setting('transaction_isolation')");
    let row = transaction.query_one_raw(statement).await.map_err(Error::database(TAKING))?;
    let level: Option<String> = row.map(|row| row.try_get_by_index(0)).transpose().map_err(Error::database(TAKING))?;
    match level {
        // PostgreSQL has no dirty reads: "uncommitted" is another word for it.
        Some(level) if !level.starts_with("read ") => Err(Error::Snapshot { level: level.to_uppercase() }),
        _ => Ok(()),
    }
}

async fn postgres(db: &DatabaseConnection, wait: Duration) -> Result<DatabaseTransaction, Error> {
    // Not the role's default: a snapshot from before the lock would not show what its last holder did.
    let begun = db.begin_with_config(Some(IsolationLevel::ReadCommitted), None).await;
    let transaction = begun.map_err(Error::database(TAKING))?;
    match advisory(&transaction, wait).await {
        Ok(()) => Ok(transaction),
        Err(error) => {
            if let Err(error) = transaction.rollback().await {
                tracing::warn!(%error, "the rollback failed");
            }
            Err(error)
        }
    }
}

async fn advisory(db: &impl ConnectionTrait, wait: Duration) -> Result<(), Error> {
    let statement = Statement::from_sql_and_values(DbBackend::Postgres, "SELECT pg_try_advisory_xact_lock($1)", [POSTGRES_KEY.into()]);
    let mut waiting = Waiting::new(wait);
    loop {
        let row = db.query_one_raw(statement.clone()).await.map_err(Error::database(TAKING))?;
        let taken = row.map(|row| row.try_get_by_index(0)).transpose();
        if taken.map_err(Error::database(TAKING))? == Some(true) {
            return Ok(());
        }
        waiting.turn().await?;
    }
}

async fn mysql(db: &DatabaseConnection, wait: Duration) -> Result<(DatabaseTransaction, bool), Error> {
    let transaction = db.begin().await.map_err(Error::database(TAKING))?;
    let sql = format!("SELECT CAST(GET_LOCK({MYSQL_NAME}, {}) AS SIGNED)", wait.as_secs());
    let statement = Statement::from_string(DbBackend::MySql, sql);
    let answer = match transaction.query_one_raw(statement).await {
        Ok(row) => row.map(|row| row.try_get_by_index::<Option<i64>>(0)).transpose(),
        Err(error) => Err(error),
    };
    let refused = match answer {
        Ok(Some(Some(1))) => return Ok((transaction, true)),
        Ok(Some(Some(_))) => Error::Locked { waited: wait },
        Ok(_) => Error::Database { step: TAKING, source: DbErr::Custom("GET_LOCK answered NULL: is a database chosen?".to_owned()) },
        // Some of MariaDB's versions say "doesn't yet support 'GET_LOCK in cluster (WSREP_ON=ON)'". `run` copes with a race.
        Err(error) if is_an_answer(&error) => {
            tracing::warn!(%error, "this server has no GET_LOCK: let one process migrate at a time");
            return Ok((transaction, false));
        }
        Err(source) => Error::Database { step: TAKING, source },
    };
    if let Err(error) = transaction.rollback().await {
        tracing::warn!(%error, "the rollback failed");
    }
    Err(refused)
}

/// The server said no, as opposed to not answering.
fn is_an_answer(error: &DbErr) -> bool {
    match error {
        DbErr::Conn(RuntimeErr::SqlxError(error))
        | DbErr::Exec(RuntimeErr::SqlxError(error))
        | DbErr::Query(RuntimeErr::SqlxError(error)) => matches!(**error, sqlx::Error::Database(_)),
        _ => false,
    }
}

async fn sqlite(db: &DatabaseConnection, wait: Duration) -> Result<DatabaseTransaction, Error> {
    let immediate = TransactionOptions { sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate), ..TransactionOptions::default() };
    let mut waiting = Waiting::new(wait);
    loop {
        match db.begin_with_options(immediate).await {
            Ok(transaction) => return Ok(transaction),
            Err(error) if inbox_core::is_transient(&error) => waiting.turn().await?,
            Err(source) => return Err(Error::Database { step: TAKING, source }),
        }
    }
}

struct Waiting {
    since: Instant,
    limit: Duration,
    told: bool,
}

impl Waiting {
    fn new(limit: Duration) -> Self {
        Self { since: Instant::now(), limit, told: false }
    }

    async fn turn(&mut self) -> Result<(), Error> {
        let waited = self.since.elapsed();
        if waited >= self.limit {
            return Err(Error::Locked { waited });
        }
        if !self.told {
            self.told = true;
            tracing::info!(target: crate::PROGRESS, "another process holds the migration lock; waiting for it");
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        Ok(())
    }
}
