//! What is in the warehouse.

use sea_orm::DatabaseTransaction;
use sea_orm::ExprTrait as _;
use sea_orm::entity::prelude::*;

use super::order_placed::ShopError;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "stock")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub sku: String,
    pub available: i64,
}

impl ActiveModelBehavior for ActiveModel {}

/// Takes so many, or none where there are not enough.
pub async fn take(db: &DatabaseTransaction, sku: &str, quantity: i64) -> Result<(), ShopError> {
    let taken = Entity::update_many()
        .col_expr(Column::Available, Expr::col(Column::Available).sub(quantity))
        .filter(Column::Sku.eq(sku))
        .filter(Column::Available.gte(quantity))
        .exec(db)
        .await?;
    if taken.rows_affected == 0 {
        return Err(ShopError::OutOfStock(sku.to_owned()));
    }
    Ok(())
}
