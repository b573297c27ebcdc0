//! Cancellation at every await point: a future is polled N times and dropped.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

/// What came of a future that was polled a limited number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled<T> {
    /// It was done before the polls were used up.
    Ready(T),
    /// It was dropped after its last poll.
    Dropped,
}

/// Polls a future `n` times, `gap` apart, and drops it when it is not done by then.
///
/// The future is polled by count and not when it asks for it, so that `n` = 1, 2, 3, … stops it at one await point after
/// the other; `gap` is the time that the database has in between to answer. Polling a future that did not ask for it is
/// allowed, and finds the same await point again when the answer is late: choose the gap so large that it seldom is, and go
/// on until [`Polled::Ready`]. A server that answers at once lets one poll run past an await point: put a
/// [`Proxy`](crate::proxy::Proxy) with a [`delay`](crate::proxy::Proxy::delay) below the gap in between, and every round trip
/// is one.
///
/// # Panics
/// When `n` is 0.
pub async fn poll_n<F: Future>(future: F, n: usize, gap: Duration) -> Polled<F::Output> {
    assert!(n > 0, "a future that was never polled has not begun");
    let mut future = pin!(future);
    for turn in 1..=n {
        if let Poll::Ready(output) = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await {
            return Polled::Ready(output);
        }
        if turn < n {
            tokio::time::sleep(gap).await;
        }
    }
    Polled::Dropped
}
