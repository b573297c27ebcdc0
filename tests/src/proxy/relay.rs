//! One connection: requests in one direction, answers in the other.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, atomic::Ordering},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use super::{Kind, Request, Shared, mysql::MySql, postgres::Postgres, rules::Due};
use crate::{Backend, proxy::Moment};

/// Bytes for the server, and the request that they complete.
pub(super) struct Outgoing {
    pub(super) bytes: Vec<u8>,
    pub(super) request: Option<Request>,
}

/// Bytes for the client, and whether an answer ends with them.
pub(super) struct Incoming {
    pub(super) bytes: Vec<u8>,
    pub(super) ends: bool,
}

/// Finds the borders between requests, and between answers.
pub(super) trait Codec: Send {
    /// Takes the next complete piece that the client sent.
    fn client(&mut self, input: &mut Vec<u8>) -> io::Result<Option<Outgoing>>;

    /// Takes the next complete piece that the server sent; `waiting` is the oldest unanswered request.
    fn server(&mut self, input: &mut Vec<u8>, waiting: Option<&Request>) -> Option<Incoming>;
}

pub(super) fn codec(backend: Backend) -> Box<dyn Codec> {
    backend.pick::<fn() -> Box<dyn Codec>>(|| Box::<Postgres>::default(), || Box::<MySql>::default(), || unreachable!("no network"))()
}

struct Connection {
    number: usize,
    codec: Mutex<Box<dyn Codec>>,
    /// Sent to the server, not answered yet.
    waiting: Mutex<VecDeque<(Request, Due)>>,
    shared: Arc<Shared>,
}

/// Runs until one side closes or a rule cuts; both sides are closed then.
pub(super) async fn run(client: TcpStream, server: TcpStream, codec: Box<dyn Codec>, number: usize, shared: Arc<Shared>) {
    let connection = Connection { number, codec: Mutex::new(codec), waiting: Mutex::default(), shared };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let ended = tokio::select! {
        ended = connection.requests(from_client, to_server) => ended,
        ended = connection.answers(from_server, to_client) => ended,
    };
    if let Err(error) = ended
        && error.kind() == io::ErrorKind::Unsupported
    {
        eprintln!("proxy: {error}");
    }
}

impl Connection {
    async fn requests(&self, mut client: OwnedReadHalf, mut server: OwnedWriteHalf) -> io::Result<()> {
        let mut input = Vec::new();
        loop {
            while let Some(piece) = self.next_request(&mut input)? {
                if let Some(mut request) = piece.request {
                    request.connection = self.number;
                    self.count(&request, piece.bytes.len());
                    self.shared.requests.lock().unwrap().push(request.clone());
                    let delay = *self.shared.delay.lock().unwrap();
                    if !delay.is_zero() {
                        tokio::time::sleep(delay).await;
                    }
                    let mut due = self.shared.rules.for_request(&request);
                    due.act(Moment::BeforeRequest).await?;
                    self.waiting.lock().unwrap().push_back((request, due));
                }
                server.write_all(&piece.bytes).await?;
            }
            if client.read_buf(&mut input).await? == 0 {
                return Ok(());
            }
        }
    }

    async fn answers(&self, mut server: OwnedReadHalf, mut client: OwnedWriteHalf) -> io::Result<()> {
        let (mut input, mut output) = (Vec::new(), Vec::new());
        loop {
            while let Some(piece) = self.next_answer(&mut input) {
                output.extend(piece.bytes);
                if !piece.ends {
                    continue;
                }
                let answered = self.waiting.lock().unwrap().pop_front();
                let Some((_, mut due)) = answered else { continue };
                due.act(Moment::BeforeAnswer).await?;
                client.write_all(&output).await?;
                output.clear();
                due.act(Moment::AfterAnswer).await?;
            }
            if !self.keeps_answer() {
                client.write_all(&output).await?;
                output.clear();
            }
            if server.read_buf(&mut input).await? == 0 {
                return Ok(());
            }
        }
    }

    fn next_request(&self, input: &mut Vec<u8>) -> io::Result<Option<Outgoing>> {
        self.codec.lock().unwrap().client(input)
    }

    fn next_answer(&self, input: &mut Vec<u8>) -> Option<Incoming> {
        let waiting = self.waiting.lock().unwrap();
        let request = waiting.front().map(|(request, _)| request);
        let piece = self.codec.lock().unwrap().server(input, request)?;
        if let Some(request) = request {
            self.count(request, piece.bytes.len());
        }
        Some(piece)
    }

    /// Not of the pings: a pool sends them when it likes.
    fn count(&self, request: &Request, bytes: usize) {
        if request.kind != Kind::Ping {
            self.shared.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    fn keeps_answer(&self) -> bool {
        self.waiting.lock().unwrap().front().is_some_and(|(_, due)| due.keeps_answer())
    }
}

/// Takes `length` bytes from the front, when they are there.
pub(super) fn take(input: &mut Vec<u8>, length: usize) -> Option<Vec<u8>> {
    (input.len() >= length).then(|| input.drain(..length).collect())
}

/// The text up to the next zero byte, and what follows.
pub(super) fn text(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    (String::from_utf8_lossy(&bytes[..end]).into_owned(), bytes.get(end + 1..).unwrap_or_default())
}

/// A request that carries no statement.
pub(super) fn without_sql(kind: Kind) -> Request {
    Request::new(kind, "")
}
