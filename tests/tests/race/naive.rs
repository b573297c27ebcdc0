//! The harness sees races: what the index forbids happens as soon as it is gone.

use inbox_core::InboxKey;
use inbox_core::{
    Options,
    entity::{Column, Entity, TABLE, UNIQUE_INDEX},
};
use inbox_tests::{
    Backend, Ledger, TestDb, backends,
    race::{Count, Replicas},
};
use sea_orm::{ActiveValue::Set, ColumnTrait as _, DatabaseConnection, DbErr, EntityTrait as _, PaginatorTrait as _, QueryFilter as _};
use sea_orm::{TransactionTrait as _, prelude::ChronoUtc};

use crate::delivery::{deliver, effect, fresh};

/// In so many rounds at the latest.
const ROUNDS: i64 = 200;

backends! {
    /// Check, then insert: what this library replaces.
    async fn the_naive_handler_applies_twice(db: TestDb) {
        let ledger = without_the_index(&db).await;
        let replicas = Replicas::new(&db, 16).await;
        for round in 1..=ROUNDS {
            let key = fresh();
            replicas
                .race(|n, db| {
                    let key = key.clone();
                    async move { naive(&db, &key, &format!("{round}/{n}")).await }
                })
                .await;
            if ledger.records().await > round {
                assert!(ledger.balance(1).await > round && ledger.markers().await > round);
                return;
            }
        }
        panic!("{ROUNDS} rounds, and no race was seen");
    }

    /// Not the library's care decides, but the index.
    async fn without_its_index_the_library_applies_twice(db: TestDb) {
        let ledger = without_the_index(&db).await;
        let replicas = Replicas::new(&db, 16).await;
        let (key, bodies) = (fresh(), Count::new());
        let answers = replicas
            .race(|n, db| {
                let (key, bodies) = (key.clone(), bodies.clone());
                async move { deliver(&db, key, Options::new(), &bodies, &format!("{n}")).await }
            })
            .await;
        assert_eq!((bodies.get(), ledger.records().await, ledger.markers().await), (16, 16, 16), "{answers:?}");
    }
}

async fn without_the_index(db: &TestDb) -> Ledger {
    let ledger = Ledger::new(db).await;
    let table = if db.backend() == Backend::MySql { format!(" ON {TABLE}") } else { String::new() };
    let quote = db.backend().pick('"', '`', '"');
    db.exec(&format!("DROP INDEX {quote}{UNIQUE_INDEX}{quote}{table}")).await;
    ledger
}

async fn naive(db: &DatabaseConnection, key: &InboxKey, row: &str) -> Result<(), DbErr> {
    if Entity::find().filter(Column::MessageId.eq(*key.message_id().as_uuid())).count(db).await? > 0 {
        return Ok(());
    }
    let tx = db.begin().await?;
    let marker = inbox_core::entity::ActiveModel {
        message_id: Set(*key.message_id().as_uuid()),
        consumer: Set(key.consumer().to_string()),
        received_at: Set(ChronoUtc::now()),
        processed_at: Set(Some(ChronoUtc::now())),
        attempts: Set(0),
        ..Default::default()
    };
    Entity::insert(marker).exec_without_returning(&tx).await?;
    effect(&tx, row).await?;
    tx.commit().await
}
