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

/// Creates the table, where it is missing.
pub(crate) async fn migrate(db: &DatabaseConnection) -> Result<(), DbErr> {
    let create = Schema::new(db.get_database_backend()).create_table_from_entity(Entity).if_not_exists().to_owned();
    if db.execute(&create).await.is_err() {
        // Two replicas that begin at once: PostgreSQL tells the second one that the name is taken.
        db.execute(&create).await?;
    }
    Ok(())
}

/// Opens these accounts, where they are missing.
pub(crate) async fn open(db: &DatabaseConnection, ids: impl Iterator<Item = i64>) -> Result<(), DbErr> {
    let ids: Vec<i64> = ids.collect();
    // Databases limit how many values one statement may have.
    for ids in ids.chunks(500) {
        let open = Entity::find().filter(Column::Id.is_in(ids.iter().copied())).all(db).await?;
        let is_new = |id: &&i64| !open.iter().any(|account| account.id == **id);
        let new: Vec<_> = ids.iter().filter(is_new).map(|id| ActiveModel { id: Set(*id), balance: Set(0) }).collect();
        if !new.is_empty() {
            // Another replica may open them, too.
            Entity::insert_many(new).on_conflict_do_nothing_on([Column::Id]).exec_without_returning(db).await?;
        }
    }
    Ok(())
}

/// What is in all accounts.
pub(crate) async fn balances(db: &DatabaseConnection) -> Result<BTreeMap<i64, i64>, DbErr> {
    Ok(Entity::find().all(db).await?.into_iter().map(|account| (account.id, account.balance)).collect())
}
