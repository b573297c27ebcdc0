//! Business rows with a unique key of their own: what must never be taken for a duplicate message.
#![allow(missing_docs, reason = "three columns, named in the ledger's docs")]

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "biz")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    #[sea_orm(unique)]
    pub k: String,
    pub v: i64,
}

impl ActiveModelBehavior for ActiveModel {}
