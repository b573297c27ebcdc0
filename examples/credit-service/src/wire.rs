//! What broker and replica say to each other, a line each: a delivery, and what became of it.

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// `NUMBER EVENT`. The event stays the bytes that the sender sent: a text that was repaired could be another message.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) number: u64,
    pub(crate) event: Vec<u8>,
}

impl Delivery {
    pub(crate) fn to_line(&self) -> Vec<u8> {
        [self.number.to_string().as_bytes(), b" ", &self.event, b"\n"].concat()
    }

    pub(crate) fn parse(line: &[u8]) -> anyhow::Result<Self> {
        let blank = line.iter().position(|byte| *byte == b' ').context("a delivery without a number")?;
        let number = std::str::from_utf8(&line[..blank])?.parse().context("a delivery's number")?;
        Ok(Self { number, event: line[blank + 1..].to_vec() })
    }
}

/// The answer to a delivery.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settled {
    pub(crate) delivery: u64,
    #[serde(flatten)]
    pub(crate) verdict: Verdict,
}

impl Settled {
    pub(crate) fn to_line(&self) -> anyhow::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// What the broker shall do with a delivery.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// Acknowledge: the effect is there, by this delivery.
    Processed,
    /// Acknowledge: the effect is there, by another delivery.
    Duplicate,
    /// Put aside: it will never be processed.
    Rejected { reason: String },
    /// Deliver again.
    Redeliver { transient: bool, reason: String },
}

#[cfg(test)]
mod tests {
    use super::{Delivery, Settled, Verdict};

    #[test]
    fn lines() {
        let delivery = Delivery { number: 17, event: b" {\"id\":\"\xff \"}".to_vec() };
        let line = delivery.to_line();
        let read = Delivery::parse(line.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!((read.number, read.event), (17, delivery.event));
        for bad in [&b""[..], b"17", b"x {}", b"-1 {}", b"\xff {}"] {
            assert!(Delivery::parse(bad).is_err(), "{bad:?}");
        }

        let settled = Settled { delivery: 17, verdict: Verdict::Rejected { reason: "two\nlines".to_owned() } };
        let line = settled.to_line().unwrap();
        assert_eq!(line, b"{\"delivery\":17,\"verdict\":\"rejected\",\"reason\":\"two\\nlines\"}\n");
        assert_eq!(serde_json::from_slice::<Settled>(&line).unwrap(), settled);
    }
}
