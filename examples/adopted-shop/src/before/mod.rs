//! The shop: its parts, and what happens when it starts.

pub mod http;
pub mod migration;
pub mod order_placed;
pub mod processed;
pub mod shipment;
pub mod stock;

use axum::Router;
use sea_orm::DatabaseConnection;
use sea_orm_migration::MigratorTrait;

/// The schema first, then the routes.
pub async fn start(db: DatabaseConnection) -> anyhow::Result<Router> {
    migration::Migrator::up(&db, None).await?;
    Ok(http::router(db))
}
