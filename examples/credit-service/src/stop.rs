//! Being told to stop: SIGTERM, Ctrl-C, or a parent that wants no more.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

#[derive(Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Ctrl-C reaches the whole group, and a parent hears it, too: it says when to stop.
    pub(crate) fn never() -> std::io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (tell, told) = watch::channel(false);
        tokio::spawn(async move {
            while interrupt.recv().await.is_some() {}
            drop(tell);
        });
        Ok(Self(told))
    }

    /// At SIGTERM, at Ctrl-C, or when `also` is done.
    pub(crate) fn on_signals_and(also: impl Future<Output = ()> + Send + 'static) -> std::io::Result<Self> {
        let (tell, told) = watch::channel(false);
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = also => {}
            }
            tell.send_replace(true);
            // It has been heard; a second one must not end what is being finished.
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
        });
        Ok(Self(told))
    }

    pub(crate) fn is_told(&self) -> bool {
        *self.0.borrow()
    }

    pub(crate) async fn told(&self) {
        let mut told = self.0.clone();
        // The sender lives as long as the process.
        _ = told.wait_for(|told| *told).await;
    }
}
