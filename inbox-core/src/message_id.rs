//! Who a message is: 16 bytes, made so that two messages never share them and one message never changes them (D8).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Frozen: changing a byte of it gives every stored message a new identity.
const VERSION: &str = "inbox-core/message-id/1";

/// The identity of a message: 16 bytes that are the same on every delivery and on every backend.
///
/// * [`From<Uuid>`](Self#impl-From<Uuid>-for-MessageId) takes an id that is a UUID already. Use it for ids that *you*
///   minted: whoever can choose another sender's id can suppress that sender's message.
/// * Every other identity goes through [`from_text`](Self::from_text), [`from_parts`](Self::from_parts) or
///   [`cloud_event`](Self::cloud_event): SHA-256 over length-prefixed, domain-separated parts, cut to the 122 free bits
///   of a UUID version 8 ([RFC 9562, section 5.8](https://www.rfc-editor.org/rfc/rfc9562#section-5.8)). The encoding is
///   injective before it is hashed, so `("a|b", "c")` and `("a", "b|c")` differ, and so do `Credit` and `credit`, `a`
///   and `a `, `1e5` and `100000`, which one database or another would take for one key.
///
/// There is no default and no random id: a message without an id is an [`InvalidMessageId`].
///
/// ```
/// use inbox_core::MessageId;
///
/// let first = MessageId::from_text("orders", "order-17")?;
/// assert_eq!(first, MessageId::from_text("orders", "order-17")?);
/// assert_ne!(first, MessageId::from_text("orders", "Order-17")?);
/// assert_ne!(first, MessageId::from_text("invoices", "order-17")?);
/// assert_eq!(first.to_string().parse::<MessageId>()?, first);
/// # Ok::<(), inbox_core::InvalidMessageId>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(Uuid);

/// Why something is not a message id. Nothing was written, the handler did not run, and the same message will fail
/// again: dead-letter it and mend its sender.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidMessageId {
    /// There is no id at all.
    #[error("the id is missing")]
    Missing,
    /// The id, or one of its parts, is empty or has nothing in it that one can see: white space, control and zero-width
    /// characters only.
    #[error("the {0} is empty or blank")]
    Blank(&'static str),
    /// The id is the nil UUID: what a default or a forgotten field looks like.
    #[error("the id is the nil UUID (all zero), which is what a forgotten field looks like")]
    Nil,
    /// The text is not a UUID. Text ids that are no UUIDs need a domain: [`MessageId::from_text`].
    #[error("{0:?} is not a UUID; give other text ids a domain (`MessageId::from_text`, `#[message(id, domain = \"…\")]`)")]
    NotAUuid(String),
    /// The application's own reason, for its implementation of [`Message`](crate::Message).
    #[error("{0}")]
    Other(String),
}

impl MessageId {
    /// The id of a text id within a domain.
    ///
    /// The domain says who gave the id: the *authenticated* sender (a tenant, an account) or the queue, never a header
    /// alone. Two domains never share a message. Every character counts: nothing is trimmed, folded or normalised.
    ///
    /// # Errors
    ///
    /// [`InvalidMessageId::Blank`] when the domain or the id is empty or blank.
    pub fn from_text(domain: &str, id: &str) -> Result<Self, InvalidMessageId> {
        if is_blank(id) {
            return Err(InvalidMessageId::Blank("id"));
        }
        Self::hashed("parts", domain, &[id])
    }

    /// The id of an identity of several parts (topic, partition, offset) within a domain.
    ///
    /// The order and the borders of the parts count. See [`from_text`](Self::from_text) for the domain.
    ///
    /// # Errors
    ///
    /// [`InvalidMessageId::Missing`] without parts; [`InvalidMessageId::Blank`] when the domain or a part is empty or
    /// blank.
    ///
    /// ```
    /// use inbox_core::MessageId;
    ///
    /// let record = MessageId::from_parts("kafka", &["credits", "3", "4711"])?;
    /// assert_ne!(record, MessageId::from_parts("kafka", &["credits", "34", "711"])?);
    /// # Ok::<(), inbox_core::InvalidMessageId>(())
    /// ```
    pub fn from_parts(domain: &str, parts: &[&str]) -> Result<Self, InvalidMessageId> {
        if parts.is_empty() {
            return Err(InvalidMessageId::Missing);
        }
        if parts.iter().any(|part| is_blank(part)) {
            return Err(InvalidMessageId::Blank("part"));
        }
        Self::hashed("parts", domain, parts)
    }

    /// The id of a [CloudEvents 1.0](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md#id) event:
    /// "Producers MUST ensure that source + id is unique for each distinct event".
    ///
    /// `source` is what the sender says of itself. Where senders are not all yours, prove it first, or put the
    /// authenticated sender in front: `from_parts(tenant, &[source, id])`.
    ///
    /// # Errors
    ///
    /// [`InvalidMessageId::Blank`] when source or id is empty or blank.
    pub fn cloud_event(source: &str, id: &str) -> Result<Self, InvalidMessageId> {
        if is_blank(source) {
            return Err(InvalidMessageId::Blank("source"));
        }
        if is_blank(id) {
            return Err(InvalidMessageId::Blank("id"));
        }
        Self::hashed("cloud_event", "cloudevents.io", &[source, id])
    }

    /// The id as a UUID, which is how it is stored.
    #[must_use]
    pub const fn as_uuid(&self) -> &Uuid {
        &self.0
    }

    /// Refuses what is surely a forgotten field.
    pub(crate) fn checked(self) -> Result<Self, InvalidMessageId> {
        if self.0.is_nil() {
            return Err(InvalidMessageId::Nil);
        }
        Ok(self)
    }

    fn hashed(kind: &str, domain: &str, parts: &[&str]) -> Result<Self, InvalidMessageId> {
        if is_blank(domain) {
            return Err(InvalidMessageId::Blank("domain"));
        }
        let mut hash = Sha256::new();
        let count = (parts.len() as u64).to_be_bytes();
        for text in [VERSION, kind, domain] {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        hash.update(count);
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        // Sets the version (8) and the variant; the other 122 bits are the hash's.
        Ok(Self(uuid::Builder::from_custom_bytes(bytes).into_uuid()))
    }
}

/// Whether there is nothing in it that one can see: what a field that was never filled looks like.
fn is_blank(text: &str) -> bool {
    let unseen = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    text.chars().all(unseen)
}

/// For ids that you minted yourself.
impl From<Uuid> for MessageId {
    fn from(id: Uuid) -> Self {
        Self(id)
    }
}

impl From<MessageId> for Uuid {
    fn from(id: MessageId) -> Self {
        id.0
    }
}

/// Lower case, with hyphens.
impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// Any of a UUID's text forms: `MessageId`'s own, upper case, `{…}`, `urn:uuid:…`, without hyphens.
impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if is_blank(text) {
            return Err(InvalidMessageId::Blank("id"));
        }
        match Uuid::try_parse(text) {
            Ok(id) => Self(id).checked(),
            Err(_) => Err(InvalidMessageId::NotAUuid(text.chars().take(80).collect())),
        }
    }
}

#[cfg(test)]
mod tests;
