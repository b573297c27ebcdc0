//! What is to be sent out.

use sea_orm::ActiveValue::Set;
use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "shipment")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub sku: String,
    pub quantity: i64,
}

impl ActiveModelBehavior for ActiveModel {}

/// Plans a shipment.
pub async fn plan(db: &impl ConnectionTrait, sku: &str, quantity: i64) -> Result<(), DbErr> {
    let shipment = ActiveModel { sku: Set(sku.to_owned()), quantity: Set(quantity), ..Default::default() };
    Entity::insert(shipment).exec_without_returning(db).await?;
    Ok(())
}
