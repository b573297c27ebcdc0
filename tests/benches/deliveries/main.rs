//! How fast a delivery is, beside the same thing by hand: ratios of rounds that alternate within one run.
//!
//! ```sh
//! INBOX_TESTS_DURABLE=1 tests/run --with-servers cargo bench -p inbox-tests --bench deliveries
//! INBOX_TESTS_DURABLE=1 tests/run --with-servers cargo bench -p inbox-tests --bench deliveries -- --backend postgres --rounds 60
//! ```
//!
//! Absolute rates say something about the machine; the ratios say something about the code. Each round does every way once,
//! for a moment, in an order that moves on by one; a ratio is always of two rates of one round.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a bench prints, and stops at the first failure")]

mod load;
mod report;
mod settings;

use clap::Parser;
use inbox_tests::{Backend, ways::Way};

use crate::{
    load::{Bench, Mix},
    report::Ratios,
};

#[derive(Debug, Parser)]
struct Args {
    /// postgres, mysql or sqlite; all of them when it is not given
    #[arg(long, value_parser = backend)]
    backend: Option<Backend>,
    /// Rounds, each with every way
    #[arg(long, default_value_t = 40)]
    rounds: usize,
    /// Deliveries of one way in one round, together
    #[arg(long, default_value_t = 400)]
    deliveries: usize,
    /// Workers at once
    #[arg(long, value_delimiter = ',', default_value = "1,8")]
    workers: Vec<usize>,
    /// Only the table of ways, or only that of the fast path
    #[arg(long, value_parser = ["ways", "fast-path"])]
    only: Option<String>,
    /// What cargo says to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn backend(name: &str) -> Result<Backend, String> {
    match name {
        "postgres" => Ok(Backend::Postgres),
        "mysql" => Ok(Backend::MySql),
        "sqlite" => Ok(Backend::Sqlite),
        _ => Err("postgres, mysql or sqlite".to_owned()),
    }
}

fn main() {
    let args = Args::parse();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!("{}", settings::machine(&args));
    for backend in args.backend.map_or_else(|| Backend::ALL.to_vec(), |one| vec![one]) {
        runtime.block_on(async {
            let bench = Bench::new(backend).await;
            println!("\n### {backend}\n\n{}", settings::server(bench.db()).await);
            if args.only.as_deref() != Some("fast-path") {
                ways(&bench, &args).await;
            }
            if args.only.as_deref() != Some("ways") {
                crossover(&bench, &args).await;
            }
        });
    }
}

/// Fresh deliveries, all ways, beside the hand-written transaction.
async fn ways(bench: &Bench, args: &Args) {
    const WAYS: [Way; 4] = [Way::HandWritten, Way::Annotated, Way::Bare, Way::CheckThenInsert];
    println!("\nFresh deliveries, beside the hand-written transaction:\n\n{}", report::head("way"));
    for &workers in &args.workers {
        let rates = bench.rounds(&WAYS.map(|way| (way, Mix::fresh())), workers, args).await;
        for (n, way) in WAYS.into_iter().enumerate() {
            println!("{}", Ratios::new(&rates, n, 0).row(way.name(), workers));
        }
    }
}

/// With the fast path beside without it, by how many of the deliveries are late redeliveries.
async fn crossover(bench: &Bench, args: &Args) {
    println!("\n`fast_path`, beside without it:\n\n{}", report::head("late redeliveries"));
    for &workers in &args.workers {
        for percent in [0, 1, 10, 50] {
            let mix = Mix::with_duplicates(percent);
            let rates = bench.rounds(&[(Way::Annotated, mix), (Way::FastPath, mix)], workers, args).await;
            println!("{}", Ratios::new(&rates, 1, 0).row(&format!("{percent} %"), workers));
        }
    }
}
