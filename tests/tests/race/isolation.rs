//! The race on every isolation level (case 35).

use inbox_core::Options;
use inbox_tests::{
    Backend, Ledger, TestDb, backends,
    race::{Count, Replicas, how_many},
};
use sea_orm::IsolationLevel;

use crate::delivery::{assert_effects, deliver, duplicate, fresh, processed, transient};

const ROUNDS: i64 = 50;

backends! {
    [postgres, mysql]
    async fn read_committed(db: TestDb) {
        one_effect(&db, IsolationLevel::ReadCommitted).await;
    }

    [postgres, mysql]
    async fn repeatable_read(db: TestDb) {
        one_effect(&db, IsolationLevel::RepeatableRead).await;
    }

    [postgres, mysql]
    async fn serializable(db: TestDb) {
        one_effect(&db, IsolationLevel::Serializable).await;
    }

    /// It has one level, which is serializable; asking for another is no error.
    [sqlite]
    async fn any_level(db: TestDb) {
        one_effect(&db, IsolationLevel::ReadCommitted).await;
    }
}

async fn one_effect(db: &TestDb, level: IsolationLevel) {
    let options = Options::new().isolation(level);
    let ledger = Ledger::new(db).await;
    let replicas = Replicas::new(db, 8).await;
    for round in 1..=ROUNDS {
        let (key, bodies) = (fresh(), Count::new());
        let answers = replicas
            .race(|n, db| {
                let (key, bodies) = (key.clone(), bodies.clone());
                async move { deliver(&db, key, options, &bodies, &format!("{round}/{n}")).await }
            })
            .await;
        // PostgreSQL at SERIALIZABLE says 40001 to the loser, for the INSERT that is 23505 at the other levels.
        let refused = how_many(&answers, transient);
        assert_eq!((how_many(&answers, processed), how_many(&answers, duplicate) + refused), (1, 7), "round {round}: {answers:?}");
        assert!(refused == 0 || (db.backend() == Backend::Postgres && level == IsolationLevel::Serializable), "{answers:?}");
        assert_eq!(bodies.get(), 1, "round {round}: {answers:?}");
        for pool in replicas.pools() {
            let again = deliver(pool, key.clone(), options, &bodies, "again").await;
            assert!(duplicate(&again), "round {round}: {again:?}");
        }
        assert_effects(&ledger, round).await;
    }
}
