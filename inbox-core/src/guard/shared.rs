//! What a delivery and everything nested in it have in common, and how one step at a time gets hold of it.

use std::future::Future;
use std::mem;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend};
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard};

use super::session::Session;
use super::stream::Rows;
use crate::uncut::Uncut;

pub(super) struct Shared {
    pub(super) backend: DbBackend,
    pub(super) session: Arc<AsyncMutex<Session>>,
    /// Where the transaction came from, and where a look at the marker goes after a rollback; `None` inside a caller's
    /// transaction.
    pub(super) pool: Option<DatabaseConnection>,
    // What destructors leave, because they cannot wait for the session's lock:
    /// nested frames whose handle was dropped,
    dropped: Mutex<Vec<u64>>,
    /// a stream that was dropped before its end, and still holds the lock,
    rest: Mutex<Option<Rows>>,
    rest_left: Notify,
    /// and that a statement's future was dropped before the answer came.
    given_up: AtomicBool,
}

impl Shared {
    pub(super) fn new(transaction: DatabaseTransaction, pool: Option<DatabaseConnection>) -> Self {
        Self {
            backend: transaction.get_database_backend(),
            session: Arc::new(AsyncMutex::new(Session::new(transaction, pool.is_none()))),
            pool,
            dropped: Mutex::default(),
            rest: Mutex::default(),
            rest_left: Notify::new(),
            given_up: AtomicBool::new(false),
        }
    }

    /// The session, for one step. [`catch_up`](Self::catch_up) comes next.
    pub(super) async fn lock(&self) -> OwnedMutexGuard<Session> {
        loop {
            let mut rest = Rest { rows: self.take_rest(), shared: self };
            while let Some(rows) = &mut rest.rows {
                if rows.next().await.is_none() {
                    rest.rows = None;
                }
            }
            // Who waits already when a stream is dropped has to read its rest, too.
            let lock = pin!(Arc::clone(&self.session).lock_owned());
            let left = pin!(self.rest_left.notified());
            if let Either::Left((session, _)) = select(lock, left).await {
                return session;
            }
        }
    }

    /// Does in the session what destructors could not.
    pub(super) async fn catch_up(&self, session: &mut Session) {
        let given_up = self.given_up.swap(false, Ordering::SeqCst);
        let dropped = mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        session.catch_up(given_up, &dropped).await;
    }

    /// Both, for what sends nothing else.
    pub(super) async fn caught_up(self: &Arc<Self>) -> OwnedMutexGuard<Session> {
        let mut session = self.lock().await;
        let shared = Arc::clone(self);
        let caught_up = async move {
            shared.catch_up(&mut session).await;
            session
        };
        self.uncut(caught_up).await
    }

    /// Runs a step that a cancelled caller must not cut in half. On the caller's own connection it is cut all the same: its
    /// rollback has to be queued before the caller's next statement, and not some time later.
    pub(super) fn uncut<T: Send + 'static>(&self, step: impl Future<Output = T> + Send + 'static) -> Uncut<T> {
        Uncut::new(step, self.pool.is_some())
    }

    /// To be held while a statement's answer is awaited: dropped, it tells that the body has given up.
    pub(super) fn wait(&self) -> Waiting<'_> {
        Waiting { shared: self }
    }

    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
    }

    pub(super) fn leave_frame(&self, frame: u64) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
    }

    /// There can be no other one: it holds the lock.
    pub(super) fn leave_rest(&self, rows: Rows) {
        *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(rows);
        self.rest_left.notify_one();
    }

    pub(super) fn take_rest(&self) -> Option<Rows> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The rest of a stream while it is read; put back when its reader is dropped.
struct Rest<'a> {
    rows: Option<Rows>,
    shared: &'a Shared,
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        if let Some(rows) = self.rows.take() {
            self.shared.leave_rest(rows);
        }
    }
}

pub(super) struct Waiting<'a> {
    shared: &'a Shared,
}

impl Waiting<'_> {
    pub(super) fn answered(self) {
        mem::forget(self);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.give_up();
    }
}
