//! Serves the shop as it was or as it is, so that both can be tried by hand.
//!
//! ```sh
//! cargo run -p adopted-shop -- after
//! ```

use adopted_shop::{after, before};
use clap::{Parser, ValueEnum};
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database};
use tokio::net::TcpListener;

/// A shop that takes orders over HTTP: `POST /orders` with `{"id": "o-1", "sku": "tea", "quantity": 1}`.
#[derive(Debug, Parser)]
struct Args {
    /// Which version of it.
    version: Version,
    /// SQLite, PostgreSQL, MySQL or MariaDB.
    #[arg(long, value_name = "URL", env = "SHOP_DATABASE_URL", hide_env_values = true, default_value = "sqlite://shop.sqlite?mode=rwc")]
    database_url: String,
    /// Where it listens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    listen: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Version {
    /// With its home-made table.
    Before,
    /// With the inbox.
    After,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let args = Args::parse();
    let mut options = ConnectOptions::new(args.database_url);
    options.test_before_acquire_if_idle_for(std::time::Duration::from_secs(30)).sqlx_logging(false);
    let db = Database::connect(options).await?;
    let routes = match args.version {
        Version::Before => before::start(db.clone()).await?,
        Version::After => after::start(db.clone()).await?,
    };
    // Something to sell.
    db.execute_unprepared("INSERT INTO stock SELECT 'tea', 100 WHERE NOT EXISTS (SELECT 1 FROM stock)").await?;
    let listener = TcpListener::bind(&args.listen).await?;
    tracing::info!(version = ?args.version, address = %listener.local_addr()?, "taking orders");
    axum::serve(listener, routes).with_graceful_shutdown(async { _ = tokio::signal::ctrl_c().await }).await?;
    Ok(())
}
