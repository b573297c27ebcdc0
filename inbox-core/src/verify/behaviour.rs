//! What the table does with markers, in a transaction that is always rolled back.

use sea_orm::sea_query::{Expr, Query};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, RuntimeErr};
use uuid::Uuid;

use super::{Catalogue, MEND_INDEX, MEND_RIGHTS, MIGRATE, SchemaError};
use crate::classify::{self, Verdict};
use crate::entity::{Column, Entity, TABLE, UNIQUE_INDEX};
use crate::process::begin_uncancelled;
use crate::transient::is_transient;
use crate::{Consumer, Error, InboxKey, MessageId, Options, marker};

const UPPER: Consumer = Consumer::from_static("inbox.verify.A");
const LOWER: Consumer = Consumer::from_static("inbox.verify.a");
const OTHER: Consumer = Consumer::from_static("inbox.verify.B");

/// Tries it, with an id that nobody else has: a fixed one made replicas that started together wait for each other and
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
    let message = MessageId::from(Uuid::new_v4());
    let key = |consumer| InboxKey::new(consumer, message);
    marker::insert(db, &key(UPPER)).await.map_err(|error| refused("a first marker is refused", error))?;
    // Every column is written once, and so is every null.
    insert_full(db, &key(OTHER)).await.map_err(|error| refused("a second consumer's marker of the same message is refused", error))?;
    marker::insert(db, &key(LOWER))
        .await
        .map_err(|error| refused("the marker of a consumer whose name differs in case only is refused", error))?;
    // The repeated row differs in every other column, so an index on more than the two accepts it.
    let Err(error) = insert_full(db, &key(UPPER)).await else {
        return Err(wrong("a repeated marker is accepted", MEND_INDEX, None));
    };
    match classify::marker(db.get_database_backend(), &error) {
        Verdict::Duplicate => Ok(()),
        // A partition's index has a name of its own; the catalogue has seen the whole table's.
        Verdict::Unreadable if *catalogue == Catalogue::Proven => Ok(()),
        _ => Err(refused(&format!("a repeated marker is refused, but not by the index `{UNIQUE_INDEX}`"), error)),
    }
}

async fn insert_full(db: &impl ConnectionTrait, key: &InboxKey) -> Result<(), DbErr> {
    let long_ago = chrono::DateTime::UNIX_EPOCH;
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
            Expr::val(*key.message_id().as_uuid()),
            Expr::val(key.consumer().as_str()),
            Expr::val(long_ago),
            Expr::val(long_ago),
            Expr::val(Uuid::new_v4()),
            Expr::val(long_ago),
            Expr::val(1),
            Expr::val("{}"),
            Expr::val("verify"),
        ])
        .to_owned();
    db.execute(&insert).await.map(drop)
}

/// An error that says something about the schema, or one that says nothing about it.
fn refused(what: &str, error: DbErr) -> Error {
    if is_transient(&error) {
        return Error::Query(error);
    }
    let remedy = match code(&error).as_deref() {
        // Undefined table or column; SQLite has one code for both and never translates its words.
        Some("42P01" | "42703" | "42S02" | "42S22" | "1") => MIGRATE,
        // Insufficient privilege; access denied; a file that is read-only.
        Some("42501" | "42000" | "8") => MEND_RIGHTS,
        _ => MEND_INDEX,
    };
    wrong(what, remedy, Some(error))
}

fn code(error: &DbErr) -> Option<String> {
    let (DbErr::Exec(RuntimeErr::SqlxError(error)) | DbErr::Query(RuntimeErr::SqlxError(error))) = error else {
        return None;
    };
    error.as_database_error()?.code().map(Into::into)
}

fn wrong(what: &str, remedy: &'static str, source: Option<DbErr>) -> Error {
    let problem = match &source {
        Some(error) => format!("`{TABLE}`: {what} ({error})"),
        None => format!("`{TABLE}`: {what}"),
    };
    Error::Schema(SchemaError { problems: vec![problem], remedy, source })
}
