//! Accounts: the change that must not happen twice.
#![allow(missing_docs, reason = "two columns, named in the ledger's docs")]

use sea_orm::entity::prelude::*;

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "acct")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i64,
    pub bal: i64,
}

impl ActiveModelBehavior for ActiveModel {}
