//! Publishing, until the broker has confirmed every event.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::Context as _;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Confirmation, PublisherConfirm};
use tokio::time::timeout;

use super::{Broker, refused};
use crate::pause::{Outage, Pauses};

/// So many may wait for their confirmation at once.
const UNCONFIRMED: usize = 256;

/// A broker that confirms nothing for so long has lost it, or cannot take it: a queue without a leader takes, and keeps silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// Publishes all of them. What was not confirmed when a connection was lost is published again, and may lie in the queue
/// twice: that is what the inbox is for.
pub(crate) async fn publish(broker: &Broker, events: &[&[u8]]) -> anyhow::Result<()> {
    let away = Outage::of("the broker");
    let mut pauses = Pauses::new();
    let mut confirmed = vec![false; events.len()];
    loop {
        match try_all(broker, events, &mut confirmed).await {
            Ok(None) => return Ok(()),
            Ok(Some(refusal)) => {
                let taken = confirmed.iter().filter(|taken| **taken).count();
                anyhow::bail!("{refusal}; {taken} of {} events were confirmed, the others may be published again", events.len())
            }
            Err(error) if refused(&error) => return Err(error).context("the broker refuses"),
            Err(error) => {
                away.is_away(&error);
                pauses.next().await;
            }
        }
    }
}

/// `Some` says what the broker did not take.
async fn try_all(broker: &Broker, events: &[&[u8]], confirmed: &mut [bool]) -> lapin::Result<Option<String>> {
    let connection = broker.connect("credit-service: publisher").await?;
    let channel = connection.create_channel().await?;
    broker.declare(&channel).await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    let mut waiting: VecDeque<(usize, PublisherConfirm)> = VecDeque::new();
    let left: Vec<usize> = (0..events.len()).filter(|n| !confirmed[*n]).collect();
    for n in left {
        if waiting.len() == UNCONFIRMED
            && let Some(refusal) = confirm(&mut waiting, confirmed).await?
        {
            return Ok(Some(refusal));
        }
        // An event that no queue takes comes back instead of vanishing.
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        // 2: written to the disk.
        let properties = BasicProperties::default().with_delivery_mode(2).with_content_type("application/cloudevents+json".into());
        let published = channel.basic_publish("".into(), broker.queue.as_str().into(), options, events[n], properties).await?;
        waiting.push_back((n, published));
    }
    while !waiting.is_empty() {
        if let Some(refusal) = confirm(&mut waiting, confirmed).await? {
            return Ok(Some(refusal));
        }
    }
    connection.close(200, "done".into()).await?;
    Ok(None)
}

/// Waits for the oldest.
async fn confirm(waiting: &mut VecDeque<(usize, PublisherConfirm)>, confirmed: &mut [bool]) -> lapin::Result<Option<String>> {
    let Some((n, oldest)) = waiting.pop_front() else { return Ok(None) };
    let heard = timeout(PATIENCE, oldest).await.map_err(|_| std::io::Error::other("it does not confirm what it was given"))?;
    match heard? {
        Confirmation::Ack(None) => {
            confirmed[n] = true;
            Ok(None)
        }
        Confirmation::Ack(Some(returned)) | Confirmation::Nack(Some(returned)) => {
            Ok(Some(format!("event {} came back: {} ({})", n + 1, returned.reply_text, returned.reply_code)))
        }
        // A queue that is full, or one that has no leader at the moment.
        Confirmation::Nack(None) => Err(std::io::Error::other("it does not take an event now").into()),
        Confirmation::NotRequested => Ok(Some("the broker confirms nothing".to_owned())),
    }
}
