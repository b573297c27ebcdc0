//! Work that a cancelled caller cannot cut in half.
//!
//! A future may be dropped while an answer is on its way. sqlx 0.9 does not survive that everywhere: it would return a
//! connection to the pool whose open transaction it does not know of (D6), and a MySQL connection that is given up in the
//! middle of a PREPARE is out of step with its server for good. So what the caller gives up is finished by a task of its own.
//! It costs nothing where nobody gives up.

use std::future::{Future, ready};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use sea_orm::{DbErr, RuntimeErr, SqlxError};
use tokio::runtime::Handle;
use tracing::Instrument;

/// Runs an exchange with the database to its end, whoever still waits for it.
pub(crate) async fn uncut<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T, DbErr> {
    on_runtime(Uncut::new(work, true)).await
}

/// That there is no runtime is an error here, and so is a timer's panic on one that shuts down.
pub(crate) async fn on_runtime<T>(work: impl Future<Output = T>) -> Result<T, DbErr> {
    let runtime = Handle::try_current()
        .map_err(|_| DbErr::Conn(RuntimeErr::Internal("there is no tokio runtime here to run the transaction on".into())))?;
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(done) => Ok(done),
        // A runtime that shuts down takes no task any more.
        Err(_) if runtime.spawn(ready(())).await.is_err() => Err(DbErr::Conn(RuntimeErr::SqlxError(SqlxError::WorkerCrashed.into()))),
        Err(panic) => resume_unwind(panic),
    }
}

pub(crate) struct Uncut<T: Send + 'static> {
    /// `None` when it is done, or panicked.
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    /// Where it is finished. Known from the start: a future may be dropped outside of its runtime.
    finish_on: Option<Handle>,
}

impl<T: Send + 'static> Uncut<T> {
    /// `work`, which is run to its end when it is dropped before, if `finish` says so.
    pub(crate) fn new(work: impl Future<Output = T> + Send + 'static, finish: bool) -> Self {
        Self { work: Some(Box::pin(work)), finish_on: Handle::try_current().ok().filter(|_| finish) }
    }
}

impl<T: Send + 'static> Future for Uncut<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(mut work) = self.work.take() else {
            return Poll::Pending;
        };
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.work = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Uncut<T> {
    fn drop(&mut self) {
        if let (Some(work), Some(runtime)) = (self.work.take(), &self.finish_on) {
            runtime.spawn(async move { drop(work.await) }.in_current_span());
        }
    }
}
