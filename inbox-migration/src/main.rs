//! The `inbox` command line; everything is in [`inbox_migration::cli`].

use std::process::ExitCode;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    inbox_migration::cli::main().await.into()
}
