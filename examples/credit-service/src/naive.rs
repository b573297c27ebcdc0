//! What many write first, to be seen failing: look whether the message was handled, and if not, handle it.
//!
//! Two replicas look, both see nothing, both credit. The transaction does not help: neither sees the other's row, and no unique
//! index says no.

use std::time::Duration;

use inbox_core::{Message as _, Outcome};
use sea_orm::entity::prelude::*;
use sea_orm::{ActiveValue::Set, Schema, TransactionTrait as _};

use crate::event::CreditRequested;
use crate::{CreditError, add};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "naive_inbox")]
#[allow(unreachable_pub, reason = "SeaORM's macro wants it")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub message_id: Uuid,
}

impl ActiveModelBehavior for ActiveModel {}

/// Between the look and the work; in life it is whatever the handler does first.
const GAP: Duration = Duration::from_millis(50);

/// Creates its table, where it is missing.
pub(crate) async fn migrate(db: &DatabaseConnection) -> Result<(), DbErr> {
    db.execute(Schema::new(db.get_database_backend()).create_table_from_entity(Entity).if_not_exists()).await?;
    Ok(())
}

pub(crate) async fn credit(db: &DatabaseConnection, event: &CreditRequested) -> Result<Outcome<()>, CreditError> {
    let id = event.message_id().map_err(inbox_core::Error::from)?;
    if Entity::find().filter(Column::MessageId.eq(*id.as_uuid())).one(db).await?.is_some() {
        return Ok(Outcome::Duplicate);
    }
    tokio::time::sleep(GAP).await;
    let transaction = db.begin().await?;
    Entity::insert(ActiveModel { message_id: Set(*id.as_uuid()), ..Default::default() }).exec_without_returning(&transaction).await?;
    add(&transaction, event).await?;
    transaction.commit().await?;
    Ok(Outcome::Processed(()))
}
