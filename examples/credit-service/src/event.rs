//! The event, by the rules of CloudEvents 1.0 in structured JSON.
//!
//! ```json
//! {"specversion":"1.0","id":"c-1001","source":"/shops/berlin","type":"com.example.credit.requested.v1",
//!  "time":"2026-03-02T08:00:04Z","datacontenttype":"application/json","data":{"account_id":7,"amount":1250}}
//! ```

use inbox_core::{InvalidMessageId, Message, MessageId};
use serde::Deserialize;

/// The one type of event that is taken here.
const TYPE: &str = "com.example.credit.requested.v1";

/// Ten million, in cents: no sum of credits leaves the range of a balance.
const LARGEST: i64 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct CreditRequested {
    specversion: String,
    pub(crate) id: String,
    pub(crate) source: String,
    r#type: String,
    datacontenttype: Option<String>,
    pub(crate) data: Credit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Credit {
    pub(crate) account_id: i64,
    /// In cents.
    pub(crate) amount: i64,
}

/// "Producers MUST ensure that source + id is unique for each distinct event."
///
/// `source` is the sender's own word. This service believes it, because its one topic has senders of the same company only;
/// where it has not, the authenticated sender belongs in front: `MessageId::from_parts(sender, &[source, id])`.
impl Message for CreditRequested {
    fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
        MessageId::cloud_event(&self.source, &self.id)
    }
}

/// Why a delivery is no event that can be handled. The same one will not be better next time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("it is no CloudEvent of this service: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("its {what} is {found:?} and not {wanted:?}")]
    Unexpected { what: &'static str, found: String, wanted: &'static str },
    #[error("it asks for a credit of {0} cents; 1 to {LARGEST} are possible")]
    Amount(i64),
}

impl CreditRequested {
    /// Reads an event from one line.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, Unusable> {
        let event: Self = serde_json::from_slice(line)?;
        let json = event.datacontenttype.as_deref().unwrap_or("application/json");
        for (what, found, wanted) in [
            ("specversion", event.specversion.as_str(), "1.0"),
            ("type", &event.r#type, TYPE),
            ("datacontenttype", json, "application/json"),
        ] {
            if found != wanted {
                return Err(Unusable::Unexpected { what, found: found.chars().take(80).collect(), wanted });
            }
        }
        if !(1..=LARGEST).contains(&event.data.amount) {
            return Err(Unusable::Amount(event.data.amount));
        }
        Ok(event)
    }
}

#[cfg(test)]
mod tests {
    use super::{CreditRequested, Message as _, MessageId};

    const GOOD: &str =
        r#"{"specversion":"1.0","id":"1","source":"/s","type":"com.example.credit.requested.v1","data":{"account_id":7,"amount":5}}"#;

    #[test]
    fn a_good_one() {
        let event = CreditRequested::parse(GOOD.as_bytes()).unwrap();
        assert_eq!(event.message_id(), MessageId::cloud_event("/s", "1"));
        assert_eq!((event.data.account_id, event.data.amount), (7, 5));
        // Attributes that it does not know do not disturb it.
        let extended = GOOD.replacen('{', r#"{"traceparent":"00-0af7","subject":"x","#, 1);
        assert_eq!(CreditRequested::parse(extended.as_bytes()).unwrap(), event);
    }

    #[test]
    fn bad_ones_say_why() {
        for (from, to, says) in [
            (r#""id":"1","#, "", "missing field `id`"),
            (r#""id":"1""#, r#""id":1"#, "invalid type: integer `1`, expected a string"),
            (r#""id":"1""#, r#""id":"1","id":"2""#, "duplicate field `id`"),
            ("1.0", "0.3", "its specversion is \"0.3\" and not \"1.0\""),
            ("requested.v1", "requested.v2", "its type is \"com.example.credit.requested.v2\""),
            (r#""data""#, r#""datacontenttype":"text/xml","data""#, "its datacontenttype is \"text/xml\""),
            (r#""amount":5"#, r#""amount":0"#, "a credit of 0 cents"),
            (r#""amount":5"#, r#""amount":-5"#, "a credit of -5 cents"),
            (r#""amount":5"#, r#""amount":1000000001"#, "a credit of 1000000001 cents"),
            (r#""amount":5"#, r#""amount":1e3"#, "invalid type: floating point"),
            (r#""amount":5"#, r#""amount":99999999999999999999"#, "invalid type"),
            ("}}", "}", "EOF while parsing"),
            (GOOD, "", "EOF while parsing"),
            (GOOD, "\u{0}", "expected value"),
        ] {
            let bad = GOOD.replace(from, to);
            let error = CreditRequested::parse(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says), "{says:?} is not said: {error}");
        }
        assert!(CreditRequested::parse(&[0xff, 0xfe]).is_err());
    }
}
