//! Idempotent message handlers on SeaORM 2.0: one message, one effect.
//!
//! Brokers deliver at least once, and several replicas consume. This crate lets a message take effect **once per consumer**:
//! a unique index on (`message_id`, `consumer`) decides, and the marker row and the handler's change are committed in one
//! transaction, or neither is.
//!
//! # Example
//!
//! ```
//! # #[cfg(not(feature = "macros"))] fn main() {}
//! # #[cfg(feature = "macros")] mod example {
//! use inbox_core::{Message, MessageId, idempotent};
//! use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};
//!
//! #[derive(Message)]
//! struct CreditRequested {
//!     #[message(id)]
//!     id: MessageId,
//! }
//!
//! /// Credits an account once per message.
//! #[idempotent(consumer = "credit")]
//! async fn credit(db: &DatabaseConnection, msg: &CreditRequested) -> Result<(), DbErr> {
//!     db.execute_unprepared("UPDATE account SET balance = balance + 100 WHERE id = 7").await?; // `db` is the transaction
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = sea_orm::Database::connect("sqlite::memory:").await?;
//! inbox_migration::up(&db).await?;
//! inbox_core::verify(&db).await?; // at start-up: refuses a table that would let duplicates through
//! # db.execute_unprepared("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)").await?;
//!
//! let msg = CreditRequested { id: MessageId::from_text("orders", "order-17")? };
//! credit(&db, &msg).await?; // Ok: acknowledge.  Err: do not.
//! credit(&db, &msg).await?; // a redelivery: Ok, and the body does not run
//! # Ok(())
//! # }
//! # }
//! # #[cfg(feature = "macros")] fn main() { example::main().unwrap() }
//! ```
//!
//! # Where to look
//!
//! | | |
//! | --- | --- |
//! | [`idempotent`], [`Message`], [`OnDuplicate`] | what a handler and its message look like |
//! | [`process()`], [`process_with`], [`process_replayed`] | the same without the attribute, and the life of a delivery |
//! | [`MessageId`], [`Consumer`], [`InboxKey`] | what the unique index decides on |
//! | [`InboxTransaction`] | what the body gets, what it refuses, and why |
//! | [`Error`], [`is_transient()`] | what went wrong, what it means for the message, what a pump does |
//! | [`verify()`] | what a service calls first |
//! | [`guide`] | why, adopting it, acknowledging, errors, keys, migrations, limits, failure modes |
//! | [`entity`], [`classify`] | the table; how a violation of its index is recognised |
//!
//! # Rules for a handler
//!
//! * Helpers take `&impl ConnectionTrait`. One that is typed `&DatabaseTransaction` or `&DatabaseConnection` does not take the
//!   transaction; a pool that is reached another way (`self.db`) is not shielded.
//! * Return errors. A handler may catch the failure of a nested transaction (`TransactionTrait::begin`); after any other
//!   failed statement on PostgreSQL, and after a deadlock or lock wait timeout anywhere, the delivery cannot be committed.
//! * What does not roll back with the transaction (mail, cards, another database) does not belong into it.
//!
//! # Feature flags
//!
//! | Name | Description | Default? |
//! | --- | --- | --- |
//! | `macros` | `#[idempotent]` and `#[derive(Message)]` | yes |
//!
//! No database driver is among them: the application chooses SeaORM's.

mod database;
mod error;
#[cfg(test)]
mod fake;
mod guard;
mod key;
mod marker;
mod message;
mod message_id;
mod options;
mod outcome;
mod process;
mod refusal;
mod replay;
mod transient;
mod uncut;
mod verify;

pub mod classify;
pub mod entity;
#[cfg(any(feature = "macros", not(doctest)))]
pub mod guide;

/// The contract with the expansions of the macros; it changes without notice.
#[doc(hidden)]
#[path = "private.rs"]
#[allow(missing_docs, clippy::missing_errors_doc)]
pub mod __private;

pub use database::Database;
pub use error::Error;
pub use guard::{Aborted, InboxStream, InboxTransaction};
#[cfg(feature = "macros")]
pub use inbox_macros::{Message, idempotent};
pub use key::{Consumer, InboxKey, InvalidConsumer};
pub use marker::seen;
pub use message::Message;
pub use message_id::{InvalidMessageId, MessageId};
pub use options::Options;
pub use outcome::{OnDuplicate, Outcome};
pub use process::{process, process_with};
pub use replay::process_replayed;
pub use transient::is_transient;
pub use verify::{SchemaError, verify};

/// The macros' reference, whose examples need this crate.
#[cfg(all(doctest, feature = "macros"))]
mod macros {
    #[doc = include_str!("../../inbox-macros/src/docs/idempotent.md")]
    struct Idempotent;
    #[doc = include_str!("../../inbox-macros/src/docs/message.md")]
    struct Message;
}
