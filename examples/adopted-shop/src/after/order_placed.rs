//! The one message that the shop handles.

use sea_orm::{DatabaseConnection, DbErr};
use serde::Deserialize;

use super::{shipment, stock};

#[derive(Clone, Debug, Deserialize, inbox_core::Message)]
pub struct OrderPlaced {
    #[message(id, domain = "shop.orders")]
    pub id: String,
    pub sku: String,
    pub quantity: i64,
}

#[derive(Debug, thiserror::Error)]
pub enum ShopError {
    #[error("there is not enough of {0}")]
    OutOfStock(String),
    #[error(transparent)]
    Db(#[from] DbErr),
    #[error(transparent)]
    Inbox(#[from] inbox_core::Error),
}

/// Takes the goods from the stock and plans the shipment.
#[inbox_core::idempotent(consumer = "shop.ship")]
pub async fn order_placed(db: &DatabaseConnection, msg: &OrderPlaced) -> Result<(), ShopError> {
    stock::take(db, &msg.sku, msg.quantity).await?;
    shipment::plan(db, &msg.sku, msg.quantity).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
