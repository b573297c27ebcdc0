//! The demonstration on RabbitMQ: publish, two replicas until the queue is drained, and what was given up.

use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::broker::{Heard, REPLICAS};
use super::replica::Replica;
use super::report::{Counts, Progress};
use super::{Line, say};
use crate::Args;
use crate::amqp::{self, Broker};

/// Nothing was heard for so long, and nothing waits in the queue: it may be drained.
const QUIET: Duration = Duration::from_millis(500);

/// Replicas that were lost, or sent back, before the demonstration gives up.
const MOST_STARTS: usize = 50;

pub(crate) async fn deliver(lines: &[Line<'_>], args: &Args, rabbit: &Broker) -> anyhow::Result<Counts> {
    let (waiting, dead) = rabbit.depths().await.context("no connection to the broker")?;
    anyhow::ensure!(
        waiting == 0,
        "{waiting} events wait in {} already, and would be credited beside the file's: consume them first, or take another --queue",
        rabbit.queue
    );
    let events: Vec<_> = lines.iter().map(|line| line.event).collect();
    amqp::publish(rabbit, &events).await?;
    say(format_args!("{} events published to {}", events.len(), rabbit.queue));

    let (tell, heard) = unbounded_channel();
    let progress = Progress::new(Some(events.len()));
    let mut run = Run { args, rabbit, events: events.len(), tell, heard, counts: Counts::default(), progress, starts: 0 };
    run.drain().await?;
    run.progress.end();
    let given_up = run.dead_letters(dead).await?;
    run.counts.failed = u64::from(given_up).saturating_sub(run.counts.rejected);
    Ok(run.counts)
}

struct Run<'a> {
    args: &'a Args,
    rabbit: &'a Broker,
    /// So many were published.
    events: usize,
    tell: UnboundedSender<Heard>,
    heard: UnboundedReceiver<Heard>,
    counts: Counts,
    progress: Progress,
    starts: usize,
}

impl Run<'_> {
    /// Until no event waits, and no replica has one in hand: that is known when all have ended.
    async fn drain(&mut self) -> anyhow::Result<()> {
        loop {
            let mut replicas = Vec::new();
            for number in 0..REPLICAS {
                replicas.push(Some(self.start(number)?));
            }
            self.until_quiet(&mut replicas).await?;
            for replica in replicas.into_iter().flatten() {
                replica.end().await?;
            }
            while let Ok(heard) = self.heard.try_recv() {
                self.note(&heard);
            }
            if self.counts.interrupted || self.rabbit.depths().await?.0 == 0 {
                return Ok(());
            }
        }
    }

    fn start(&mut self, number: usize) -> anyhow::Result<Replica> {
        self.starts += 1;
        anyhow::ensure!(self.starts <= MOST_STARTS, "replicas were started {MOST_STARTS} times; what they said stands above");
        Replica::start(number, self.args, self.tell.clone())
    }

    async fn until_quiet(&mut self, replicas: &mut [Option<Replica>]) -> anyhow::Result<()> {
        loop {
            tokio::select! {
                Some(heard) = self.heard.recv() => {
                    self.note(&heard);
                    if let Heard::Gone(number) = heard {
                        // As whatever keeps a service running would do.
                        if let Some(gone) = replicas[number].take()
                            && let Err(error) = gone.end().await
                        {
                            self.progress.note(&format!("replica {}: {error}", number + 1));
                        }
                        replicas[number] = Some(self.start(number)?);
                    }
                }
                () = tokio::time::sleep(QUIET) => {
                    // A broker that is away is no reason to end.
                    let begun = self.counts.settled() > 0 || self.events == 0;
                    if begun && self.rabbit.depths().await.is_ok_and(|(waiting, _)| waiting == 0) {
                        return Ok(());
                    }
                }
                _ = tokio::signal::ctrl_c() => {
                    self.counts.interrupted = true;
                    return Ok(());
                }
            }
        }
    }

    fn note(&mut self, heard: &Heard) {
        if let Heard::Settled(settled) = heard {
            if let Some(told) = self.counts.add(&settled.verdict) {
                self.progress.note(&told);
            }
            self.progress.show(&self.counts);
        }
    }

    /// How many there are more than before. They arrive a moment after they were rejected.
    async fn dead_letters(&self, before: u32) -> anyhow::Result<u32> {
        let mut dead = 0;
        for _ in 0..50 {
            dead = self.rabbit.depths().await?.1.saturating_sub(before);
            if u64::from(dead) >= self.counts.rejected {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(dead)
    }
}
