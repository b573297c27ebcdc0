//! One replica: takes what the queue holds, and settles each delivery by what became of it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions, BasicRejectOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, Consumer};
use tokio::task::JoinSet;

use super::{Broker, refused};
use crate::pause::{Outage, Pauses};
use crate::stop::Stop;
use crate::wire::Verdict;
use crate::{IN_HAND, Service};

/// Who wants to know what became of a delivery.
pub(crate) type Tell = Arc<dyn Fn(Verdict) + Send + Sync>;

/// A replica at work.
struct Replica {
    service: Service,
    tell: Tell,
    stop: Stop,
    database: Outage,
}

/// Consumes until it is told to stop, and then settles what it has in hand. A broker that goes away is waited for; one that
/// refuses us is an error.
pub(crate) async fn consume(broker: &Broker, service: Service, tell: Tell, stop: Stop) -> anyhow::Result<()> {
    let away = Outage::of("the broker");
    let mut pauses = Pauses::new();
    let replica = Arc::new(Replica { service, tell, stop, database: Outage::of("the database") });
    while !replica.stop.is_told() {
        let error = match open(broker).await {
            Ok((connection, channel, consumer)) => {
                away.is_back();
                pauses = Pauses::new();
                let ended = replica.take(&channel, consumer).await;
                // Whatever was not settled goes back to the queue with the channel.
                _ = connection.close(200, "done".into()).await;
                match ended {
                    Ok(()) => break,
                    Err(error) => error,
                }
            }
            Err(error) if refused(&error) => return Err(error).context("the broker refuses"),
            Err(error) => error,
        };
        away.is_away(&error);
        tokio::select! {
            () = pauses.next() => {}
            () = replica.stop.told() => {}
        }
    }
    Ok(())
}

async fn open(broker: &Broker) -> lapin::Result<(Connection, Channel, Consumer)> {
    let connection = broker.connect("credit-service: replica").await?;
    let channel = connection.create_channel().await?;
    broker.declare(&channel).await?;
    // No more than it can work on at once: the rest is for the other replicas.
    channel.basic_qos(IN_HAND, BasicQosOptions::default()).await?;
    let consumer =
        channel.basic_consume(broker.queue.as_str().into(), "".into(), BasicConsumeOptions::default(), FieldTable::default()).await?;
    Ok((connection, channel, consumer))
}

impl Replica {
    /// Until it is told to stop (`Ok`) or the connection is lost; either way, what is in hand is brought to its end.
    async fn take(self: &Arc<Self>, channel: &Channel, mut consumer: Consumer) -> lapin::Result<()> {
        let mut in_hand = JoinSet::new();
        let ended = loop {
            tokio::select! {
                () = self.stop.told() => {
                    _ = channel.basic_cancel(consumer.tag(), BasicCancelOptions::default()).await;
                    break Ok(());
                }
                delivery = consumer.next() => match delivery {
                    Some(Ok(delivery)) => {
                        let (replica, channel) = (self.clone(), channel.clone());
                        in_hand.spawn(async move { replica.handle(delivery, &channel).await });
                    }
                    Some(Err(error)) => break Err(error),
                    // The queue was deleted, or its node went.
                    None => break Err(std::io::Error::other("the broker has cancelled the consumer").into()),
                },
                Some(_) = in_hand.join_next() => {}
            }
        };
        while in_hand.join_next().await.is_some() {}
        ended
    }

    async fn handle(&self, delivery: Delivery, channel: &Channel) {
        let verdict = self.verdict(&delivery.data, channel).await;
        let heard = match &verdict {
            Verdict::Processed | Verdict::Duplicate => delivery.ack(BasicAckOptions::default()).await,
            Verdict::Rejected { .. } => delivery.reject(BasicRejectOptions { requeue: false }).await,
            Verdict::Redeliver { .. } => {
                // It comes back at once, and would go round as fast as it can until it is given up.
                tokio::time::sleep(Duration::from_millis(100)).await;
                delivery.nack(BasicNackOptions { requeue: true, ..Default::default() }).await
            }
        };
        if !matches!(heard, Ok(true)) {
            tracing::debug!("the connection was lost before this was settled: it is delivered again");
        }
        (self.tell)(verdict);
    }

    /// While the database is away the delivery is held, not given back: the broker counts what comes back, and gives it up in
    /// the end. As no more are in hand than the prefetch, nothing else is taken meanwhile.
    async fn verdict(&self, event: &[u8], channel: &Channel) -> Verdict {
        let mut pauses = Pauses::new();
        loop {
            let verdict = self.service.handle(event).await;
            let Verdict::Redeliver { transient: true, reason } = &verdict else {
                self.database.is_back();
                return verdict;
            };
            self.database.is_away(reason);
            tokio::select! {
                () = pauses.next() => {}
                () = self.stop.told() => return verdict,
            }
            if !channel.status().connected() {
                // Another replica has it by now.
                return verdict;
            }
        }
    }
}
