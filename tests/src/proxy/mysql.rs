//! The protocol of MySQL and MariaDB: a request is a packet with sequence number 0; where its answer ends depends on what
//! was asked.

use std::{collections::HashMap, io};

use super::{
    Kind, Request,
    relay::{Codec, Incoming, Outgoing, take, without_sql},
};

const SSL: u32 = 1 << 11;
const DEPRECATE_EOF: u32 = 1 << 24;
const MORE_RESULTS: u16 = 1 << 3;

#[derive(Default)]
pub(super) struct MySql {
    /// Of the server's greeting, then of both sides.
    capabilities: Option<u32>,
    negotiated: bool,
    /// Texts of the prepared statements, by the server's number.
    statements: HashMap<u32, String>,
    expect: Expect,
}

/// What the next packet of an answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expect {
    /// OK, ERR, or the head of a result.
    #[default]
    Head,
    /// So many more packets of column definitions, then rows.
    Columns(u64),
    Rows,
    /// So many more packets of a prepared statement's description.
    Description(u64),
}

impl Codec for MySql {
    fn client(&mut self, input: &mut Vec<u8>) -> io::Result<Option<Outgoing>> {
        let Some(bytes) = packet(input) else { return Ok(None) };
        let (sequence, payload) = (bytes[3], &bytes[4..]);
        if sequence != 0 {
            if !self.negotiated {
                self.negotiated = true;
                let client = u32_at(payload, 0);
                if client & SSL != 0 && payload.len() == 32 {
                    return Err(io::Error::new(io::ErrorKind::Unsupported, "the proxy needs ?ssl-mode=disabled"));
                }
                self.capabilities = self.capabilities.map(|server| server & client);
            }
            return Ok(Some(Outgoing { bytes, request: None }));
        }
        let sql = || String::from_utf8_lossy(&payload[1..]).into_owned();
        let request = match payload.first() {
            Some(0x03) => Some(Request::new(Kind::Query, sql())),
            Some(0x16) => Some(Request::new(Kind::Prepare, sql())),
            Some(0x17) => Some(Request::new(Kind::Execute, self.statements.get(&u32_at(payload, 1)).cloned().unwrap_or_default())),
            Some(0x0e) => Some(without_sql(Kind::Ping)),
            // COM_QUIT, COM_STMT_SEND_LONG_DATA, COM_STMT_CLOSE: nobody answers.
            Some(0x01 | 0x18 | 0x19) | None => None,
            Some(_) => Some(without_sql(Kind::Other)),
        };
        Ok(Some(Outgoing { bytes, request }))
    }

    fn server(&mut self, input: &mut Vec<u8>, waiting: Option<&Request>) -> Option<Incoming> {
        let bytes = packet(input)?;
        let payload = &bytes[4..];
        let ends = waiting.is_some_and(|request| self.answer(request, payload));
        if self.capabilities.is_none() {
            self.capabilities = Some(server_capabilities(payload));
        }
        if ends {
            self.expect = Expect::Head;
        }
        Some(Incoming { bytes, ends })
    }
}

impl MySql {
    /// Whether the answer ends with this packet.
    fn answer(&mut self, request: &Request, payload: &[u8]) -> bool {
        let first = payload.first().copied().unwrap_or(0xff);
        match self.expect {
            Expect::Head | Expect::Rows if first == 0xff => true,
            Expect::Head if request.kind == Kind::Prepare => {
                self.statements.insert(u32_at(payload, 1), request.sql.clone());
                let (columns, parameters) = (u16_at(payload, 5), u16_at(payload, 7));
                let left = self.definitions(u64::from(columns)) + self.definitions(u64::from(parameters));
                self.expect = Expect::Description(left);
                left == 0
            }
            Expect::Head if !request.kind.runs() => true,
            Expect::Head if first == 0x00 => !more_results(&payload[1..], 2),
            Expect::Head => {
                self.expect = Expect::Columns(self.definitions(length_encoded(payload).0));
                false
            }
            Expect::Columns(left) => {
                self.expect = if left > 1 { Expect::Columns(left - 1) } else { Expect::Rows };
                false
            }
            // Nine bytes and more are an OK packet, which says EOF in newer servers.
            Expect::Rows if first == 0xfe => {
                let more = if self.deprecates_eof() { more_results(&payload[1..], 2) } else { u16_at(payload, 3) & MORE_RESULTS != 0 };
                self.expect = Expect::Head;
                !more
            }
            Expect::Rows => false,
            Expect::Description(left) => {
                self.expect = Expect::Description(left.saturating_sub(1));
                left <= 1
            }
        }
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities.is_some_and(|both| both & DEPRECATE_EOF != 0)
    }

    /// Packets that so many definitions take: older servers end them with one more.
    fn definitions(&self, n: u64) -> u64 {
        if n == 0 || self.deprecates_eof() { n } else { n + 1 }
    }
}

/// Length, sequence number, payload.
fn packet(input: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u32::from_le_bytes([*input.first()?, *input.get(1)?, *input.get(2)?, 0]);
    take(input, usize::try_from(length).ok()? + 4)
}

/// The status of an OK packet stands behind `skip` length-encoded numbers.
fn more_results(mut payload: &[u8], skip: usize) -> bool {
    for _ in 0..skip {
        payload = length_encoded(payload).1;
    }
    u16_at(payload, 0) & MORE_RESULTS != 0
}

fn length_encoded(payload: &[u8]) -> (u64, &[u8]) {
    let width = match payload.first() {
        None => return (0, &[]),
        Some(0xfc) => 2,
        Some(0xfd) => 3,
        Some(0xfe) => 8,
        Some(small) => return (u64::from(*small), &payload[1..]),
    };
    let field = payload.get(1..=width).unwrap_or_default();
    let value = field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    (value, payload.get(width + 1..).unwrap_or_default())
}

/// Of protocol 10: version text, connection number, 8 bytes and a filler, then the lower half; 3 bytes on, the upper one.
fn server_capabilities(greeting: &[u8]) -> u32 {
    let version = greeting.iter().skip(1).position(|byte| *byte == 0).unwrap_or_default();
    let lower = 1 + version + 1 + 4 + 8 + 1;
    u32::from(u16_at(greeting, lower)) | u32::from(u16_at(greeting, lower + 5)) << 16
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |field| u16::from_le_bytes([field[0], field[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}
