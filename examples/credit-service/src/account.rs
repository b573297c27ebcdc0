//! The business table: what an account holds, in cents.

use std::collections::BTreeMap;

use sea_orm::entity::prelude::*;
use sea_orm::{ActiveValue::Set, Schema};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "account")]
#[allow(unreachable_pub, reason = "SeaORM's macro wants it")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i64,
    pub balance: i64,
}

impl ActiveModelBehavior for ActiveModel {}

/// Creates the table where it is missing, and opens these accounts where they are.
pub(crate) async fn open(db: &DatabaseConnection, ids: impl Iterator<Item = i64>) -> Result<(), DbErr> {
    let schema = Schema::new(db.get_database_backend());
    db.execute(schema.create_table_from_entity(Entity).if_not_exists()).await?;
    let open = balances(db).await?;
    let new: Vec<_> = ids.filter(|id| !open.contains_key(id)).map(|id| ActiveModel { id: Set(id), balance: Set(0) }).collect();
    // Databases limit how many values one statement may have.
    for some in new.chunks(500) {
        Entity::insert_many(some.to_vec()).exec_without_returning(db).await?;
    }
    Ok(())
}

/// What is in all accounts.
pub(crate) async fn balances(db: &DatabaseConnection) -> Result<BTreeMap<i64, i64>, DbErr> {
    Ok(Entity::find().all(db).await?.into_iter().map(|account| (account.id, account.balance)).collect())
}
