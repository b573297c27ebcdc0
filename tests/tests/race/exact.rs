//! One body, one effect, one marker, and a `Duplicate` for everybody else.

use futures_util::future::try_join_all;
use inbox_core::{Message, MessageId, Options, Outcome, idempotent};
use inbox_tests::{
    Ledger, TestDb, backends,
    race::{Count, Replicas, how_many},
};
use sea_orm::{DatabaseConnection, DbErr};
use uuid::Uuid;

use crate::delivery::{assert_effects, deliver, duplicate, effect, fresh, processed};

const ROUNDS: i64 = 200;

backends! {
    async fn one_of_two(db: TestDb) {
        exactly_one(&db, ROUNDS, 2, Options::new()).await;
    }

    async fn one_of_sixteen(db: TestDb) {
        // SQLite's writers sleep up to 100 ms between two looks at the lock: four databases at once are four times as fast.
        let lanes: i64 = db.backend().pick(1, 1, 4);
        let backend = db.backend();
        try_join_all((0..lanes).map(|_| {
            tokio::spawn(async move {
                let db = TestDb::new(backend).await;
                exactly_one(&db, ROUNDS / lanes, 16, Options::new()).await;
            })
        }))
        .await
        .expect("every lane has to succeed");
    }

    /// The look before the transaction sees nothing yet, and the index decides all the same.
    async fn one_of_sixteen_on_the_fast_path(db: TestDb) {
        exactly_one(&db, ROUNDS / 4, 16, Options::new().fast_path(true)).await;
    }

    /// Two messages in turns: the losers of one are not the losers of the other.
    async fn one_of_eight_for_each_of_two_messages(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let replicas = Replicas::new(&db, 16).await;
        for round in 1..=ROUNDS / 8 {
            let (keys, bodies) = ([fresh(), fresh()], [Count::new(), Count::new()]);
            let answers = replicas
                .race(|n, db| {
                    let (key, bodies) = (keys[n % 2].clone(), bodies[n % 2].clone());
                    async move { deliver(&db, key, Options::new(), &bodies, &format!("{round}/{n}")).await }
                })
                .await;
            assert_eq!(bodies.each_ref().map(Count::get), [1, 1], "{answers:?}");
            assert_eq!((how_many(&answers, processed), how_many(&answers, duplicate)), (2, 14), "{answers:?}");
            assert_effects(&ledger, 2 * round).await;
        }
    }

    /// The same through the attribute, as a service writes it.
    async fn one_of_sixteen_annotated_handlers(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let replicas = Replicas::new(&db, 16).await;
        for round in 1..=ROUNDS / 8 {
            let message = CreditRequested { id: MessageId::from(Uuid::new_v4()), bodies: Count::new() };
            let answers = replicas
                .race(|n, db| {
                    let message = message.clone();
                    async move { credit(&db, &message, &format!("{round}/{n}")).await }
                })
                .await;
            assert_eq!(message.bodies.get(), 1, "{answers:?}");
            assert_eq!(how_many(&answers, |answer| answer.as_ref().is_ok_and(Outcome::is_duplicate)), 15, "{answers:?}");
            assert_eq!(how_many(&answers, |answer| answer.as_ref().is_ok_and(|outcome| !outcome.is_duplicate())), 1, "{answers:?}");
            assert_effects(&ledger, round).await;
        }
    }
}

async fn exactly_one(db: &TestDb, rounds: i64, n: usize, options: Options) {
    let ledger = Ledger::new(db).await;
    let replicas = Replicas::new(db, n).await;
    for round in 1..=rounds {
        let (key, bodies) = (fresh(), Count::new());
        let answers = replicas
            .race(|n, db| {
                let (key, bodies) = (key.clone(), bodies.clone());
                async move { deliver(&db, key, options, &bodies, &format!("{round}/{n}")).await }
            })
            .await;
        assert_eq!(bodies.get(), 1, "round {round}: {answers:?}");
        assert_eq!((how_many(&answers, processed), how_many(&answers, duplicate)), (1, n - 1), "round {round}: {answers:?}");
        assert_effects(&ledger, round).await;
    }
}

#[derive(Clone, Message)]
struct CreditRequested {
    #[message(id)]
    id: MessageId,
    bodies: Count,
}

/// Credits account 1 once per message.
#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, message: &CreditRequested, row: &str) -> Result<Outcome<()>, DbErr> {
    message.bodies.hit();
    effect(db, row).await?;
    Ok(Outcome::Processed(()))
}
