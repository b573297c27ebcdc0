//! What the unique index decides on: (consumer, message).

use std::borrow::Cow;
use std::fmt;

use crate::MessageId;
use crate::entity::CONSUMER_LENGTH;

/// Who handles a message: two consumers of one message both run.
///
/// A literal of 1 to 200 visible ASCII characters without spaces, compared byte by byte on every backend. Never derive it
/// from the name of a function or a queue: a rename would give every message back to the handler. Several services on one
/// table put themselves into the name (`billing.credit`).
///
/// ```
/// use inbox_core::Consumer;
///
/// const CREDIT: Consumer = Consumer::from_static("billing.credit");   // checked at compile time
/// assert_eq!(CREDIT.as_str(), "billing.credit");
/// assert!(Consumer::new("two words").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Consumer(Cow<'static, str>);

/// Why a text is not a consumer's name. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is not a consumer's name: use 1 to {CONSUMER_LENGTH} visible ASCII characters without spaces, such as \"billing.credit\""
)]
pub struct InvalidConsumer {
    name: String,
}

impl Consumer {
    /// A consumer from a literal; used in a `const`, the check happens at compile time.
    ///
    /// # Panics
    ///
    /// When the name is not 1 to 200 visible ASCII characters without spaces.
    #[must_use]
    pub const fn from_static(name: &'static str) -> Self {
        assert!(is_valid(name.as_bytes()), "a consumer's name is 1 to 200 visible ASCII characters without spaces");
        Self(Cow::Borrowed(name))
    }

    /// A consumer from a text that is known at run time only (a configuration).
    ///
    /// # Errors
    ///
    /// [`InvalidConsumer`] when the name is not 1 to 200 visible ASCII characters without spaces.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidConsumer> {
        let name = name.into();
        if is_valid(name.as_bytes()) { Ok(Self(Cow::Owned(name))) } else { Err(InvalidConsumer { name: name.chars().take(80).collect() }) }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

const fn is_valid(name: &[u8]) -> bool {
    if name.is_empty() || name.len() > CONSUMER_LENGTH as usize {
        return false;
    }
    let mut at = 0;
    while at < name.len() {
        if !name[at].is_ascii_graphic() {
            return false;
        }
        at += 1;
    }
    true
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One message at one consumer: what takes effect once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InboxKey {
    consumer: Consumer,
    message_id: MessageId,
}

impl InboxKey {
    /// The key of this message at this consumer.
    #[must_use]
    pub const fn new(consumer: Consumer, message_id: MessageId) -> Self {
        Self { consumer, message_id }
    }

    /// Who handles the message.
    #[must_use]
    pub const fn consumer(&self) -> &Consumer {
        &self.consumer
    }

    /// The message's identity.
    #[must_use]
    pub const fn message_id(&self) -> MessageId {
        self.message_id
    }
}

/// `consumer/message id`.
impl fmt::Display for InboxKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.consumer, self.message_id)
    }
}
