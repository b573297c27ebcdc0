//! A replica as the broker sees it: a process of its own, with a pool of its own.

use std::process::Stdio;

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::UnboundedSender;

use super::broker::Heard;
use crate::Args;
use crate::wire::{Delivery, Settled};

pub(crate) struct Replica {
    process: Child,
    deliveries: Option<ChildStdin>,
}

impl Replica {
    /// Starts this program again. The URLs, which may hold passwords, do not show in the list of processes.
    pub(crate) fn start(number: usize, args: &Args, heard: UnboundedSender<Heard>) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program does not find itself")?;
        let mut command = Command::new(program);
        command.args(["--replica", &(number + 1).to_string(), "--queue", &args.queue]);
        for (variable, url) in [("CREDIT_SERVICE_DATABASE_URL", &args.database_url), ("CREDIT_SERVICE_AMQP_URL", &args.amqp)] {
            if let Some(url) = url {
                command.env(variable, url);
            }
        }
        if args.naive {
            command.arg("--naive");
        }
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().context("a replica cannot be started")?;
        let deliveries = process.stdin.take();
        let answers = process.stdout.take().context("a replica without stdout")?;
        tokio::spawn(listen(number, answers, heard));
        Ok(Self { process, deliveries })
    }

    /// Hands a delivery over. Whether it took it shows when it answers; a replica that is gone is heard of anyway.
    pub(crate) async fn take(&mut self, delivery: &Delivery) {
        if let Some(deliveries) = &mut self.deliveries
            && deliveries.write_all(&delivery.to_line()).await.is_err()
        {
            self.deliveries = None;
        }
    }

    /// Nothing more comes: it finishes what it has in hand, and ends.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        drop(self.deliveries.take());
        let status = self.process.wait().await?;
        anyhow::ensure!(status.success(), "a replica failed: {status}");
        Ok(())
    }
}

async fn listen(number: usize, answers: ChildStdout, heard: UnboundedSender<Heard>) {
    let mut lines = BufReader::new(answers).lines();
    // A line that is no answer comes from something else that talks where only answers belong.
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(settled) = serde_json::from_str::<Settled>(&line) {
            _ = heard.send(Heard::Settled(settled));
        } else {
            tracing::warn!(replica = number + 1, line, "this is no answer");
        }
    }
    _ = heard.send(Heard::Gone(number));
}
