//! A broker that delivers at least once: every event to one of two replicas, or to both at once; what is not settled, again.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::Line;
use super::replica::Replica;
use super::report::{Counts, Progress};
use crate::Args;
use crate::wire::{Delivery, Settled, Verdict};

pub(super) const REPLICAS: usize = 2;

/// Deliveries that may be on the way at once.
const ON_THE_WAY: usize = 24;

/// After so many deliveries of one copy the broker gives it up.
const MOST_ATTEMPTS: u32 = 20;

/// What the broker hears.
pub(crate) enum Heard {
    Settled(Settled),
    /// The replica of this number says nothing more.
    Gone(usize),
    /// It is time to deliver this again.
    Due(Copy),
}

/// An event on its way to a replica.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    /// Its place among the lines.
    line: usize,
    replica: usize,
    attempt: u32,
}

/// Delivers every line and returns what came of it.
pub(crate) async fn deliver(lines: &[Line<'_>], args: &Args) -> anyhow::Result<Counts> {
    let (tell, mut heard) = unbounded_channel();
    let mut replicas = Vec::new();
    for number in 0..REPLICAS {
        replicas.push(Some(Replica::start(number, args, tell.clone())?));
    }
    let queue = plan(lines.len());
    let progress = Progress::new(Some(queue.len()));
    let mut broker = Broker { lines, replicas, tell, queue, on_the_way: HashMap::new(), waiting: 0, counts: Counts::default(), progress };
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    while !broker.is_done() {
        broker.send().await?;
        tokio::select! {
            Some(heard) = heard.recv() => broker.hear(heard).await,
            _ = &mut interrupted, if !broker.counts.interrupted => broker.stop(),
        }
    }
    broker.end().await
}

/// A third of the lines to the first replica, a third to the second, a third to both at once.
fn plan(lines: usize) -> VecDeque<Copy> {
    let to = |line: usize| match line % 3 {
        0 => 0..1,
        1 => 1..2,
        _ => 0..2,
    };
    (0..lines).flat_map(|line| to(line).map(move |replica| Copy { line, replica, attempt: 1 })).collect()
}

struct Broker<'a> {
    lines: &'a [Line<'a>],
    /// `None` is one that is gone.
    replicas: Vec<Option<Replica>>,
    tell: UnboundedSender<Heard>,
    queue: VecDeque<Copy>,
    /// By the number of the delivery.
    on_the_way: HashMap<u64, Copy>,
    /// Copies that wait until they are due again.
    waiting: usize,
    counts: Counts,
    progress: Progress,
}

impl Broker<'_> {
    fn is_done(&self) -> bool {
        self.queue.is_empty() && self.on_the_way.is_empty() && self.waiting == 0
    }

    /// As much as may be on the way.
    async fn send(&mut self) -> anyhow::Result<()> {
        while self.on_the_way.len() < ON_THE_WAY
            && let Some(mut copy) = self.queue.pop_front()
        {
            // To the other one where its own is gone.
            let there = (0..REPLICAS).map(|step| (copy.replica + step) % REPLICAS).find(|number| self.replicas[*number].is_some());
            let Some(replica) = there.and_then(|number| self.replicas[number].as_mut()) else {
                anyhow::bail!("no replica is left; what they said stands above");
            };
            copy.replica = there.unwrap_or(copy.replica);
            self.counts.deliveries += 1;
            self.on_the_way.insert(self.counts.deliveries, copy);
            replica.take(&Delivery { number: self.counts.deliveries, event: self.lines[copy.line].event.to_vec() }).await;
        }
        Ok(())
    }

    async fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Settled(Settled { delivery, verdict }) => {
                if let Some(copy) = self.on_the_way.remove(&delivery) {
                    self.settle(copy, verdict);
                }
            }
            Heard::Gone(number) => self.replace(number).await,
            Heard::Due(copy) => {
                self.waiting -= 1;
                if !self.counts.interrupted {
                    self.queue.push_back(copy);
                }
            }
        }
        self.progress.show(&self.counts);
    }

    fn settle(&mut self, copy: Copy, verdict: Verdict) {
        let line = self.lines[copy.line].number;
        match verdict {
            Verdict::Processed => self.counts.processed += 1,
            Verdict::Duplicate => self.counts.duplicates += 1,
            Verdict::Rejected { reason } => {
                self.counts.rejected += 1;
                self.progress.note(&format!("rejected, line {line}: {reason}"));
            }
            Verdict::Redeliver { reason, .. } if copy.attempt == MOST_ATTEMPTS => {
                self.counts.failed += 1;
                self.progress.note(&format!("given up, line {line}, after {MOST_ATTEMPTS} deliveries: {reason}"));
            }
            Verdict::Redeliver { transient, reason } => {
                self.counts.redelivered += 1;
                if !transient {
                    self.progress.note(&format!("to be delivered again, line {line}: {reason}"));
                }
                self.again(copy);
            }
        }
    }

    /// To the other replica, after a pause that grows.
    fn again(&mut self, copy: Copy) {
        let next = Copy { replica: (copy.replica + 1) % REPLICAS, attempt: copy.attempt + 1, ..copy };
        let tell = self.tell.clone();
        self.waiting += 1;
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(20) * copy.attempt).await;
            _ = tell.send(Heard::Due(next));
        });
    }

    /// What a replica had in hand when it went may have taken effect or not: it is delivered again.
    async fn replace(&mut self, number: usize) {
        if let Some(gone) = self.replicas[number].take()
            && let Err(error) = gone.end().await
        {
            self.progress.note(&format!("replica {}: {error}", number + 1));
        }
        let lost: Vec<u64> = self.on_the_way.iter().filter(|(_, copy)| copy.replica == number).map(|(delivery, _)| *delivery).collect();
        for delivery in lost {
            if let Some(copy) = self.on_the_way.remove(&delivery) {
                self.settle(copy, Verdict::Redeliver { transient: true, reason: "its replica is gone".to_owned() });
            }
        }
    }

    /// Ctrl-C: nothing more is sent, what is on the way is waited for.
    fn stop(&mut self) {
        self.counts.interrupted = true;
        self.queue.clear();
    }

    async fn end(mut self) -> anyhow::Result<Counts> {
        self.progress.end();
        for replica in self.replicas.drain(..).flatten() {
            replica.end().await?;
        }
        Ok(self.counts)
    }
}
