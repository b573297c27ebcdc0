//! The body fails, or panics.

use inbox_core::{Error, Options, process, process_replayed};
use inbox_tests::{Ledger, TestDb, backends, race::Count};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, TransactionTrait as _};

use crate::delivery::{assert_clean, assert_effects, deliver, duplicate, effect, fresh, processed};

/// An error type of the application's own.
#[derive(Debug, thiserror::Error)]
enum CreditError {
    #[error("account {0} is blocked")]
    Blocked(i64),
    #[error(transparent)]
    Db(#[from] DbErr),
    #[error(transparent)]
    Inbox(#[from] Error),
}

backends! {
    /// Nothing stays, the handler's own error arrives, and the redelivery runs the body again.
    async fn a_body_that_fails(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let key = fresh();
        for _ in 0..3 {
            let answer = process(&pool, key.clone(), async |tx| {
                effect(tx, "failed").await?;
                Err::<(), _>(CreditError::Blocked(7))
            })
            .await;
            assert!(matches!(answer, Err(CreditError::Blocked(7))), "{answer:?}");
            assert_effects(&ledger, 0).await;
        }
        assert!(processed(&deliver(&pool, key.clone(), Options::new(), &Count::new(), "worked").await));
        assert!(duplicate(&deliver(&pool, key, Options::new(), &Count::new(), "again").await));
        assert_effects(&ledger, 1).await;
        assert_clean(&ledger, &pool).await;
    }

    /// What the database refuses is the handler's error, too; the marker goes with the rest.
    async fn a_body_whose_statement_fails(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let key = fresh();
        let answer = process(&pool, key.clone(), async |tx| {
            effect(tx, "failed").await?;
            tx.execute_unprepared("INSERT INTO no_such_table VALUES (1)").await?;
            Ok::<_, CreditError>(())
        })
        .await;
        assert!(matches!(answer, Err(CreditError::Db(_))), "{answer:?}");
        assert_effects(&ledger, 0).await;
        assert!(processed(&deliver(&pool, key, Options::new(), &Count::new(), "worked").await));
        assert_clean(&ledger, &pool).await;
    }

    /// A delivery inside another fails, and the outer one goes on without it.
    async fn a_nested_delivery_that_fails(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let (outer, inner) = (fresh(), fresh());
        let answer = process(&pool, outer.clone(), async |tx| {
            effect(tx, "outer").await?;
            let failed = process(tx, inner.clone(), async |tx| {
                effect(tx, "inner").await?;
                Err::<(), _>(CreditError::Blocked(7))
            })
            .await;
            assert!(matches!(failed, Err(CreditError::Blocked(7))), "{failed:?}");
            Ok::<_, CreditError>(())
        })
        .await
        .unwrap();
        assert!(!answer.is_duplicate());
        assert_effects(&ledger, 1).await;
        assert_eq!(ledger.markers_of(*inner.message_id().as_uuid()).await, 0);
        assert_clean(&ledger, &pool).await;
    }

    /// On a caller's transaction the marker goes with the caller's rollback.
    async fn a_caller_that_rolls_back(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let key = fresh();
        let tx = pool.begin().await.unwrap();
        let outcome = process(&tx, key.clone(), async |tx| effect(tx, "rolled back").await).await.unwrap();
        assert!(!outcome.is_duplicate());
        tx.rollback().await.unwrap();
        assert_effects(&ledger, 0).await;
        let tx = pool.begin().await.unwrap();
        let outcome = process(&tx, key.clone(), async |tx| effect(tx, "committed").await).await.unwrap();
        assert!(!outcome.is_duplicate());
        tx.commit().await.unwrap();
        assert_effects(&ledger, 1).await;
        assert!(duplicate(&deliver(&pool, key, Options::new(), &Count::new(), "again").await));
        assert_clean(&ledger, &pool).await;
    }

    /// Case 13. The panic goes on, nothing stays, and the one connection of the pool is as good as new.
    async fn a_body_that_panics(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        for panicking in [panics, panics_in_a_savepoint, panics_in_a_nested_delivery, panics_in_a_replayed_delivery] {
            let before = ledger.markers().await;
            let panicked = tokio::spawn(panicking(pool.clone())).await.unwrap_err();
            assert_eq!(panicked.into_panic().downcast_ref::<&str>(), Some(&"the body's own panic"));
            // The five messages that the case asks for are among the twenty.
            assert_clean(&ledger, &pool).await;
            assert_eq!(ledger.markers().await, before + 20);
            assert_eq!(ledger.records_of("panicked").await, 0);
        }
    }
}

type Panicking = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn panics(pool: DatabaseConnection) -> Panicking {
    Box::pin(async move {
        let _ = process(&pool, fresh(), async |tx| -> Result<(), DbErr> {
            effect(tx, "panicked").await?;
            panic!("the body's own panic")
        })
        .await;
    })
}

fn panics_in_a_savepoint(pool: DatabaseConnection) -> Panicking {
    Box::pin(async move {
        let _ = process(&pool, fresh(), async |tx| -> Result<(), DbErr> {
            let nested = tx.begin().await?;
            effect(&nested, "panicked").await?;
            let _innermost = nested.begin().await?;
            panic!("the body's own panic")
        })
        .await;
    })
}

fn panics_in_a_nested_delivery(pool: DatabaseConnection) -> Panicking {
    Box::pin(async move {
        let _ = process(&pool, fresh(), async |tx| {
            process(tx, fresh(), async |tx| -> Result<(), DbErr> {
                effect(tx, "panicked").await?;
                panic!("the body's own panic")
            })
            .await
        })
        .await;
    })
}

fn panics_in_a_replayed_delivery(pool: DatabaseConnection) -> Panicking {
    Box::pin(async move {
        let _ = process_replayed(&pool, fresh(), &Options::new(), 3, || {
            async |tx| -> Result<(), DbErr> {
                effect(tx, "panicked").await?;
                panic!("the body's own panic")
            }
        })
        .await;
    })
}
