//! The one message that the shop handles.

use sea_orm::{DatabaseConnection, DbErr, TransactionTrait};
use serde::Deserialize;

use super::{processed, shipment, stock};

#[derive(Clone, Debug, Deserialize)]
pub struct OrderPlaced {
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
}

/// Takes the goods from the stock and plans the shipment.
pub async fn order_placed(db: &DatabaseConnection, msg: &OrderPlaced) -> Result<(), ShopError> {
    if processed::contains(db, &msg.id).await? {
        return Ok(());
    }
    let tx = db.begin().await?;
    stock::take(&tx, &msg.sku, msg.quantity).await?;
    shipment::plan(&tx, &msg.sku, msg.quantity).await?;
    processed::insert(&tx, &msg.id).await?;
    tx.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests;
