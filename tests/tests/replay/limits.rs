//! What is never replayed, and for how long it goes on.

use std::time::{Duration, Instant};

use inbox_core::{Error, Options, process, process_replayed};
use inbox_tests::{
    Ledger, TestDb, backends,
    ledger::{self, Violation},
    race::Count,
};
use sea_orm::{DbErr, TransactionTrait as _};

use crate::delivery::{assert_clean, assert_effects, effect, fresh, processed, transient};

backends! {
    /// A failure that would come again is the handler's own business.
    async fn a_failure_that_is_not_transient(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        for violation in Violation::ALL {
            let bodies = Count::new();
            let answer = process_replayed(&pool, fresh(), &Options::new(), 5, || {
                let bodies = bodies.clone();
                async move |tx| {
                    bodies.hit();
                    effect(tx, "refused").await?;
                    violation.provoke(tx).await
                }
            })
            .await;
            assert!(answer.is_err() && !transient(&answer), "{violation:?}: {answer:?}");
            assert_eq!(bodies.get(), 1, "{violation:?}");
            assert_effects(&ledger, 0).await;
        }
        let bodies = Count::new();
        let answer = process_replayed(&pool, fresh(), &Options::new(), 5, || {
            let bodies = bodies.clone();
            async move |_| {
                bodies.hit();
                Err::<(), _>(DbErr::Custom("the handler's own".to_owned()))
            }
        })
        .await;
        assert_eq!((answer.unwrap_err(), bodies.get()), (DbErr::Custom("the handler's own".to_owned()), 1));
        assert_clean(&ledger, &pool).await;
    }

    /// A transaction of the caller's holds other work, too, which this library cannot do again.
    async fn a_transaction_of_the_callers(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let tx = pool.begin().await.unwrap();
        ledger::record(&tx, "the caller's", 1).await.unwrap();
        let refused = process_replayed(&tx, fresh(), &Options::new(), 3, || async |_| -> Result<(), Error> { panic!("the body ran") }).await;
        assert!(matches!(refused, Err(Error::Options(_))), "{refused:?}");
        // Zero replays are none.
        let once = process_replayed(&tx, fresh(), &Options::new(), 0, || async |tx| effect(tx, "once").await).await;
        assert!(processed(&once), "{once:?}");
        tx.commit().await.unwrap();
        assert_eq!((ledger.markers().await, ledger.records().await), (1, 2));

        let outer = process(&pool, fresh(), async |tx| {
            process_replayed(tx, fresh(), &Options::new(), 3, || async |_| -> Result<(), Error> { panic!("the body ran") }).await
        })
        .await;
        assert!(matches!(outer, Err(Error::Options(_))), "{outer:?}");
        assert_clean(&ledger, &pool).await;
    }

    /// Its one writer is busy: N + 1 attempts at BEGIN, and no body.
    [sqlite]
    async fn a_busy_file(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db
            .pool_with(|options| {
                options.max_connections(1).map_sqlx_sqlite_opts(|sqlite| sqlite.busy_timeout(Duration::ZERO));
            })
            .await;
        let writer = db.pool(1).await.begin().await.unwrap();
        ledger::credit(&writer, 1, 0).await.unwrap();
        let (mut attempts, begun) = (0, Instant::now());
        let refused = process_replayed(&pool, fresh(), &Options::new(), 4, || {
            attempts += 1;
            async |_| -> Result<(), Error> { panic!("the body ran") }
        })
        .await
        .unwrap_err();
        assert!(matches!(refused, Error::Begin(_)) && refused.is_transient(), "{refused:?}");
        assert_eq!(attempts, 5);
        // At most 10, 20, 40 and 80 ms of pauses, and what a slow machine adds.
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());

        // It becomes free in the meantime.
        let replayed = tokio::spawn({
            let pool = pool.clone();
            async move { process_replayed(&pool, fresh(), &Options::new(), 30, || async |tx| effect(tx, "replayed").await).await }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        writer.rollback().await.unwrap();
        assert!(processed(&replayed.await.unwrap()));
        assert_effects(&ledger, 1).await;
        assert_clean(&ledger, &pool).await;
    }
}
