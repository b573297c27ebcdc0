//! What a message must tell about itself.

use std::sync::Arc;

use crate::{InvalidMessageId, MessageId};

/// A message that knows its own identity. Derive it: `#[derive(Message)]` with `#[message(id)]` on a field.
///
/// Implement it by hand where the id is made of several fields:
///
/// ```
/// use inbox_core::{InvalidMessageId, Message, MessageId};
///
/// struct Event { source: String, id: String }
///
/// impl Message for Event {
///     fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
///         MessageId::cloud_event(&self.source, &self.id)
///     }
/// }
///
/// let without_id = Event { source: "/shop".into(), id: String::new() };
/// assert!(without_id.message_id().is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which message it is",
    label = "this message has no identity",
    note = "derive it with `#[derive(inbox_core::Message)]` and `#[message(id)]` on the field that the sender repeats on every delivery",
    note = "or say it in the attribute: `#[idempotent(consumer = \"…\", key = <expression of a MessageId>)]`"
)]
pub trait Message {
    /// The message's identity: the same on every delivery of this message, different for every other message.
    ///
    /// # Errors
    ///
    /// [`InvalidMessageId`] when the message has no usable id. Never make one up: a random id turns every redelivery into a
    /// new message, a fixed one makes all messages duplicates of the first.
    fn message_id(&self) -> Result<MessageId, InvalidMessageId>;
}

impl<M: Message + ?Sized> Message for &M {
    fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
        (**self).message_id()
    }
}

impl<M: Message + ?Sized> Message for &mut M {
    fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
        (**self).message_id()
    }
}

impl<M: Message + ?Sized> Message for Box<M> {
    fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
        (**self).message_id()
    }
}

impl<M: Message + ?Sized> Message for Arc<M> {
    fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
        (**self).message_id()
    }
}
