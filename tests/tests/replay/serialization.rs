//! Serialization failures, at a statement and at COMMIT.

use std::sync::Arc;

use inbox_core::{Error, Options, process_replayed, process_with};
use inbox_tests::{
    Ledger, TestDb, backends,
    ledger::{self, acct},
    race::{Count, Replicas},
};
use sea_orm::{ActiveValue::Set, ConnectionTrait, DbErr, EntityTrait as _, IsolationLevel};
use tokio::sync::Barrier;

use crate::delivery::{assert_clean, fresh, processed};

backends! {
    /// Reading and then writing what was read: right only where the replay reads anew.
    [postgres]
    async fn a_lost_update_does_not_happen(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let replicas = Replicas::new(&db, 4).await;
        let bodies = Count::new();
        let mut effects = 0;
        for level in [IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
            for _ in 0..10 {
                let answers = replicas
                    .race(|_, db| {
                        let bodies = bodies.clone();
                        async move {
                            process_replayed(&db, fresh(), &Options::new().isolation(level), 30, || {
                                let bodies = bodies.clone();
                                async move |tx| {
                                    bodies.hit();
                                    read_and_write(tx).await
                                }
                            })
                            .await
                        }
                    })
                    .await;
                assert!(answers.iter().all(processed), "{answers:?}");
                effects += 4;
                assert_eq!((ledger.balance(1).await, ledger.markers().await), (effects, effects), "{level:?}");
            }
        }
        assert!(bodies.get() > u64::try_from(effects).unwrap(), "there was no conflict to replay");
    }

    /// A conflict in every attempt: N replays are N + 1 bodies.
    [postgres]
    async fn it_gives_up(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        for (retries, level) in [(0, IsolationLevel::RepeatableRead), (1, IsolationLevel::Serializable), (4, IsolationLevel::RepeatableRead)] {
            let (bodies, before) = (Count::new(), ledger.balance(1).await);
            let error = process_replayed(&pool, fresh(), &Options::new().isolation(level), retries, || {
                let (db, bodies) = (db.clone(), bodies.clone());
                async move |tx| {
                    bodies.hit();
                    ledger::record(tx, "never", 1).await?;
                    overtaken(tx, &db).await
                }
            })
            .await
            .unwrap_err();
            assert!(inbox_core::is_transient(&error), "{error:?}");
            assert_eq!(bodies.get(), u64::from(retries) + 1);
            // The others' updates, one in each attempt, and nothing of ours.
            assert_eq!(ledger.balance(1).await, before + i64::from(retries) + 1);
            assert_eq!((ledger.markers().await, ledger.records().await), (0, 0));
        }
        assert_clean(&ledger, &pool).await;
    }

    /// The body says `Ok` all the same: not committed, and replayed.
    [postgres]
    async fn a_swallowed_failure(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let (bodies, options) = (Count::new(), Options::new().isolation(IsolationLevel::RepeatableRead));
        let answer = process_replayed(&pool, fresh(), &options, 3, || {
            let (db, bodies) = (db.clone(), bodies.clone());
            async move |tx| {
                bodies.hit();
                if bodies.get() == 1 {
                    assert!(overtaken(tx, &db).await.is_err());
                    return Ok::<_, DbErr>(());
                }
                ledger::credit(tx, 1, 10).await
            }
        })
        .await;
        assert!(processed(&answer), "{answer:?}");
        assert_eq!((bodies.get(), ledger.balance(1).await, ledger.markers().await), (2, 1 + 10, 1));
    }

    /// Write skew: every statement succeeds, and the COMMIT is refused. Nothing is stored, so that it is replayed.
    [postgres]
    async fn at_commit(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        ledger.open(2, 0).await;
        for (retries, replayed) in [(0, false), (3, true)] {
            let (barrier, bodies) = (Arc::new(Barrier::new(2)), Count::new());
            let skews: Vec<_> = [1, 2].map(|account| tokio::spawn(skew(db.clone(), account, retries, barrier.clone(), bodies.clone()))).into();
            let mut refused = 0;
            for task in skews {
                match task.await.unwrap() {
                    Ok(outcome) => assert!(!outcome.is_duplicate()),
                    Err(error) => {
                        assert!(matches!(error, Error::Refused(_)) && error.is_transient(), "{error:?}");
                        refused += 1;
                    }
                }
            }
            assert_eq!((refused, bodies.get()), if replayed { (0, 3) } else { (1, 2) });
        }
        // One of the first two, both of the second two.
        assert_eq!((ledger.markers().await, ledger.balance(1).await + ledger.balance(2).await), (3, 3));
    }
}

async fn read_and_write(db: &impl ConnectionTrait) -> Result<(), DbErr> {
    let account = acct::Entity::find_by_id(1).one(db).await?.ok_or_else(|| DbErr::RecordNotFound("account 1".into()))?;
    let richer = acct::ActiveModel { id: Set(1), bal: Set(account.bal + 1) };
    acct::Entity::update(richer).exec(db).await?;
    Ok(())
}

/// Takes its snapshot, and somebody else updates the row before it does.
async fn overtaken(tx: &impl ConnectionTrait, db: &TestDb) -> Result<(), DbErr> {
    acct::Entity::find_by_id(1).one(tx).await?;
    ledger::credit(db.observer(), 1, 1).await?;
    ledger::credit(tx, 1, 1).await
}

/// Reads both accounts and changes one. Both have read and written before either commits.
async fn skew(db: TestDb, account: i64, retries: u32, barrier: Arc<Barrier>, bodies: Count) -> Result<inbox_core::Outcome<()>, Error> {
    let (pool, options, mut attempt) = (db.pool(1).await, Options::new().isolation(IsolationLevel::Serializable), 0);
    let mut make = || {
        attempt += 1;
        let (barrier, bodies) = (barrier.clone(), bodies.clone());
        async move |tx: &inbox_core::InboxTransaction| {
            bodies.hit();
            acct::Entity::find().all(tx).await.map_err(Error::Query)?;
            ledger::credit(tx, account, 1).await.map_err(Error::Query)?;
            if attempt == 1 {
                barrier.wait().await;
            }
            Ok(())
        }
    };
    match retries {
        0 => process_with(&pool, fresh(), &options, make()).await,
        _ => process_replayed(&pool, fresh(), &options, retries, make).await,
    }
}
