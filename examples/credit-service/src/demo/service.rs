//! One replica for a person: it serves until it is told to stop, shows how it goes on, and ends with what it did.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;

use super::report::{self, Counts, Progress};
use super::{audit, say};
use crate::Service;
use crate::amqp::{self, Broker};
use crate::stop::Stop;

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
    let audit = audit(url, naive).await.context("the accounts cannot be read")?;
    let (counts, progress) = &*shown.lock().unwrap_or_else(PoisonError::into_inner);
    progress.end();
    report::print(counts, &audit, None);
    Ok(())
}
