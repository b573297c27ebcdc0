//! Waiting for something that is away: longer each time, and not all replicas at the same moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

/// The pauses of one wait: from a tenth of a second to five seconds.
pub(crate) struct Pauses(ExponentialBackoff);

impl Pauses {
    pub(crate) fn new() -> Self {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(100))
            .with_max_delay(Duration::from_secs(5))
            .without_max_times()
            .with_jitter();
        Self(pauses.build())
    }

    pub(crate) async fn next(&mut self) {
        tokio::time::sleep(self.0.next().unwrap_or(Duration::from_secs(5))).await;
    }
}

/// Says once that something is away, and once that it is back.
pub(crate) struct Outage {
    what: &'static str,
    away: AtomicBool,
}

impl Outage {
    pub(crate) const fn of(what: &'static str) -> Self {
        Self { what, away: AtomicBool::new(false) }
    }

    pub(crate) fn is_away(&self, why: &dyn std::fmt::Display) {
        if !self.away.swap(true, Ordering::Relaxed) {
            tracing::warn!("{} is away, waiting for it: {why}", self.what);
        }
    }

    pub(crate) fn is_back(&self) {
        if self.away.swap(false, Ordering::Relaxed) {
            tracing::warn!("{} is back", self.what);
        }
    }
}
