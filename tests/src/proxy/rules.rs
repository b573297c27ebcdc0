//! On which request the proxy acts, when, and how.

use std::{fmt, io, sync::Mutex, time::Duration};

use tokio::sync::watch;

use super::{Kind, Request};

/// Which request is meant; only those that run a statement, never the preparing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passing {
    /// The outermost BEGIN.
    Begin,
    /// The INSERT into the inbox table.
    Marker,
    /// COMMIT.
    Commit,
    /// ROLLBACK, not that to a savepoint.
    Rollback,
    /// A statement that contains this text.
    Statement(String),
}

impl Passing {
    fn is(&self, request: &Request) -> bool {
        let sql = request.sql.trim_start().to_ascii_uppercase();
        request.kind.runs()
            && match self {
                Self::Begin => sql.starts_with("BEGIN") || sql.starts_with("START TRANSACTION"),
                Self::Marker => sql.starts_with("INSERT") && request.sql.contains(inbox_core::entity::TABLE),
                Self::Commit => sql.starts_with("COMMIT"),
                Self::Rollback => sql.starts_with("ROLLBACK") && !sql.starts_with("ROLLBACK TO"),
                Self::Statement(part) => request.sql.contains(part),
            }
    }
}

/// When the proxy acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The client has sent it, the server has not seen it.
    BeforeRequest,
    /// The server has done it and answered, the client has not heard of it.
    BeforeAnswer,
    /// The client has been sent the whole answer.
    AfterAnswer,
}

/// What the proxy does.
pub enum Action {
    /// Closes the connection, to both sides.
    Cut,
    /// Stops the connection until [`Hit::release`] or [`Hit::cut`].
    Hold,
    /// Calls, and goes on.
    Call(Box<dyn FnOnce() + Send>),
    /// Calls, and closes the connection: with [`Moment::BeforeRequest`] the server never sees the request.
    CallThenCut(Box<dyn FnOnce() + Send>),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cut => "Cut",
            Self::Hold => "Hold",
            Self::Call(_) => "Call",
            Self::CallThenCut(_) => "CallThenCut",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Stage {
    Waiting,
    Reached,
    Released,
    Cut,
}

/// What became of a rule.
#[derive(Clone, Debug)]
pub struct Hit(watch::Sender<Stage>);

impl Hit {
    fn new() -> Self {
        Self(watch::Sender::new(Stage::Waiting))
    }

    /// Waits until the request has come to the moment.
    ///
    /// # Panics
    /// When it has not within 30 seconds.
    pub async fn reached(&self) {
        let limit = Duration::from_secs(30);
        self.wait_for(Stage::Reached, limit).await.expect("the request that the proxy waits for never came");
    }

    /// Whether it has come to the moment.
    pub fn is_reached(&self) -> bool {
        *self.0.borrow() >= Stage::Reached
    }

    /// Lets a held connection go on.
    pub fn release(&self) {
        self.0.send_replace(Stage::Released);
    }

    /// Closes a held connection.
    pub fn cut(&self) {
        self.0.send_replace(Stage::Cut);
    }

    /// `release` may have come first, and stands.
    fn mark(&self) {
        self.0.send_if_modified(|stage| {
            let first = *stage == Stage::Waiting;
            if first {
                *stage = Stage::Reached;
            }
            first
        });
    }

    async fn wait_for(&self, stage: Stage, limit: Duration) -> Result<Stage, tokio::time::error::Elapsed> {
        let mut changes = self.0.subscribe();
        tokio::time::timeout(limit, async { *changes.wait_for(|now| *now >= stage).await.expect("a sender is alive: self") }).await
    }
}

#[derive(Debug)]
struct Rule {
    passing: Passing,
    moment: Moment,
    action: Action,
    hit: Hit,
}

/// The rules that have not been used yet.
#[derive(Debug, Default)]
pub(super) struct Rules(Mutex<Vec<Rule>>);

impl Rules {
    pub(super) fn add(&self, passing: Passing, moment: Moment, action: Action) -> Hit {
        let hit = Hit::new();
        self.0.lock().unwrap().push(Rule { passing, moment, action, hit: hit.clone() });
        hit
    }

    /// Takes the rules for a request, when it arrives.
    pub(super) fn for_request(&self, request: &Request) -> Due {
        let mut rules = self.0.lock().unwrap();
        let mut take = |moment| {
            let found = rules.iter().position(|rule| rule.moment == moment && rule.passing.is(request));
            found.map(|n| rules.remove(n))
        };
        Due {
            before_request: take(Moment::BeforeRequest),
            before_answer: take(Moment::BeforeAnswer),
            after_answer: take(Moment::AfterAnswer),
        }
    }
}

/// What is due for one request.
#[derive(Debug)]
pub(super) struct Due {
    before_request: Option<Rule>,
    before_answer: Option<Rule>,
    after_answer: Option<Rule>,
}

impl Due {
    /// Whether the answer has to be complete before the client gets any of it.
    pub(super) fn keeps_answer(&self) -> bool {
        self.before_answer.is_some()
    }

    /// Acts, and fails where the connection is to be closed.
    pub(super) async fn act(&mut self, moment: Moment) -> io::Result<()> {
        let rule = match moment {
            Moment::BeforeRequest => &mut self.before_request,
            Moment::BeforeAnswer => &mut self.before_answer,
            Moment::AfterAnswer => &mut self.after_answer,
        };
        let Some(Rule { action, hit, .. }) = rule.take() else { return Ok(()) };
        match action {
            Action::Cut => {
                hit.mark();
                Err(cut())
            }
            Action::Hold => {
                hit.mark();
                match hit.wait_for(Stage::Released, Duration::from_mins(5)).await {
                    Ok(Stage::Released) => Ok(()),
                    _ => Err(cut()),
                }
            }
            Action::Call(call) => {
                call();
                hit.mark();
                Ok(())
            }
            Action::CallThenCut(call) => {
                call();
                hit.mark();
                Err(cut())
            }
        }
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "cut by the test")
}

impl Request {
    pub(super) fn new(kind: Kind, sql: impl Into<String>) -> Self {
        Self { connection: 0, kind, sql: sql.into() }
    }
}
