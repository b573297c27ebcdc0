//! A TCP proxy between a pool and its server that knows what goes by.
//!
//! It records every request, so that round trips can be counted, and it acts when one passes: cuts the connection, holds
//! it, or calls back (to kill a child process, say). Between the moments a test can say exactly what the server has seen
//! and what the client has:
//!
//! ```no_run
//! # async fn f(db: inbox_tests::TestDb) {
//! use inbox_tests::proxy::{Action, Moment, Passing, Proxy};
//!
//! let proxy = Proxy::start(&db).await;
//! let pool = proxy.pool(1).await;
//! // The server commits; the client never hears of it.
//! let cut = proxy.on(Passing::Commit, Moment::BeforeAnswer, Action::Cut);
//! // … deliver a message through `pool` …
//! cut.reached().await;
//! # }
//! ```
//!
//! Plain text only: the servers of `tests/run` have no TLS. SQLite has no network, see [`hooks`](crate::hooks).

mod mysql;
mod postgres;
mod relay;
mod rules;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use sea_orm::{ConnectOptions, DatabaseConnection};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use crate::{
    Backend, TestDb,
    db::{connect, options},
};

pub use rules::{Action, Hit, Moment, Passing};

/// What a client asked of its server; each one waits for an answer, so each one is a round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which connection, counted from 0 in the order in which they were opened.
    pub connection: usize,
    /// What for.
    pub kind: Kind,
    /// The statement; empty where there is none.
    pub sql: String,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A statement as text.
    Query,
    /// A prepared statement is run.
    Execute,
    /// A statement is prepared, once per connection and text.
    Prepare,
    /// The pool asks whether the connection lives.
    Ping,
    /// Anything else that is answered.
    Other,
}

impl Kind {
    /// Whether a statement takes effect with it.
    pub fn runs(self) -> bool {
        matches!(self, Self::Query | Self::Execute)
    }
}

/// The proxy; it ends, with its connections, when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    db: TestDb,
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// What the connections of one proxy have in common.
#[derive(Debug, Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    rules: rules::Rules,
    delay: Mutex<Duration>,
    connections: AtomicUsize,
    /// Of requests and their answers, in both directions, without pings.
    bytes: AtomicU64,
}

impl Proxy {
    /// Listens, in front of this database's server.
    ///
    /// # Panics
    /// On SQLite.
    pub async fn start(db: &TestDb) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let accepting = tokio::spawn(accept(listener, db.address(), db.backend(), shared.clone()));
        Self { db: db.clone(), port, shared, accepting }
    }

    /// The database's URL through the proxy.
    pub fn url(&self) -> String {
        self.db.url_through(self.port)
    }

    /// A pool through the proxy. It does not ping at every acquire.
    pub async fn pool(&self, max_connections: u32) -> DatabaseConnection {
        self.pool_with(|options| {
            options.max_connections(max_connections).test_before_acquire(false);
        })
        .await
    }

    /// A pool through the proxy with options of its own.
    pub async fn pool_with(&self, change: impl FnOnce(&mut ConnectOptions)) -> DatabaseConnection {
        let mut options = options(&self.url(), 10);
        change(&mut options);
        connect(options).await
    }

    /// Acts once, on the first request from now on that is `passing`.
    pub fn on(&self, passing: Passing, moment: Moment, action: Action) -> Hit {
        self.shared.rules.add(passing, moment, action)
    }

    /// Everything that was asked since the start or the last [`take`](Self::take), in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// As [`requests`](Self::requests), and forgets them.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.shared.requests.lock().unwrap())
    }

    /// What a caller waited for: [`requests`](Self::requests) without the pings. sqlx sends one in the background whenever a
    /// connection goes back to its pool.
    pub fn round_trips(&self) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.kind != Kind::Ping);
        requests
    }

    /// The statements that ran, without the preparing, since the start or the last [`take`](Self::take).
    pub fn statements(&self) -> Vec<String> {
        let requests = self.shared.requests.lock().unwrap();
        requests.iter().filter(|request| request.kind.runs()).map(|request| request.sql.clone()).collect()
    }

    /// The bytes that requests and their answers took since the start or the last call, without the pings.
    pub fn take_bytes(&self) -> u64 {
        self.shared.bytes.swap(0, Ordering::Relaxed)
    }

    /// Makes every later request wait this long on its way to the server.
    pub fn delay(&self, delay: Duration) {
        *self.shared.delay.lock().unwrap() = delay;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, server: String, backend: Backend, shared: Arc<Shared>) {
    // Dropped, and its tasks with it, when this task is aborted.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let Ok(upstream) = TcpStream::connect(&server).await else {
            // The client sees what a dead server would show.
            continue;
        };
        let n = shared.connections.fetch_add(1, Ordering::Relaxed);
        connections.spawn(relay::run(client, upstream, relay::codec(backend), n, shared.clone()));
    }
}
