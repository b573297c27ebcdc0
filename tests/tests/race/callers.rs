//! The race in transactions that the callers begin and commit: a duplicate leaves the rest of them alone.

use inbox_core::{Outcome, process};
use inbox_tests::{
    Ledger, TestDb, backends, ledger,
    race::{Count, Replicas, how_many},
};
use sea_orm::{DatabaseConnection, DbErr, TransactionTrait as _};

use crate::delivery::{effect, fresh};

backends! {
    async fn one_of_four(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let replicas = Replicas::new(&db, 4).await;
        for round in 1..=50 {
            let (key, bodies) = (fresh(), Count::new());
            let answers = replicas
                .race(|n, db| {
                    let (key, bodies) = (key.clone(), bodies.clone());
                    async move { caller(&db, key, &bodies, &format!("{round}/{n}")).await }
                })
                .await;
            let done = how_many(&answers, |answer| matches!(answer, Ok(Outcome::Processed(()))));
            let same = how_many(&answers, |answer| matches!(answer, Ok(Outcome::Duplicate)));
            assert_eq!((done, same, bodies.get()), (1, 3, 1), "round {round}: {answers:?}");
            assert_eq!((ledger.markers().await, ledger.balance(1).await), (round, round));
            // The effect's row, and one of each caller before and after the delivery.
            assert_eq!(ledger.records().await, round * (1 + 2 * 4), "round {round}: {answers:?}");
        }
    }
}

async fn caller(db: &DatabaseConnection, key: inbox_core::InboxKey, bodies: &Count, row: &str) -> Result<Outcome<()>, DbErr> {
    let tx = db.begin().await?;
    ledger::record(&tx, &format!("{row} before"), 1).await?;
    let outcome = process(&tx, key, async |tx| {
        bodies.hit();
        effect(tx, row).await
    })
    .await?;
    ledger::record(&tx, &format!("{row} after"), 1).await?;
    tx.commit().await?;
    Ok::<_, DbErr>(outcome)
}
