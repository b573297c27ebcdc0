//! Several deliveries at once in one transaction of the caller's: SeaORM's savepoints would take each other along.

use std::time::Duration;

use futures_util::future::join_all;
use inbox_core::{Error, process};
use inbox_tests::{TestDb, backends, ledger};
use sea_orm::TransactionTrait as _;

use super::support::{Bench, Failed, key};

backends! {
    /// Seen without the rule: of six, up to five answered `Ok`, were committed by the caller, and had stored nothing.
    async fn in_a_callers_transaction_one_at_a_time(db: TestDb) {
        let bench = Bench::new(&db).await;
        for bad in 0..6 {
            let outer = bench.pool.begin().await.unwrap();
            let name = |n: i64| format!("bad {bad}, message {n}");
            let results = join_all((0..6).map(|n| {
                let (outer, name) = (&outer, name(n));
                async move {
                    process(outer, key(&name), async |tx| {
                        ledger::record(tx, &name, n).await?;
                        // Whatever a handler waits for beside the database.
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        if n == bad { Err(Failed::Own) } else { Ok(ledger::credit(tx, 1, 1).await?) }
                    })
                    .await
                }
            }))
            .await;
            outer.commit().await.unwrap();
            let mut refused = 0;
            for (n, result) in (0..).zip(&results) {
                let stored = (bench.ledger.markers_of(*key(&name(n)).message_id().as_uuid()).await, bench.ledger.records_of(&name(n)).await);
                assert_eq!(stored, if result.is_ok() { (1, 1) } else { (0, 0) }, "{}: {result:?}", name(n));
                if let Err(Failed::Inbox(error)) = result {
                    assert!(matches!(error, Error::Begin(_)) && error.to_string().contains("Nothing was written"), "{error}");
                    refused += 1;
                }
            }
            assert!(refused > 0, "they were not at once: {results:?}");
        }
        bench.serves().await;
    }

    /// One after the other, also where the one before failed, panicked or was dropped.
    async fn one_after_the_other_is_not_refused(db: TestDb) {
        let bench = Bench::new(&db).await;
        let outer = bench.pool.begin().await.unwrap();
        let failed = process(&outer, key("failed"), async |_| Err::<(), _>(Failed::Own)).await;
        assert!(matches!(failed, Err(Failed::Own)));
        for n in 0..3 {
            let outcome = process(&outer, key(&format!("after {n}")), async |tx| Ok::<_, Failed>(ledger::credit(tx, 1, 1).await?)).await;
            assert!(outcome.is_ok(), "{outcome:?}");
        }
        outer.commit().await.unwrap();
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await), (3, 3));

        let other = bench.pool.begin().await.unwrap();
        let endless = process(&other, key("dropped"), async |_| -> Result<(), Failed> { std::future::pending().await });
        assert!(tokio::time::timeout(Duration::from_millis(100), endless).await.is_err());
        let next = process(&other, key("after it"), async |_| Ok::<_, Failed>(())).await;
        assert!(!matches!(&next, Err(Failed::Inbox(Error::Begin(error))) if error.to_string().contains("another delivery is at work")), "{next:?}");
        drop(other);
        bench.serves().await;
    }
}
