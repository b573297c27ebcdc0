//! PostgreSQL's protocol, version 3: a request ends with Sync or a simple Query, its answer with ReadyForQuery.

use std::{collections::HashMap, io};

use super::{
    Kind, Request,
    relay::{Codec, Incoming, Outgoing, take, text, without_sql},
};

const SSL_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();

#[derive(Default)]
pub(super) struct Postgres {
    started: bool,
    /// Of the request that is being put together.
    bytes: Vec<u8>,
    prepared: Option<String>,
    executed: Option<String>,
    closes: bool,
    /// Texts of the prepared statements and of the portals, by name.
    statements: HashMap<String, String>,
    portals: HashMap<String, String>,
}

impl Postgres {
    /// Ends the request with `kind`, or with none where nobody waits for an answer.
    fn complete(&mut self, request: Option<Request>) -> Outgoing {
        Outgoing { bytes: std::mem::take(&mut self.bytes), request }
    }

    fn sync(&mut self) -> Request {
        let (executed, prepared, closes) = (self.executed.take(), self.prepared.take(), std::mem::take(&mut self.closes));
        match (executed, prepared) {
            (Some(sql), _) => Request::new(Kind::Execute, sql),
            (None, Some(sql)) => Request::new(Kind::Prepare, sql),
            (None, None) if closes => without_sql(Kind::Other),
            (None, None) => without_sql(Kind::Ping),
        }
    }
}

impl Codec for Postgres {
    fn client(&mut self, input: &mut Vec<u8>) -> io::Result<Option<Outgoing>> {
        if !self.started {
            let Some(length) = length(input, 0) else { return Ok(None) };
            let Some(bytes) = take(input, length) else { return Ok(None) };
            if bytes.get(4..8) == Some(&SSL_REQUEST) {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "the proxy needs ?sslmode=disable"));
            }
            self.started = true;
            return Ok(Some(Outgoing { bytes, request: None }));
        }
        while let Some(message) = message(input) {
            let (kind, body) = (message[0], &message[5..]);
            match kind {
                b'P' => {
                    let (name, rest) = text(body);
                    let (sql, _) = text(rest);
                    self.statements.insert(name, sql.clone());
                    self.prepared = Some(sql);
                }
                b'B' => {
                    let (portal, rest) = text(body);
                    let (statement, _) = text(rest);
                    let sql = self.statements.get(&statement).cloned().unwrap_or_default();
                    self.portals.insert(portal, sql);
                }
                b'E' => self.executed = Some(self.portals.get(&text(body).0).cloned().unwrap_or_default()),
                b'C' => self.closes = true,
                _ => {}
            }
            let query = (kind == b'Q').then(|| text(body).0);
            self.bytes.extend(message);
            match kind {
                b'P' | b'B' | b'E' | b'C' | b'D' => {}
                b'Q' => return Ok(Some(self.complete(Some(Request::new(Kind::Query, query.unwrap_or_default()))))),
                b'S' => {
                    let request = self.sync();
                    return Ok(Some(self.complete(Some(request))));
                }
                // Flush, Terminate, passwords, COPY: on their way at once.
                _ => return Ok(Some(self.complete(None))),
            }
        }
        Ok(None)
    }

    fn server(&mut self, input: &mut Vec<u8>, waiting: Option<&Request>) -> Option<Incoming> {
        let bytes = message(input)?;
        // The ReadyForQuery that ends the start-up answers no request.
        let ends = bytes[0] == b'Z' && waiting.is_some();
        Some(Incoming { bytes, ends })
    }
}

/// The length field at `at`, which counts itself.
fn length(input: &[u8], at: usize) -> Option<usize> {
    let field: [u8; 4] = input.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(field)).ok()
}

/// Kind, length, body.
fn message(input: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = length(input, 1)?;
    take(input, length + 1)
}
