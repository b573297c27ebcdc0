//! Work that a cancelled caller cannot cut in half.
//!
//! A future may be dropped while an answer is on its way. sqlx 0.9 does not survive that everywhere: a MySQL connection that
//! is given up in the middle of a PREPARE is out of step with its server for good, and returns to the pool like that. So what
//! the caller gives up is finished by a task of its own. It costs nothing where nobody gives up.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tracing::Instrument;

pub(super) struct Uncut<T: Send + 'static> {
    /// `None` when it is done, or panicked.
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    finish: bool,
}

impl<T: Send + 'static> Uncut<T> {
    /// `work`, which is run to its end when it is dropped before, if `finish` says so.
    pub(super) fn new(work: impl Future<Output = T> + Send + 'static, finish: bool) -> Self {
        Self { work: Some(Box::pin(work)), finish }
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
        if let (Some(work), true, Ok(runtime)) = (self.work.take(), self.finish, Handle::try_current()) {
            runtime.spawn(async move { drop(work.await) }.in_current_span());
        }
    }
}
