//! A replica of the demonstration: its parent hears of each delivery, a line at stdout. Without RabbitMQ the deliveries come in
//! at stdin as well; the end of stdin says that no more are wanted.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, stdin};
use tokio::task::JoinSet;

use crate::amqp::{self, Broker};
use crate::stop::Stop;
use crate::wire::{Delivery, Settled};
use crate::{IN_HAND, Service};

/// Takes deliveries until there are no more, and then finishes those in hand.
pub(crate) async fn consume(service: Service) -> anyhow::Result<()> {
    let mut deliveries = BufReader::new(stdin()).split(b'\n');
    let mut in_hand = JoinSet::new();
    while let Some(line) = deliveries.next_segment().await? {
        if in_hand.len() >= usize::from(IN_HAND) {
            in_hand.join_next().await.transpose()?.transpose()?;
        }
        let (Delivery { number, event }, service) = (Delivery::parse(&line)?, service.clone());
        in_hand.spawn(async move { answer(&Settled { delivery: number, verdict: service.handle(&event).await }) });
    }
    while let Some(done) = in_hand.join_next().await {
        done??;
    }
    Ok(())
}

/// When the parent wants no more from RabbitMQ.
pub(crate) async fn closed() {
    _ = stdin().read_to_end(&mut Vec::new()).await;
}

/// Consumes from RabbitMQ until the parent closes stdin.
pub(crate) async fn report(broker: Broker, service: Service, stop: Stop) -> anyhow::Result<()> {
    let settled = AtomicU64::new(0);
    let tell: amqp::Tell = Arc::new(move |verdict| {
        let delivery = settled.fetch_add(1, Ordering::Relaxed);
        // A parent that is gone hears nothing; the deliveries are settled all the same.
        _ = answer(&Settled { delivery, verdict });
    });
    amqp::consume(&broker, service, tell, stop).await
}

/// Tells the parent, a line for each delivery.
fn answer(settled: &Settled) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(&settled.to_line()?)?;
    Ok(out.flush()?)
}
