//! One delivery, done in the ways that the bench and the overhead tests compare: ours, and what people write by hand.
//!
//! The effect is the same one statement in each, so that what the marker costs shows as much as it can.

use inbox_core::{Message, MessageId, Outcome, entity, entity::Column, idempotent};
use sea_orm::{
    ActiveValue::Set, ColumnTrait as _, ConnectionTrait as _, DatabaseConnection, DbBackend, DbErr, EntityTrait as _, QueryFilter as _,
    SqlErr, SqliteTransactionMode, Statement, TransactionOptions, TransactionTrait as _, prelude::ChronoUtc,
};

use crate::ledger;

/// The consumer of all of them.
pub const CONSUMER: &str = "bench";

/// The message: an account gets 1 more.
#[derive(Clone, Copy, Debug, Message)]
pub struct Credit {
    /// Who it is.
    #[message(id)]
    pub id: MessageId,
    /// Whose account.
    pub account: i64,
}

/// How a delivery is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// `#[idempotent]`.
    Annotated,
    /// `#[idempotent(fast_path)]`.
    FastPath,
    /// The same statements in a SeaORM transaction, by hand. It believes any unique violation of the INSERT, and has no guard.
    HandWritten,
    /// The business transaction alone, which deduplicates nothing.
    Bare,
    /// A look, then the transaction with both rows: what is usually written first. It races.
    CheckThenInsert,
}

impl Way {
    /// Delivers once.
    ///
    /// # Errors
    /// The database's.
    pub async fn deliver(self, db: &DatabaseConnection, message: &Credit) -> Result<Outcome<()>, DbErr> {
        match self {
            Self::Annotated => annotated(db, message).await,
            Self::FastPath => fast_path(db, message).await,
            Self::HandWritten => hand_written(db, message).await,
            Self::Bare => bare(db, message).await,
            Self::CheckThenInsert => check_then_insert(db, message).await,
        }
    }

    /// What a table calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Annotated => "#[idempotent]",
            Self::FastPath => "#[idempotent(fast_path)]",
            Self::HandWritten => "hand-written transaction",
            Self::Bare => "business transaction alone",
            Self::CheckThenInsert => "check, then insert",
        }
    }
}

#[idempotent(consumer = "bench")]
async fn annotated(db: &DatabaseConnection, message: &Credit) -> Result<Outcome<()>, DbErr> {
    ledger::credit(db, message.account, 1).await?;
    Ok(Outcome::Processed(()))
}

#[idempotent(consumer = "bench", fast_path)]
async fn fast_path(db: &DatabaseConnection, message: &Credit) -> Result<Outcome<()>, DbErr> {
    ledger::credit(db, message.account, 1).await?;
    Ok(Outcome::Processed(()))
}

async fn hand_written(db: &DatabaseConnection, message: &Credit) -> Result<Outcome<()>, DbErr> {
    let transaction = db.begin_with_options(writes(db.get_database_backend())).await?;
    let values = [(*message.id.as_uuid()).into(), CONSUMER.into()];
    let marker = Statement::from_sql_and_values(db.get_database_backend(), insert(db.get_database_backend()), values);
    match transaction.execute_raw(marker).await {
        Ok(_) => {
            ledger::credit(&transaction, message.account, 1).await?;
            transaction.commit().await?;
            Ok(Outcome::Processed(()))
        }
        Err(error) if matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))) => {
            transaction.rollback().await?;
            Ok(Outcome::Duplicate)
        }
        Err(error) => Err(error),
    }
}

async fn bare(db: &DatabaseConnection, message: &Credit) -> Result<Outcome<()>, DbErr> {
    let transaction = db.begin_with_options(writes(db.get_database_backend())).await?;
    ledger::credit(&transaction, message.account, 1).await?;
    transaction.commit().await?;
    Ok(Outcome::Processed(()))
}

async fn check_then_insert(db: &DatabaseConnection, message: &Credit) -> Result<Outcome<()>, DbErr> {
    let known = entity::Entity::find().filter(Column::MessageId.eq(*message.id.as_uuid())).filter(Column::Consumer.eq(CONSUMER));
    if known.one(db).await?.is_some() {
        return Ok(Outcome::Duplicate);
    }
    let transaction = db.begin_with_options(writes(db.get_database_backend())).await?;
    let now = ChronoUtc::now();
    let marker = entity::ActiveModel {
        message_id: Set(*message.id.as_uuid()),
        consumer: Set(CONSUMER.to_owned()),
        received_at: Set(now),
        processed_at: Set(Some(now)),
        attempts: Set(0),
        ..Default::default()
    };
    entity::Entity::insert(marker).exec(&transaction).await?;
    ledger::credit(&transaction, message.account, 1).await?;
    transaction.commit().await?;
    Ok(Outcome::Processed(()))
}

/// A SQLite transaction that writes has to say so at its start, by hand as well.
fn writes(backend: DbBackend) -> TransactionOptions {
    let sqlite = backend == DbBackend::Sqlite;
    TransactionOptions { sqlite_transaction_mode: sqlite.then_some(SqliteTransactionMode::Immediate), ..Default::default() }
}

fn insert(backend: DbBackend) -> &'static str {
    match backend {
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
    }
}
