//! The table: one row, the *marker*, for each (message, consumer).
//!
//! `inbox-migration` creates it, [`verify`](crate::verify()) proves it. The names stand here and nowhere else.

use sea_orm::entity::prelude::*;

/// The table's name.
pub const TABLE: &str = "inbox_message";

/// The unique index on (`message_id`, `consumer`): the one thing that decides whether a delivery is a duplicate.
///
/// It is the name that SeaORM itself generates for the `unique_key` below, so that schema sync finds nothing to do;
/// sync *drops* a unique index that the entity does not declare.
pub const UNIQUE_INDEX: &str = "idx-inbox_message-message_consumer";

/// The plain index that serves unfinished claims (sweep, parked and unfinished counts).
pub const OPEN_INDEX: &str = "idx-inbox_message-open";

/// The longest consumer name, in ASCII characters.
pub const CONSUMER_LENGTH: u32 = 200;

/// The longest `last_error`, in characters.
pub const LAST_ERROR_LENGTH: u32 = 2000;

/// One marker.
///
/// The state of a row is (`processed_at`, `claimed_until`) alone: `processed_at` set = processed; otherwise
/// `claimed_until` in the future = in progress, in the past = stale or waiting to be retried, null = parked.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "inbox_message")]
pub struct Model {
    /// Surrogate key: inserts append.
    #[sea_orm(primary_key)]
    pub id: i64,
    /// The message's identity, see [`MessageId`](crate::MessageId).
    #[sea_orm(unique_key = "message_consumer")]
    pub message_id: Uuid,
    /// The consumer's name, see [`Consumer`](crate::Consumer).
    #[sea_orm(unique_key = "message_consumer", column_type = "String(StringLen::N(200))")]
    pub consumer: String,
    /// When the marker was written, by the database's clock.
    pub received_at: ChronoDateTimeUtc,
    /// When the message was done, by the database's clock; `None` = claimed and unfinished.
    pub processed_at: Option<ChronoDateTimeUtc>,
    /// Fencing token of the present claim; `None` = nobody owns the row.
    pub claim_token: Option<Uuid>,
    /// End of the lease or of the retry delay, by the database's clock.
    pub claimed_until: Option<ChronoDateTimeUtc>,
    /// Claims taken so far; 0 for a message that was handled in a transaction.
    pub attempts: i32,
    /// The message, where its claim stores it.
    #[sea_orm(column_type = "Text", nullable)]
    pub payload: Option<String>,
    /// Why the last attempt failed.
    #[sea_orm(column_type = "String(StringLen::N(2000))", nullable)]
    pub last_error: Option<String>,
}

impl ActiveModelBehavior for ActiveModel {}
