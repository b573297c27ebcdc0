//! How a delivery's transaction ends. `process.rs` decides; this is what it takes.

use std::mem;
use std::sync::{Arc, PoisonError};

use sea_orm::{DbBackend, DbErr};
use tokio::runtime::Handle;

use super::session::{ROOT, Session};
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
    /// Remembers the marker for the look after a rollback.
    pub(crate) async fn remember(&self, marker: Marker) {
        self.shared.session.lock().await.markers.push(marker);
    }

    /// Whether a failure was seen that a repeated delivery may not meet, whatever the handler's own error says.
    pub(crate) async fn saw_transient(&self) -> bool {
        let mut session = self.shared.session.lock().await;
        session.bury(self.shared.take_dropped()).await;
        session.saw_transient()
    }

    /// Why it cannot be committed any more, if so.
    pub(crate) async fn aborted(&self) -> Option<Aborted> {
        self.shared.session.lock().await.ready(self.frame).err()
    }

    /// Commits, if nothing speaks against it.
    pub(crate) async fn commit(&mut self) -> Result<(), Unsettled> {
        let mut session = self.shared.session.lock().await;
        session.bury(self.shared.take_dropped()).await;
        session.ready(self.frame).map_err(Unsettled::Aborted)?;
        let result = session.commit().await;
        drop(session);
        self.settled = true;
        let outermost = self.frame == ROOT && self.shared.pool.is_some();
        result.map_err(|error| Unsettled::Commit { error, outermost })
    }

    /// Rolls back this delivery and everything nested in it. A failure is logged: it must never hide the first error.
    ///
    /// Returns the markers to look at on MySQL, where a body may have committed them: once the whole transaction is over, so
    /// none for a delivery that is nested in another.
    pub(crate) async fn roll_back(&mut self) -> Vec<Marker> {
        let mut session = self.shared.session.lock().await;
        session.bury(self.shared.take_dropped()).await;
        let markers = roll_back(&mut session, self.frame).await;
        drop(session);
        self.settled = true;
        markers
    }

    /// The end without a settlement: everything is rolled back, by the next user of the connection at the latest.
    fn abandon(&self) {
        let session = Arc::clone(&self.shared.session);
        let pool = self.shared.pool.clone().filter(|_| self.shared.backend == DbBackend::MySql);
        match (session.try_lock_owned(), pool, Handle::try_current()) {
            (Ok(mut session), Some(pool), Ok(runtime)) => {
                runtime.spawn(async move {
                    let markers = roll_back(&mut session, ROOT).await;
                    drop(session);
                    if let Err(error) = marker::take_back(&pool, &markers).await {
                        tracing::error!(%error, "could not look for a marker that a dropped delivery had committed");
                    }
                });
            }
            (Ok(mut session), ..) => drop(session.take()),
            // Another task is in the middle of a statement or a stream: dropping its transaction now would panic in SeaORM.
            (Err(_), _, Ok(runtime)) => {
                let session = Arc::clone(&self.shared.session);
                runtime.spawn(async move { drop(session.lock().await.take()) });
            }
            (Err(_), _, Err(_)) => {}
        }
    }
}

async fn roll_back(session: &mut Session, frame: u64) -> Vec<Marker> {
    if let Err(error) = session.roll_back(frame).await {
        tracing::warn!(%error, "the rollback failed; the connection is not used again");
    }
    if frame == ROOT { mem::take(&mut session.markers) } else { Vec::new() }
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
            self.shared.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(self.frame);
        }
    }
}
