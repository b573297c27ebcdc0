//! The shop's tables.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{big_integer, big_pk_auto, string, string_len};

pub struct Migrator;

#[async_trait::async_trait]
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        vec![Box::new(CreateShop)]
    }
}

struct CreateShop;

impl MigrationName for CreateShop {
    fn name(&self) -> &'static str {
        "m20250301_000001_create_shop"
    }
}

#[async_trait::async_trait]
impl MigrationTrait for CreateShop {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let stock = Table::create().table("stock").col(string("sku").primary_key()).col(big_integer("available")).to_owned();
        manager.create_table(stock).await?;
        let shipment = Table::create().table("shipment").col(big_pk_auto("id")).col(string("sku")).col(big_integer("quantity")).to_owned();
        manager.create_table(shipment).await?;
        let processed = Table::create().table("processed_messages").col(big_pk_auto("id")).col(string_len("message_id", 200)).to_owned();
        manager.create_table(processed).await?;
        let index = Index::create().name("processed_messages_message_id").table("processed_messages").col("message_id").to_owned();
        manager.create_index(index).await
    }
}
