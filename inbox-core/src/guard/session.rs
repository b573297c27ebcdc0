//! The state of one delivery's transaction: its open frames, and what the database did to it.
//!
//! It sits behind an async lock that is held while a statement runs, so that asking, running and remembering are one step: a
//! second statement of the same body cannot slip in between an error and the knowledge of it.

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, TransactionTrait};

use super::aborted::{Aborted, Cause};
use super::damage::{self, Damage};
use crate::marker::Marker;
use crate::transient::is_transient;

/// The transaction (frame 0) and the savepoints that are open inside it, innermost last.
///
/// The frames live here and not in the handles: a handle that is leaked, stored or sent to another task can neither keep the
/// connection nor shift SeaORM's savepoint counter under a commit.
pub(super) struct Session {
    frames: Vec<Frame>,
    backend: DbBackend,
    /// Frame 0 is a savepoint in a transaction that the caller began.
    callers_transaction: bool,
    wound: Option<Wound>,
    /// A failure that a repeated delivery may not meet was seen, and not rolled back to a savepoint.
    transient: bool,
    /// A statement was sent and its answer is not in.
    in_flight: bool,
    next_id: u64,
    /// What was inserted, for the look after a rollback.
    pub(super) markers: Vec<Marker>,
}

struct Frame {
    transaction: DatabaseTransaction,
    id: u64,
    /// Its handle is gone; it is rolled back before anything else happens.
    dropped: bool,
}

/// What an error did. Nothing but a rollback is sent while there is one.
struct Wound {
    /// Heals when this frame is rolled back; frame 0 never heals, because that is the end.
    frame: usize,
    forgivable: bool,
    cause: Cause,
}

/// How a frame ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    Rollback,
}

/// The id of frame 0.
pub(super) const ROOT: u64 = 0;

impl Session {
    pub(super) fn new(transaction: DatabaseTransaction, callers_transaction: bool) -> Self {
        let backend = transaction.get_database_backend();
        let root = Frame { transaction, id: ROOT, dropped: false };
        Self {
            frames: vec![root],
            backend,
            callers_transaction,
            wound: None,
            transient: false,
            in_flight: false,
            next_id: 1,
            markers: Vec::new(),
        }
    }

    pub(super) const fn saw_transient(&self) -> bool {
        self.transient
    }

    /// Takes everything out: what is dropped is rolled back when the connection is used or returned next.
    pub(super) fn take(&mut self) -> impl Send + use<> {
        std::mem::take(&mut self.frames)
    }

    /// The connection for the next statement, unless nothing may be sent any more.
    pub(super) fn admit(&mut self, frame: u64) -> Result<(), DbErr> {
        self.notice_cancelled();
        if !self.frames.iter().any(|open| open.id == frame) {
            return Err(DbErr::Custom("refused: this transaction has ended already".into()));
        }
        match &self.wound {
            Some(wound) => Err(wound.cause.refusal()),
            None => Ok(()),
        }
    }

    /// To be called before a statement is sent; its [`observe`](Self::observe) comes afterwards, or its future was dropped.
    pub(super) fn send(&mut self) -> &DatabaseTransaction {
        self.in_flight = true;
        // All frames share the connection; `admit` has found one.
        &self.frames[0].transaction
    }

    /// As [`send`](Self::send), for a statement that may be given up where the rest of its answer cannot matter.
    pub(super) fn send_streaming(&mut self, rest_matters: bool) -> &DatabaseTransaction {
        self.in_flight = rest_matters;
        &self.frames[0].transaction
    }

    /// Remembers what the answer says about the transaction.
    pub(super) async fn observe(&mut self, error: Option<&DbErr>) {
        self.in_flight = false;
        let Some(error) = error else { return };
        self.transient |= is_transient(error);
        let innermost = self.frames.len().saturating_sub(1);
        match damage::of(self.backend, error) {
            Damage::None => {}
            Damage::Savepoint => self.hurt(innermost, true, Cause::Statement(error.clone())),
            Damage::Transaction => self.hurt(0, false, Cause::Statement(error.clone())),
            Damage::AskSqlite => {
                if self.sqlite_has_ended().await {
                    self.hurt(0, false, Cause::Statement(error.clone()));
                }
            }
        }
    }

    fn hurt(&mut self, frame: usize, forgivable: bool, cause: Cause) {
        // The first cause is the one to tell; a later one can only make it final.
        match &mut self.wound {
            Some(wound) => wound.forgivable &= forgivable,
            None => self.wound = Some(Wound { frame, forgivable, cause }),
        }
    }

    fn notice_cancelled(&mut self) {
        if std::mem::take(&mut self.in_flight) {
            self.transient = true;
            self.hurt(0, false, Cause::Cancelled);
        }
    }

