//! The marker's statements, per backend: the INSERT, the look by key, and taking back what a body had committed.
//!
//! Constant texts, so that the statement cache hits; the database's own clock, in the statement that uses it (D2, D13).

use std::time::Duration;

use sea_orm::prelude::ChronoDateTimeUtc;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Statement};

use crate::{Error, InboxKey};

/// A marker that this process inserted. `id` is known on MySQL only, where it is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    id: u64,
    key: InboxKey,
}

/// Writes the marker of a delivery that is done in this transaction.
pub(crate) async fn insert(transaction: &impl ConnectionTrait, key: &InboxKey) -> Result<Marker, DbErr> {
    // `statement_timestamp`: `now` stands still in a transaction. `UTC_TIMESTAMP`: `NOW` is in the session's zone. The SQLite
    // format is the one that sorts with what sqlx writes.
    let sql = match transaction.get_database_backend() {
        DbBackend::Postgres => {
            "INSERT INTO inbox_message (message_id, consumer, received_at, processed_at, attempts) \
             VALUES ($1, $2, statement_timestamp(), statement_timestamp(), 0)"
        }
        DbBackend::MySql => {
            "INSERT INTO inbox_message (message_id, consumer, received_at, processed_at, attempts) \
             VALUES (?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 0)"
        }
        _ => {
            "INSERT INTO inbox_message (message_id, consumer, received_at, processed_at, attempts) \
             VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'), strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'), 0)"
        }
    };
    let result = transaction.execute_raw(with_key(transaction, sql, key)).await?;
    if result.rows_affected() != 1 {
        // Without its row no index would find the redelivery.
        return Err(DbErr::Custom(
            "the marker's INSERT stored no row in `inbox_message`: a trigger or a rule on the table threw it away, or put it elsewhere. \
             Remove it; until then no message can be processed once"
                .into(),
        ));
    }
    let id = match transaction.get_database_backend() {
        DbBackend::MySql => result.last_insert_id(),
        _ => 0,
    };
    Ok(Marker { id, key: key.clone() })
}

/// What a row says about its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Processed,
    /// Claimed by another delivery, or waiting to be retried.
    Unfinished {
        until: ChronoDateTimeUtc,
        retry_after: Duration,
    },
    Parked {
        attempts: i32,
        last_error: Option<String>,
    },
}

/// How the row is looked at. It matters on MySQL only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// After our index has refused the INSERT. A locking read: a caller's REPEATABLE READ snapshot cannot see the winner's row,
    /// and a READ UNCOMMITTED session sees one that may be rolled back.
    Locking,
    /// Before anything else, without waiting for anybody. A READ UNCOMMITTED session sees nothing: what it could see may be
    /// rolled back, and would be lost as a duplicate.
    Free,
}

/// The state of the row with this key, if there is one.
pub(crate) async fn look_up(connection: &impl ConnectionTrait, key: &InboxKey, view: View) -> Result<Option<State>, DbErr> {
    let sql = match (connection.get_database_backend(), view) {
        (DbBackend::Postgres, _) => {
            // Casts: a column that is altered under a running service must not change what a prepared statement returns.
            "SELECT processed_at IS NOT NULL AS processed, claimed_until::timestamptz AS claimed_until, attempts::integer AS attempts, \
             last_error::text AS last_error, \
             (extract(epoch from (claimed_until - statement_timestamp())) * 1000000)::bigint AS remaining \
             FROM inbox_message WHERE message_id = $1 AND consumer = $2"
        }
        // The variable has one name on MariaDB and another on MySQL, and each runs its own comment only.
        (DbBackend::MySql, View::Free) => {
            "SELECT processed_at IS NOT NULL AS processed, claimed_until, attempts, last_error, \
             TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), claimed_until) AS remaining \
             FROM inbox_message WHERE message_id = ? AND consumer = ? \
             AND /*M! @@tx_isolation *//*!80000 @@transaction_isolation */ <> 'READ-UNCOMMITTED'"
        }
        (DbBackend::MySql, View::Locking) => {
            "SELECT processed_at IS NOT NULL AS processed, claimed_until, attempts, last_error, \
             TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), claimed_until) AS remaining \
             FROM inbox_message WHERE message_id = ? AND consumer = ? LOCK IN SHARE MODE"
        }
        _ => {
            "SELECT processed_at IS NOT NULL AS processed, claimed_until, attempts, last_error, \
             cast(round((julianday(claimed_until) - julianday('now')) * 86400000000.0) as integer) AS remaining \
             FROM inbox_message WHERE message_id = ? AND consumer = ?"
        }
    };
    let row = connection.query_one_raw(with_key(connection, sql, key)).await?;
    row.as_ref().map(state).transpose()
}

fn state(row: &QueryResult) -> Result<State, DbErr> {
    if row.try_get("", "processed")? {
        return Ok(State::Processed);
    }
    match row.try_get("", "claimed_until")? {
        Some(until) => {
            let remaining: Option<i64> = row.try_get("", "remaining")?;
            let micros = remaining.and_then(|micros| u64::try_from(micros).ok()).unwrap_or(0);
            Ok(State::Unfinished { until, retry_after: Duration::from_micros(micros) })
        }
        None => Ok(State::Parked { attempts: row.try_get("", "attempts")?, last_error: row.try_get("", "last_error")? }),
    }
}

/// Whether the message was processed by this consumer: one `SELECT`.
///
/// For reports and tests, and for skipping work that is cheap to repeat. It is never a guard: between this answer and
/// whatever follows another replica may process the message. A claimed, unfinished message has not been processed.
///
/// # Errors
///
/// [`Error::Key`] for a key that no message can have, [`Error::Query`] when the table cannot be read.
pub async fn seen<C: ConnectionTrait>(db: &C, key: &InboxKey) -> Result<bool, Error> {
    key.message_id().checked()?;
    let state = look_up(db, key, View::Free).await.map_err(Error::Query)?;
    Ok(state == Some(State::Processed))
}

/// Deletes those of the markers that survived their rollback, because a body had committed them. Returns whether there were
/// any.
///
/// The look does not lock, so it waits for nobody; the id tells our marker from one that the redelivery has written meanwhile.
pub(crate) async fn take_back(connection: &impl ConnectionTrait, markers: &[Marker]) -> Result<bool, DbErr> {
    let mut survived = false;
    for Marker { id, key } in markers {
        let values = [(*id).into(), (*key.message_id().as_uuid()).into(), key.consumer().as_str().into()];
        let statement = |sql| Statement::from_sql_and_values(DbBackend::MySql, sql, values.clone());
        let look = statement("SELECT id FROM inbox_message WHERE id = ? AND message_id = ? AND consumer = ?");
        if connection.query_one_raw(look).await?.is_some() {
            let delete = statement("DELETE FROM inbox_message WHERE id = ? AND message_id = ? AND consumer = ?");
            survived |= connection.execute_raw(delete).await?.rows_affected() > 0;
        }
    }
    Ok(survived)
}

fn with_key(connection: &impl ConnectionTrait, sql: &str, key: &InboxKey) -> Statement {
    let values = [(*key.message_id().as_uuid()).into(), key.consumer().as_str().into()];
    Statement::from_sql_and_values(connection.get_database_backend(), sql, values)
}
