//! How a delivery's transaction ends. `process.rs` decides; this is what it takes.

use std::mem;
use std::sync::Arc;

use sea_orm::{DbBackend, DbErr};
use tokio::runtime::Handle;
use tracing::Instrument;

use super::session::ROOT;
use super::shared::Shared;
use super::{Aborted, InboxTransaction};
use crate::marker::{self, Marker};

/// What kept a delivery from being committed.
pub(crate) enum Unsettled {
    /// It was not tried: the transaction is beyond it. It must be rolled back.
    Aborted(Aborted),
    /// The database said no, or nothing. `outermost` tells a COMMIT from the release of a savepoint.
    Commit { error: DbErr, outermost: bool },
}

impl InboxTransaction {
    /// Remembers the marker for the look after a rollback, which only MySQL needs.
    pub(crate) async fn remember(&self, marker: Marker) {
        if self.shared.backend == DbBackend::MySql {
            self.shared.session.lock().await.markers.push(marker);
        }
    }

    /// Whether a failure was seen that a repeated delivery may not meet, whatever the handler's own error says.
    pub(crate) async fn saw_transient(&self) -> bool {
        self.shared.caught_up().await.saw_transient()
    }

    /// Why it cannot be committed any more, if so.
    pub(crate) async fn aborted(&self) -> Option<Aborted> {
        self.shared.session.lock().await.ready(self.frame).err()
    }

    /// Commits, if nothing speaks against it.
    pub(crate) async fn commit(&mut self) -> Result<(), Unsettled> {
        let outermost = self.frame == ROOT && self.shared.pool.is_some();
        let mut session = self.shared.caught_up().await;
        session.ready(self.frame).map_err(Unsettled::Aborted)?;
        // From here on it is committed, whoever still waits: a look at the marker must not take it for one left behind.
        if outermost {
            session.markers.clear();
        }
        self.settled = outermost;
        let result = self.shared.uncut(async move { session.commit_innermost().await }).await;
        self.settled = true;
        result.map_err(|error| Unsettled::Commit { error, outermost })
    }

    /// Rolls back this delivery and everything nested in it. A failure is logged: it must never hide the first error.
    ///
    /// On MySQL it looks afterwards whether the body had committed the marker, and takes it back. Returns whether it had.
    /// Inside a caller's transaction it is the caller who has to look, for [these](Self::markers).
    pub(crate) async fn roll_back(&mut self) -> Result<bool, DbErr> {
        self.settled = self.shared.pool.is_some();
        let rollback = roll_back(Arc::clone(&self.shared), self.frame);
        let survived = self.shared.uncut(rollback).await;
        self.settled = true;
        survived
    }

    /// The markers that the delivery had written, on MySQL.
    pub(crate) async fn markers(&self) -> Vec<Marker> {
        mem::take(&mut self.shared.session.lock().await.markers)
    }

    /// The end without a settlement.
    fn abandon(&self) {
        let shared = Arc::clone(&self.shared);
        let runtime = Handle::try_current();
        if let (Ok(runtime), true) = (&runtime, shared.pool.is_some()) {
            let rollback = async move {
                if let Err(error) = roll_back(shared, ROOT).await {
                    tracing::error!(%error, "could not look for a marker that a dropped delivery may have committed");
                }
            };
            runtime.spawn(rollback.in_current_span());
            return;
        }
        // At once, or the caller's next statement would be sent before the rollback, and undone by it.
        drop(shared.take_rest());
        match (Arc::clone(&shared.session).try_lock_owned(), runtime) {
            (Ok(mut session), _) => drop(session.take()),
            // A task that the body has started is in the middle of a statement: to drop its transaction now would panic in SeaORM.
            (Err(_), Ok(runtime)) => {
                runtime.spawn(async move { drop(shared.session.lock().await.take()) });
            }
            (Err(_), Err(_)) => {}
        }
    }
}

async fn roll_back(shared: Arc<Shared>, frame: u64) -> Result<bool, DbErr> {
    let mut session = shared.lock().await;
    shared.catch_up(&mut session).await;
    if let Err(error) = session.roll_back(frame).await {
        tracing::warn!(%error, "the rollback failed; the connection is not used again");
    }
    match &shared.pool {
        Some(pool) if frame == ROOT => {
            let markers = mem::take(&mut session.markers);
            drop(session);
            marker::take_back(pool, &markers).await
        }
        _ => Ok(false),
    }
}

/// A panic, a cancelled caller, or a nested transaction that goes out of scope.
impl Drop for InboxTransaction {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        if self.frame == ROOT {
            self.abandon();
        } else {
            self.shared.leave_frame(self.frame);
        }
    }
}
