//! One replica for a person: it serves until it is told to stop, shows how it goes on, and ends with what it did.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::report::{self, Counts, Progress};
use super::{audit, say};
use crate::Service;
use crate::amqp::{self, Broker};
use crate::stop::Stop;

/// What the table waits for, where the database is away.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) async fn serve(broker: &Broker, service: Service, stop: Stop, url: &str) -> anyhow::Result<()> {
    say(format_args!("consuming from {}, until SIGTERM or Ctrl-C", broker.queue));
    let shown = Arc::new(Mutex::new((Counts::default(), Progress::new(None))));
    let naive = service.naive;
    let tell: amqp::Tell = {
        let shown = shown.clone();
        Arc::new(move |verdict| {
            let (counts, progress) = &mut *shown.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(told) = counts.add(&verdict) {
                progress.note(&told);
            }
            progress.show(counts);
        })
    };
    amqp::consume(broker, service, tell, stop).await?;
    // It has settled everything: that nobody can read the accounts now is no failure of its own.
    let audit = timeout(PATIENCE, audit(url, naive)).await.ok().and_then(Result::ok);
    let (counts, progress) = &*shown.lock().unwrap_or_else(PoisonError::into_inner);
    progress.end();
    report::print(counts, audit.as_ref(), None);
    if audit.is_none() {
        say("the database is away: what the accounts hold is not known");
    }
    Ok(())
}
