//! The shop: its parts, and what happens when it starts.

pub mod http;
pub mod migration;
pub mod order_placed;
pub mod shipment;
pub mod stock;

use axum::Router;
use sea_orm::DatabaseConnection;
use sea_orm_migration::MigratorTrait;

/// The schema first, then the routes.
pub async fn start(db: DatabaseConnection) -> anyhow::Result<Router> {
    migration::Migrator::up(&db, None).await?;
    inbox_migration::up(&db).await?;
    inbox_core::verify(&db).await?;
    Ok(http::router(db))
}
