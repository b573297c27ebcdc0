//! `up` and `down`: read, judge, work, all under the lock.

use std::time::{Duration, Instant};

use inbox_core::entity::TABLE;
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, Statement};
use sea_orm_migration::{MigrationTrait, SchemaManager};
use tracing::Instrument as _;

use crate::state::{self, Facts, Status};
use crate::{Error, PROGRESS, catalog, ddl, history, lock};

/// What [`down`] does with a table that holds markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Refuses, and drops nothing.
    Keep,
    /// Drops them with the table: a message that is redelivered afterwards is processed again.
    Lose,
}

/// Creates the inbox table, or finds it there; returns the names of the migrations that it applied.
///
/// Any number of processes may call it at once, at every start: one works, the others wait for it (see the
/// [crate's guide](crate#one-at-a-time)). Where there is nothing to do it writes nothing, takes no lock and needs no DDL
/// rights. It runs in a task of its own: when the caller is cancelled it ends all the same, and gives the lock back.
///
/// # Errors
/// [`Error::HalfApplied`] where there is a table of that name and it is not, or not only, what this history made;
/// [`Error::Locked`] when another process migrates for longer than a minute; [`Error::Runtime`] outside a Tokio runtime;
/// [`Error::Database`] with what the database said.
pub async fn up(db: &DatabaseConnection) -> Result<Vec<String>, Error> {
    up_waiting(db, None, lock::WAIT).await
}

/// Records a table that is all there, but not in our history: an `up` that was interrupted on MySQL, a restore that left
/// the history out. Otherwise as [`up`].
///
/// Not for a table that the application's own migrator created: that one has a history, the application's.
///
/// # Errors
/// As [`up`]; a table that lacks anything but the record is [`Error::HalfApplied`].
pub async fn adopt(db: &DatabaseConnection) -> Result<Vec<String>, Error> {
    adopt_waiting(db, lock::WAIT).await
}

/// Drops the inbox table, and nothing else; returns the names of the migrations that it undid.
///
/// # Errors
/// [`Error::RowsExist`] with [`Rows::Keep`] while there are markers; [`Error::HalfApplied`] where there is a table that this
/// history did not create; [`Error::Newer`] where a newer version migrated; otherwise as [`up`].
pub async fn down(db: &DatabaseConnection, rows: Rows) -> Result<Vec<String>, Error> {
    down_waiting(db, None, rows, lock::WAIT).await
}

/// Looks, and writes nothing.
///
/// # Errors
/// [`Error::Database`] with what the database said.
pub async fn status(db: &DatabaseConnection) -> Result<Status, Error> {
    // What is still so after this is no other process's work in progress.
    let patience = Duration::from_secs(3);
    let since = Instant::now();
    loop {
        let facts = facts(db).await?;
        match facts.status() {
            // MySQL commits table and record one after the other, and in a cluster another node may be at work.
            Status::HalfApplied(half) if facts.backend == DbBackend::MySql && half.can_be_adopted() && since.elapsed() < patience => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            status => return Ok(status),
        }
    }
}

pub(crate) async fn up_waiting(db: &DatabaseConnection, steps: Option<u32>, wait: Duration) -> Result<Vec<String>, Error> {
    // What this look does not like is looked at again under the lock: another process may be at work.
    if let Ok(facts) = state::read(db).await
        && let Status::Applied = facts.status()
    {
        let newer = facts.unknown();
        if !newer.is_empty() {
            tracing::info!(?newer, "a newer version of inbox-migration has been here");
        }
        return Ok(Vec::new());
    }
    in_a_task(db, Job::Up { steps, adopt: false }, wait).await
}

pub(crate) async fn adopt_waiting(db: &DatabaseConnection, wait: Duration) -> Result<Vec<String>, Error> {
    in_a_task(db, Job::Up { steps: None, adopt: true }, wait).await
}

pub(crate) async fn down_waiting(db: &DatabaseConnection, steps: Option<u32>, rows: Rows, wait: Duration) -> Result<Vec<String>, Error> {
    in_a_task(db, Job::Down { steps, rows }, wait).await
}

/// In the caller's transaction: theirs to commit.
pub(crate) async fn up_within(transaction: &DatabaseTransaction, steps: Option<u32>) -> Result<Vec<String>, Error> {
    lock::within(transaction).await?;
    Job::Up { steps, adopt: false }.run(transaction).await
}

/// In the caller's transaction: theirs to commit.
pub(crate) async fn down_within(transaction: &DatabaseTransaction, steps: Option<u32>) -> Result<Vec<String>, Error> {
    lock::within(transaction).await?;
    Job::Down { steps, rows: Rows::Keep }.run(transaction).await
}

const READING: &str = "reading the inbox's history and catalogue";
const RECORDING: &str = "writing the inbox's history";

#[derive(Clone, Copy, Debug)]
enum Job {
    Up { steps: Option<u32>, adopt: bool },
    Down { steps: Option<u32>, rows: Rows },
}

/// A dropped future would leave MySQL's lock on a pooled connection.
async fn in_a_task(db: &DatabaseConnection, job: Job, wait: Duration) -> Result<Vec<String>, Error> {
    let runtime = tokio::runtime::Handle::try_current().map_err(|_| Error::Runtime("there is none"))?;
    let db = db.clone();
    let task = runtime.spawn(async move { locked(&db, job, wait).await }.in_current_span());
    match task.await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Error::Runtime("it is shutting down")),
    }
}

