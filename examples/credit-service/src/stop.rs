//! Being told to stop: SIGTERM, Ctrl-C, or a parent that wants no more.

use tokio::sync::watch;

#[derive(Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens to the signals. `also` is one more reason.
    pub(crate) fn listen(also: impl Future<Output = ()> + Send + 'static) -> std::io::Result<Self> {
        let (tell, told) = watch::channel(false);
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        let mut interrupt = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
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
