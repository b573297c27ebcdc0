//! The contract with the expansions of `#[idempotent]` and `#[derive(Message)]`. Not public API: it changes without notice.

use std::borrow::Cow;

use uuid::Uuid;

pub use sea_orm::IsolationLevel;

pub use crate::{Consumer, InvalidMessageId, Message, MessageId, Options};
use crate::{Database, Error, InboxKey, InboxTransaction, OnDuplicate, Outcome};

/// `#[idempotent(consumer = "…")]`
pub async fn process<D, T, E, F>(db: &D, consumer: Consumer, id: impl MessageKey, body: F) -> Result<T, E>
where
    D: Database,
    T: OnDuplicate,
    E: From<Error>,
    F: AsyncFnOnce(&InboxTransaction) -> Result<T, E>,
{
    crate::process(db, key(consumer, id)?, body).await.map(value)
}

/// `#[idempotent(…, fast_path, isolation = "…")]`
pub async fn process_with<D, T, E, F>(db: &D, consumer: Consumer, id: impl MessageKey, options: Options, body: F) -> Result<T, E>
where
    D: Database,
    T: OnDuplicate,
    E: From<Error>,
    F: AsyncFnOnce(&InboxTransaction) -> Result<T, E>,
{
    crate::process_with(db, key(consumer, id)?, &options, body).await.map(value)
}

/// `#[idempotent(…, retries = N)]`
pub async fn process_replayed<D, T, E, F>(
    db: &D,
    consumer: Consumer,
    id: impl MessageKey,
    options: Options,
    retries: u32,
    make: impl FnMut() -> F,
) -> Result<T, E>
where
    D: Database,
    T: OnDuplicate,
    E: From<Error>,
    F: AsyncFnOnce(&InboxTransaction) -> Result<T, E>,
{
    crate::process_replayed(db, key(consumer, id)?, &options, retries, make).await.map(value)
}

fn key(consumer: Consumer, id: impl MessageKey) -> Result<InboxKey, Error> {
    Ok(InboxKey::new(consumer, id.into_message_id()?))
}

fn value<T: OnDuplicate>(outcome: Outcome<T>) -> T {
    outcome.processed().unwrap_or_else(T::on_duplicate)
}

/// The message's own word.
pub fn message_id<M: Message + ?Sized>(message: &M) -> Result<MessageId, InvalidMessageId> {
    message.message_id()
}

/// What `key = <expression>` may be.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message's identity",
    note = "`key` takes a `MessageId`, a `Uuid` that you minted, or a `Result` of one; make one of a text id with `MessageId::from_text(domain, id)`"
)]
pub trait MessageKey {
    fn into_message_id(self) -> Result<MessageId, InvalidMessageId>;
}

impl MessageKey for MessageId {
    fn into_message_id(self) -> Result<MessageId, InvalidMessageId> {
        self.checked()
    }
}

impl MessageKey for Uuid {
    fn into_message_id(self) -> Result<MessageId, InvalidMessageId> {
        MessageId::from(self).checked()
    }
}

impl<K: MessageKey + Copy> MessageKey for &K {
    fn into_message_id(self) -> Result<MessageId, InvalidMessageId> {
        (*self).into_message_id()
    }
}

impl<K: MessageKey, X: Into<InvalidMessageId>> MessageKey for Result<K, X> {
    fn into_message_id(self) -> Result<MessageId, InvalidMessageId> {
        self.map_err(Into::into)?.into_message_id()
    }
}

/// What `#[message(id)]` may stand on.
#[diagnostic::on_unimplemented(
    message = "`#[message(id)]` cannot stand on a `{Self}`",
    note = "it stands on a `MessageId` or a `Uuid`; a text id says who gave it: `#[message(id, domain = \"orders\")]`"
)]
pub trait IdField {
    fn field_id(&self) -> Result<MessageId, InvalidMessageId>;
}

impl IdField for MessageId {
    fn field_id(&self) -> Result<MessageId, InvalidMessageId> {
        self.checked()
    }
}

impl IdField for Uuid {
    fn field_id(&self) -> Result<MessageId, InvalidMessageId> {
        MessageId::from(*self).checked()
    }
}

impl<I: IdField> IdField for Option<I> {
    fn field_id(&self) -> Result<MessageId, InvalidMessageId> {
        self.as_ref().ok_or(InvalidMessageId::Missing)?.field_id()
    }
}

impl<I: IdField + ?Sized> IdField for &I {
    fn field_id(&self) -> Result<MessageId, InvalidMessageId> {
        (**self).field_id()
    }
}

/// `#[message(id)]`
pub fn field_id<I: IdField + ?Sized>(field: &I) -> Result<MessageId, InvalidMessageId> {
    field.field_id()
}

/// What `#[message(id, domain = "…")]` may stand on.
#[diagnostic::on_unimplemented(
    message = "`#[message(id, domain = \"…\")]` cannot stand on a `{Self}`",
    note = "it stands on a text (`String`, `&str`, `Cow<str>`, or an `Option` of one); a `Uuid` or `MessageId` needs no domain"
)]
pub trait TextField {
    fn text(&self) -> Option<&str>;
}

impl TextField for str {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl TextField for String {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl TextField for Cow<'_, str> {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl<T: TextField> TextField for Option<T> {
    fn text(&self) -> Option<&str> {
        self.as_ref()?.text()
    }
}

impl<T: TextField + ?Sized> TextField for &T {
    fn text(&self) -> Option<&str> {
        (**self).text()
    }
}

/// `#[message(id, domain = "…")]`
pub fn text_id<T: TextField + ?Sized>(domain: &str, field: &T) -> Result<MessageId, InvalidMessageId> {
    MessageId::from_text(domain, field.text().ok_or(InvalidMessageId::Missing)?)
}
