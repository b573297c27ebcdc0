//! What the table does with markers, in a transaction that is always rolled back.

use chrono::{DateTime, Duration};
use sea_orm::sea_query::{Expr, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, DatabaseConnection, DbBackend, DbErr, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::SchemaError;
use super::judge::{Catalogue, Fault};
use super::meaning::{Meaning, meaning};
use super::remedy::Mend;
use crate::classify::{self, Verdict};
use crate::entity::{Column, Entity, Model, TABLE, UNIQUE_INDEX};
use crate::marker::{State, View};
use crate::process::begin_uncancelled;
use crate::{Consumer, Error, InboxKey, MessageId, Options, marker};

const UPPER: Consumer = Consumer::from_static("inbox.verify.A");
const LOWER: Consumer = Consumer::from_static("inbox.verify.a");
const OTHER: Consumer = Consumer::from_static("inbox.verify.B");

/// Tries it, with ids that nobody else has: a fixed one made replicas that started together wait for each other and
/// deadlock.
pub(super) async fn prove(db: &DatabaseConnection, catalogue: &Catalogue) -> Result<(), Error> {
    let transaction = begin_uncancelled(db, Options::new()).await.map_err(Error::Begin)?;
    let proven = try_markers(&transaction, catalogue).await;
    if let Err(error) = transaction.rollback().await {
        tracing::warn!(%error, "the rollback of a verification failed; the connection is closed");
    }
    proven
}

async fn try_markers(db: &impl ConnectionTrait, catalogue: &Catalogue) -> Result<(), Error> {
    let trial = Trial { db, backend: db.get_database_backend(), catalogue };
    let message = MessageId::from(Uuid::new_v4());
    let key = |consumer| InboxKey::new(consumer, message);
    trial.accepts("a first marker", marker::insert(db, &key(UPPER)).await)?;
    trial.finds(&key(UPPER), Some(State::Processed)).await?;
    trial.finds(&key(LOWER), None).await?;
    trial.accepts("the marker of a consumer whose name differs in case only", marker::insert(db, &key(LOWER)).await)?;
    trial.gives_back(&full_row(&key(OTHER))).await?;
    let next = InboxKey::new(UPPER, MessageId::from(Uuid::new_v4()));
    let next = trial.accepts("a second message's marker of the same consumer", marker::insert(db, &next).await)?;
    if trial.backend == DbBackend::MySql {
        // What a rollback may have to do there, by the number that the server gave it.
        if !trial.accepts("the deletion of a marker", marker::take_back(db, &[next]).await)? {
            return Err(trial.wrong("does not say which `id` it gave a marker: the column must be AUTO_INCREMENT", trial.remedy(), None));
        }
    }
    // The repeated row differs in every other column, so an index on more than the two accepts it.
    let Err(error) = insert_full(db, &full_row(&key(UPPER))).await else {
        return Err(trial.wrong("accepts a repeated marker", trial.remedy(), None));
    };
    match classify::marker(trial.backend, &error) {
        Verdict::Duplicate => Ok(()),
        // A partition's index has a name of its own; the catalogue has seen the whole table's.
        Verdict::Unreadable if matches!(catalogue, Catalogue::Proven) => Ok(()),
        _ => Err(trial.refused(&format!("a repeated marker, but not by the index `{UNIQUE_INDEX}`"), error)),
    }
}

struct Trial<'a, C> {
    db: &'a C,
    backend: DbBackend,
    catalogue: &'a Catalogue,
}

impl<C: ConnectionTrait> Trial<'_, C> {
    fn accepts<T>(&self, what: &str, result: Result<T, DbErr>) -> Result<T, Error> {
        result.map_err(|error| self.refused(what, error))
    }

    /// A look by key finds the marker, and no other consumer's.
    async fn finds(&self, key: &InboxKey, expected: Option<State>) -> Result<(), Error> {
        let found = self.accepts("a look by key", marker::look_up(self.db, key, View::Locking).await)?;
        if found == expected {
            return Ok(());
        }
        let what = match expected {
            Some(_) => "does not show the marker that was written",
            None => "shows the marker of another consumer, whose name differs in case only",
        };
        Err(self.wrong(what, self.remedy(), None))
    }

    /// Every column keeps what it was given.
    async fn gives_back(&self, row: &Model) -> Result<(), Error> {
        self.accepts("a second consumer's marker of the same message", insert_full(self.db, row).await)?;
        let own = Entity::find().filter(Column::MessageId.eq(row.message_id)).filter(Column::Consumer.eq(row.consumer.as_str()));
        let found = self.accepts("a look at all columns", own.one(self.db).await)?;
        let found = found.map(|found| Model { id: row.id, ..found });
        if found.as_ref() == Some(row) {
            return Ok(());
        }
        Err(self.wrong(&format!("does not give back what was written: {row:?} became {found:?}"), self.remedy(), None))
    }

    /// An error that says something about the schema, or one that says nothing about it.
    fn refused(&self, what: &str, error: DbErr) -> Error {
        match meaning(self.backend, &error) {
            Meaning::Nothing => Error::Query(error),
            Meaning::NoTable => self.wrong("is not there", Mend::Migrate, Some(error)),
            Meaning::NoRight => self.wrong(&format!("refuses {what} to this role"), Mend::Grant, Some(error)),
            Meaning::WrongTable => self.wrong(&format!("refuses {what}"), self.remedy(), Some(error)),
        }
    }

    /// Where the catalogue finds nothing wrong, no SQL that it could name mends it.
    fn remedy(&self) -> Mend {
        if matches!(self.catalogue, Catalogue::Proven) { Mend::Rebuild } else { Mend::Ask }
    }

    fn wrong(&self, what: &str, mend: Mend, source: Option<DbErr>) -> Error {
        let what = match &source {
            Some(error) => format!("`{TABLE}` {what} ({error})"),
            None => format!("`{TABLE}` {what}"),
        };
        let error = SchemaError::of(self.backend, vec![Fault::new(what, [mend])]);
        Error::Schema(match source {
            Some(source) => error.because(source),
            None => error,
        })
    }
}

/// A row with something in every column. The time has microseconds, and no zone's rules apply to it.
fn full_row(key: &InboxKey) -> Model {
    let long_ago = DateTime::UNIX_EPOCH + Duration::days(12_345) + Duration::microseconds(123_456);
    Model {
        id: 0,
        message_id: *key.message_id().as_uuid(),
        consumer: key.consumer().as_str().to_owned(),
        received_at: long_ago,
        processed_at: Some(long_ago),
        claim_token: Some(Uuid::new_v4()),
        claimed_until: Some(long_ago),
        attempts: 1,
        payload: Some("{}".to_owned()),
        last_error: Some("verify".to_owned()),
    }
}

async fn insert_full(db: &impl ConnectionTrait, row: &Model) -> Result<(), DbErr> {
    let row = row.clone();
    let insert = Query::insert()
        .into_table(Entity)
        .columns([
            Column::MessageId,
            Column::Consumer,
            Column::ReceivedAt,
            Column::ProcessedAt,
            Column::ClaimToken,
            Column::ClaimedUntil,
            Column::Attempts,
            Column::Payload,
            Column::LastError,
        ])
        .values_panic([
            Expr::val(row.message_id),
            Expr::val(row.consumer),
            Expr::val(row.received_at),
            Expr::val(row.processed_at),
            Expr::val(row.claim_token),
            Expr::val(row.claimed_until),
            Expr::val(row.attempts),
            Expr::val(row.payload),
            Expr::val(row.last_error),
        ])
        .to_owned();
    db.execute(&insert).await.map(drop)
}