    /// Asks by a `BEGIN`, which SQLite refuses inside a transaction and which costs no round trip. Where it is accepted the
    /// transaction was over, and sqlx's depth counter with it: the new, empty one (and its savepoints) makes the counter
    /// right again, so that the pooled connection is not poisoned.
    async fn sqlite_has_ended(&mut self) -> bool {
        let transaction = &self.frames[0].transaction;
        self.in_flight = true;
        let answer = transaction.execute_unprepared("BEGIN").await;
        if answer.is_ok() {
            // A caller's own savepoints are not counted here; one too many does no harm.
            let savepoints = self.frames.len() + if self.callers_transaction { 16 } else { 0 };
            for depth in 1..savepoints {
                if let Err(error) = transaction.execute_unprepared(&format!("SAVEPOINT _sqlx_savepoint_{depth}")).await {
                    tracing::warn!(%error, "could not restore a savepoint after SQLite ended the transaction");
                }
            }
        }
        // Refused for any other reason, it is not known to be alive.
        let ended = answer.err().is_none_or(|error| !error.to_string().contains("within a transaction"));
        self.in_flight = false;
        ended
    }

    /// Opens a savepoint.
    pub(super) async fn nest(&mut self) -> Result<u64, DbErr> {
        let transaction = self.send().begin().await;
        match transaction {
            Ok(transaction) => {
                self.in_flight = false;
                let id = self.next_id;
                self.next_id += 1;
                self.frames.push(Frame { transaction, id, dropped: false });
                Ok(id)
            }
            Err(error) => {
                self.observe(Some(&error)).await;
                // sqlx rolls back one level too many when a SAVEPOINT fails, so the transaction is over in any case.
                self.hurt(0, false, Cause::Statement(error.clone()));
                Err(error)
            }
        }
    }

    /// Rolls back what handles left behind, innermost first, and sees it succeed.
    pub(super) async fn bury(&mut self, dropped: Vec<u64>) {
        self.notice_cancelled();
        for frame in &mut self.frames {
            frame.dropped |= dropped.contains(&frame.id);
        }
        while self.frames.last().is_some_and(|frame| frame.dropped) {
            if let Err(error) = self.end_innermost(End::Rollback).await {
                tracing::debug!(%error, "a dropped nested transaction was not rolled back");
            }
        }
    }

    /// Ends a nested frame the way its handle asked for.
    pub(super) async fn end_nested(&mut self, frame: u64, end: End) -> Result<(), DbErr> {
        match self.frames.iter().position(|open| open.id == frame) {
            None => {
                return Err(DbErr::Custom("refused: this transaction has ended already".into()));
            }
            Some(at) if at + 1 < self.frames.len() => {
                self.frames[at].dropped = true;
                self.hurt(0, false, Cause::OutOfOrder);
                return Err(Cause::OutOfOrder.refusal());
            }
            Some(_) => {}
        }
        let refusal = self.wound.as_ref().map(|wound| wound.cause.refusal());
        match (end, refusal) {
            (End::Commit, Some(refusal)) => {
                self.end_innermost(End::Rollback).await?;
                Err(refusal)
            }
            _ => self.end_innermost(end).await,
        }
    }

    async fn end_innermost(&mut self, end: End) -> Result<(), DbErr> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        self.in_flight = true;
        let result = match end {
            End::Commit => frame.transaction.commit().await,
            End::Rollback => frame.transaction.rollback().await,
        };
        self.in_flight = false;
        match &result {
            Ok(()) if end == End::Rollback => {
                let healed = |wound: &Wound| wound.forgivable && wound.frame > 0 && wound.frame == self.frames.len();
                if self.wound.as_ref().is_some_and(healed) {
                    self.wound = None;
                    self.transient = false;
                }
            }
            Ok(()) => {}
            Err(error) => {
                self.transient |= is_transient(error);
                self.hurt(0, false, Cause::Statement(error.clone()));
            }
        }
        result
    }

    /// Why the delivery whose frame this is cannot be committed, if so. Ends the nested frames that are in the way.
    pub(super) fn ready(&mut self, frame: u64) -> Result<(), Aborted> {
        self.notice_cancelled();
        if self.frames.last().is_none_or(|innermost| innermost.id != frame) {
            self.hurt(0, false, Cause::NestedAlive);
        }
        match &self.wound {
            Some(wound) => Err(Aborted { cause: wound.cause.clone(), callers_transaction: self.callers_transaction && !wound.forgivable }),
            None => Ok(()),
        }
    }

    /// Commits the innermost frame; `ready` has been asked.
    pub(super) async fn commit(&mut self) -> Result<(), DbErr> {
        self.end_innermost(End::Commit).await
    }

    /// Rolls back the frame and everything inside it. Every frame is tried, so that sqlx's counter comes out right; the first
    /// failure is returned.
    pub(super) async fn roll_back(&mut self, frame: u64) -> Result<(), DbErr> {
        let Some(at) = self.frames.iter().position(|open| open.id == frame) else {
            return Ok(());
        };
        let mut result = Ok(());
        while self.frames.len() > at {
            result = result.and(self.end_innermost(End::Rollback).await);
        }
        result
    }
}
