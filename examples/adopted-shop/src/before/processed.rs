//! Which messages were handled: a home-made inbox.

use sea_orm::ActiveValue::Set;
use sea_orm::DatabaseTransaction;
use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "processed_messages")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub message_id: String,
}

impl ActiveModelBehavior for ActiveModel {}

/// Whether the message was handled before.
pub async fn contains(db: &DatabaseConnection, message_id: &str) -> Result<bool, DbErr> {
    Ok(Entity::find().filter(Column::MessageId.eq(message_id)).one(db).await?.is_some())
}

/// Remembers that the message was handled.
pub async fn insert(db: &DatabaseTransaction, message_id: &str) -> Result<(), DbErr> {
    let message = ActiveModel { message_id: Set(message_id.to_owned()), ..Default::default() };
    Entity::insert(message).exec_without_returning(db).await?;
    Ok(())
}