async fn locked(db: &DatabaseConnection, job: Job, wait: Duration) -> Result<Vec<String>, Error> {
    let locked = lock::Locked::take(db, wait).await?;
    let work = job.run(locked.connection()).await;
    let result = locked.settle(work).await;
    if result.is_err() && job.can_be_raced(db.get_database_backend()) && matches!(status(db).await, Ok(Status::Applied)) {
        return Ok(Vec::new());
    }
    result
}

impl Job {
    /// MySQL's lock is of one node: in a cluster, `up` on another node can be first. The loser sees that the table exists, and is
    /// as well served.
    fn can_be_raced(self, backend: DbBackend) -> bool {
        backend == DbBackend::MySql && matches!(self, Self::Up { adopt: false, .. })
    }

    async fn run(self, db: &DatabaseTransaction) -> Result<Vec<String>, Error> {
        match self {
            Self::Up { steps, adopt } => run_up(db, steps, adopt).await,
            Self::Down { steps, rows } => run_down(db, steps, rows).await,
        }
    }
}

/// What is there, and not in another schema.
async fn facts<C: ConnectionTrait>(db: &C) -> Result<Facts, Error> {
    let facts = state::read(db).await.map_err(Error::database(READING))?;
    if facts.table.is_none()
        && let Some((here, there)) = catalog::elsewhere(db).await.map_err(Error::database(READING))?
    {
        return Err(Error::Elsewhere { here, there });
    }
    Ok(facts)
}

async fn run_up(db: &DatabaseTransaction, steps: Option<u32>, adopt: bool) -> Result<Vec<String>, Error> {
    let facts = facts(db).await?;
    match facts.status() {
        Status::Applied => return Ok(Vec::new()),
        Status::HalfApplied(half) if !(adopt && half.can_be_adopted()) => return Err(Error::HalfApplied(half)),
        Status::HalfApplied(_) | Status::Pending => {}
    }
    let mut applied = Vec::new();
    for migration in next(&facts, false, steps) {
        let installed = db.execute_unprepared(&ddl::create_history(facts.backend)).await;
        installed.map_err(Error::database("creating the inbox's history table"))?;
        if facts.table.is_none() {
            let created = migration.up(&SchemaManager::new(db)).await;
            created.map_err(Error::database("creating the inbox table"))?;
        }
        history::record(db, migration.name()).await.map_err(Error::database(RECORDING))?;
        tracing::info!(target: PROGRESS, "Migration '{}' has been applied", migration.name());
        applied.push(migration.name().to_owned());
    }
    Ok(applied)
}

async fn run_down(db: &DatabaseTransaction, steps: Option<u32>, rows: Rows) -> Result<Vec<String>, Error> {
    let facts = facts(db).await?;
    let names = facts.unknown();
    if !names.is_empty() {
        return Err(Error::Newer { names });
    }
    if !facts.recorded() {
        return match facts.status() {
            Status::HalfApplied(half) => Err(Error::HalfApplied(half)),
            _ => Ok(Vec::new()),
        };
    }
    let mut undone = Vec::new();
    for migration in next(&facts, true, steps) {
        if facts.table.is_some() {
            if rows == Rows::Keep {
                refuse_rows(db).await?;
            }
            let dropped = migration.down(&SchemaManager::new(db)).await;
            dropped.map_err(Error::database("dropping the inbox table"))?;
            if facts.backend == DbBackend::MySql {
                // Under LOCK TABLES no other table may be touched.
                let unlocked = db.execute_unprepared("UNLOCK TABLES").await;
                unlocked.map_err(Error::database(RECORDING))?;
            }
        }
        history::forget(db, migration.name()).await.map_err(Error::database(RECORDING))?;
        tracing::info!(target: PROGRESS, "Migration '{}' has been rolled back", migration.name());
        undone.push(migration.name().to_owned());
    }
    Ok(undone)
}

/// The next `steps` migrations that are recorded, or are not.
fn next(facts: &Facts, recorded: bool, steps: Option<u32>) -> Vec<Box<dyn MigrationTrait>> {
    let mut next = crate::migrations();
    next.retain(|migration| facts.history.iter().any(|name| name == migration.name()) == recorded);
    if recorded {
        next.reverse();
    }
    if let Some(steps) = steps {
        next.truncate(usize::try_from(steps).unwrap_or(usize::MAX));
    }
    next
}

/// Counts, and counts again when nobody can write any more: a marker of between the two would be lost with the table.
async fn refuse_rows(db: &DatabaseTransaction) -> Result<(), Error> {
    refuse_counted(db).await?;
    if let Some(lock) = ddl::lock_table(db.get_database_backend()) {
        db.execute_unprepared(&lock).await.map_err(Error::database("locking the inbox table"))?;
        refuse_counted(db).await?;
    }
    Ok(())
}

async fn refuse_counted(db: &DatabaseTransaction) -> Result<(), Error> {
    let sql = format!("SELECT COUNT(*) FROM {TABLE}");
    let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), sql)).await;
    let rows = row.and_then(|row| row.map_or(Ok(0), |row| row.try_get_by_index::<i64>(0)));
    match rows.map_err(Error::database("counting the inbox's rows"))? {
        0 => Ok(()),
        rows => Err(Error::RowsExist { rows: rows.unsigned_abs() }),
    }
}
