//! Idempotent message handlers on SeaORM: one message, one effect.

mod database;
mod error;
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
mod verify;

#[doc(hidden)]
#[path = "private.rs"]
#[allow(missing_docs, clippy::missing_errors_doc)]
pub mod __private;
pub mod classify;
pub mod entity;

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
