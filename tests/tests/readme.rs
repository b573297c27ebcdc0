//! What the README shows, compiled and run; and the proof that it is what the README shows.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use inbox_core::{Message, MessageId, idempotent};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbErr, EntityTrait, QueryFilter};

mod account {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "account")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub balance: i64,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

#[derive(Message)]
struct CreditRequested {
    #[message(id)]
    id: MessageId,
    account_id: i64,
    amount: i64,
}

/// Credits an account once per message.
#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, msg: &CreditRequested) -> Result<(), DbErr> {
    account::Entity::update_many()
        .col_expr(account::Column::Balance, Expr::col(account::Column::Balance).add(msg.amount))
        .filter(account::Column::Id.eq(msg.account_id))
        .exec(db) // here `db` is the transaction
        .await?;
    Ok(())
}

#[tokio::test]
async fn what_the_readme_shows_credits_once() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("readme.sqlite").display());
    let mut options = ConnectOptions::new(url);
    options.test_before_acquire_if_idle_for(Duration::from_secs(30));
    let db = Database::connect(options).await?;
    db.execute_unprepared("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)").await?;
    db.execute_unprepared("INSERT INTO account VALUES (7, 0)").await?;

    inbox_migration::up(&db).await?; // the inbox table, at start-up or with the `inbox` command
    inbox_core::verify(&db).await?; // refuses to start on a table that would let duplicates through

    let msg = CreditRequested { id: MessageId::from_text("orders", "order-17")?, account_id: 7, amount: 100 };
    credit(&db, &msg).await?; // Ok: acknowledge.  Err: do not.
    credit(&db, &msg).await?; // a redelivery: Ok, and the body does not run

    assert_eq!(account::Entity::find_by_id(7).one(&db).await?.unwrap().balance, 100);
    Ok(())
}

/// Every Rust block of the README stands above, line by line.
#[test]
fn the_readme_shows_what_is_tested() {
    let readme = include_str!("../../README.md");
    let tested: Vec<&str> = include_str!("readme.rs").lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let blocks: Vec<&str> = readme.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 3, "the README has another number of Rust blocks");
    for block in blocks {
        let shown: Vec<&str> = block.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        assert!(tested.windows(shown.len()).any(|lines| lines == shown), "not tested as it is shown:\n{block}");
    }
}
