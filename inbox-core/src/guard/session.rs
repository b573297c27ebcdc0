//! The state of one delivery's transaction: its open frames, and what the database did to it.
//!
//! It sits behind an async lock that is held while a statement runs, so that asking, running and remembering are one step: a
//! second statement of the same body cannot slip in between an error and the knowledge of it.

use std::mem;

use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, TransactionTrait};

use super::aborted::{Aborted, Cause};
use super::damage::{self, Damage};
use super::sqlite;
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
    /// A stream was dropped on SQLite, and with it what the rest of the answer may say about the transaction.
    unread: bool,
    next_id: u64,
    /// What was inserted, for the look after a rollback.
    pub(super) markers: Vec<Marker>,
}

struct Frame {
    transaction: DatabaseTransaction,
    id: u64,
    /// Its handle is gone; it is rolled back before anything else happens.
    dropped: bool,
    /// The outermost frame whose handle sent statements while this one was open: they go when this one is rolled back.
    holds: usize,
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
        let root = Frame { transaction, id: ROOT, dropped: false, holds: 0 };
        Self {
            frames: vec![root],
            backend,
            callers_transaction,
            wound: None,
            transient: false,
            unread: false,
            next_id: 1,
            markers: Vec::new(),
        }
    }

    pub(super) const fn saw_transient(&self) -> bool {
        self.transient
    }

    /// Takes everything out: what is dropped is rolled back when the connection is used or returned next.
    pub(super) fn take(&mut self) -> impl Send + use<> {
        mem::take(&mut self.frames)
    }

    /// Whether the frame's handle may send a statement.
    pub(super) fn admit(&mut self, frame: u64) -> Result<(), DbErr> {
        let Some(at) = self.position(frame) else {
            return Err(DbErr::Custom("refused: this transaction has ended already".into()));
        };
        if let Some(wound) = &self.wound {
            return Err(wound.cause.refusal());
        }
        for inner in &mut self.frames[at + 1..] {
            inner.holds = inner.holds.min(at);
        }
        Ok(())
    }

    /// The connection, which all frames share; `admit` has found one.
    pub(super) fn connection(&self) -> &DatabaseTransaction {
        &self.frames[0].transaction
    }

    /// The connection, for a stream: it may be dropped before its end, and is then not [observed](Self::observe).
    pub(super) fn streaming_connection(&mut self) -> &DatabaseTransaction {
        // The others' streams are read to their end in any case.
        self.unread = self.backend == DbBackend::Sqlite;
        self.connection()
    }

    fn position(&self, frame: u64) -> Option<usize> {
        self.frames.iter().position(|open| open.id == frame)
    }

    /// Remembers what the answer says about the transaction.
    pub(super) async fn observe(&mut self, error: Option<&DbErr>) {
        self.unread = false;
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

    async fn sqlite_has_ended(&self) -> bool {
        // A caller's own savepoints are not counted here; some too many do no harm.
        let savepoints = self.frames.len() - 1 + if self.callers_transaction { 16 } else { 0 };
        sqlite::has_ended(self.connection(), savepoints).await
    }

    fn hurt(&mut self, frame: usize, forgivable: bool, cause: Cause) {
        // The first cause is the one to tell; a later one can only make it final.
        match &mut self.wound {
            Some(wound) => wound.forgivable &= forgivable,
            None => self.wound = Some(Wound { frame, forgivable, cause }),
        }
    }

    /// Opens a savepoint.
    pub(super) async fn nest(&mut self) -> Result<u64, DbErr> {
        match self.connection().begin().await {
            Ok(transaction) => {
                let id = self.next_id;
                self.next_id += 1;
                self.frames.push(Frame { transaction, id, dropped: false, holds: self.frames.len() });
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

    /// Does what the destructors of handles, streams and statements left undone, and sees it succeed.
    pub(super) async fn catch_up(&mut self, given_up: bool, dropped: &[u64]) {
        if given_up {
            self.transient = true;
            self.hurt(0, false, Cause::Cancelled);
        }
        if mem::take(&mut self.unread) && !self.frames.is_empty() && self.sqlite_has_ended().await {
            self.hurt(0, false, Cause::Cancelled);
        }
        for frame in &mut self.frames {
            frame.dropped |= dropped.contains(&frame.id);
        }
        let kept = self.frames.iter().rposition(|frame| !frame.dropped).map_or(0, |last| last + 1);
        if let Err(error) = self.roll_back_to(kept).await {
            tracing::debug!(%error, "a dropped nested transaction was not rolled back");
        }
    }

    /// Ends a nested frame the way its handle asked for.
    pub(super) async fn end_nested(&mut self, frame: u64, end: End) -> Result<(), DbErr> {
        match self.position(frame) {
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
            (End::Commit, None) => self.commit_innermost().await,
            (End::Commit, Some(refusal)) => self.roll_back(frame).await.and(Err(refusal)),
            (End::Rollback, _) => self.roll_back(frame).await,
        }
    }

    /// Commits the innermost frame. Before a delivery's own, [`ready`](Self::ready) is asked.
    pub(super) async fn commit_innermost(&mut self) -> Result<(), DbErr> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        let result = frame.transaction.commit().await;
        self.note_end(&result);
        result
    }

    /// Rolls back the frame and everything inside it.
    pub(super) async fn roll_back(&mut self, frame: u64) -> Result<(), DbErr> {
        match self.position(frame) {
            Some(at) => self.roll_back_to(at).await,
            None => Ok(()),
        }
    }

    /// Rolls back all frames from this one on. Every one is tried, so that sqlx's counter comes out right; the first failure is returned.
    async fn roll_back_to(&mut self, at: usize) -> Result<(), DbErr> {
        let mut first = Ok(());
        while self.frames.len() > at
            && let Some(frame) = self.frames.pop()
        {
            let result = frame.transaction.rollback().await;
            self.note_end(&result);
            let healed = |wound: &Wound| wound.forgivable && wound.frame > 0 && wound.frame == self.frames.len();
            if result.is_ok() && self.wound.as_ref().is_some_and(healed) {
                self.wound = None;
                self.transient = false;
            }
            if frame.holds < at {
                self.hurt(0, false, Cause::TakenAlong);
            }
            first = first.and(result);
        }
        first
    }

    fn note_end(&mut self, result: &Result<(), DbErr>) {
        if let Err(error) = result {
            self.transient |= is_transient(error);
            self.hurt(0, false, Cause::Statement(error.clone()));
        }
    }

    /// Why the delivery whose frame this is cannot be committed, if so. A nested frame that is still open is a reason.
    pub(super) fn ready(&mut self, frame: u64) -> Result<(), Aborted> {
        if self.frames.last().is_none_or(|innermost| innermost.id != frame) {
            self.hurt(0, false, Cause::NestedAlive);
        }
        match &self.wound {
            Some(wound) => {
                // Savepoints that were left open go with the delivery's own.
                let harmless = wound.forgivable || matches!(wound.cause, Cause::NestedAlive | Cause::OutOfOrder | Cause::TakenAlong);
                Err(Aborted { cause: wound.cause.clone(), callers_transaction: self.callers_transaction && !harmless })
            }
            None => Ok(()),
        }
    }
}
