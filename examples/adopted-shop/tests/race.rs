//! The same order at two replicas at once: what the old version does, and the new one.
#![allow(clippy::unwrap_used, reason = "a failed set-up stops the test")]

mod shop;

use std::sync::{Arc, Barrier};

use inbox_tests::{TestDb, backends};
use shop::{deliver, new_replica, old_replica, old_shop, shipped};

backends! {
    /// Both look before one of them inserts: two shipments, and both acknowledged.
    async fn before_ships_twice(db: TestDb) {
        let _old = old_shop(&db, &[]).await;
        let both_looked = Arc::new(Barrier::new(2));
        let replicas = [1, 2].map(|_| {
            let (db, both_looked) = (db.clone(), both_looked.clone());
            std::thread::spawn(move || replica_that_waits(&db, &both_looked))
        });
        for replica in replicas {
            assert!(replica.join().unwrap(), "acknowledged");
        }
        assert_eq!(shipped(&db).await, 2);
        assert_eq!(db.count("processed_messages").await, 2);
    }

    /// Both at once, fifty times: one shipment for each order, and nobody is told of an error.
    async fn after_ships_once(db: TestDb) {
        let _old = old_shop(&db, &[]).await;
        let (a, b) = (new_replica(&db).await, new_replica(&db).await);
        let together = Arc::new(tokio::sync::Barrier::new(2));
        for round in 1..=50 {
            let deliveries = [&a, &b].map(|replica| {
                let (replica, together) = (replica.clone(), together.clone());
                tokio::spawn(async move {
                    together.wait().await;
                    deliver(&replica, &format!("o-{round}")).await
                })
            });
            for delivery in deliveries {
                assert!(delivery.await.unwrap(), "acknowledged");
            }
            assert_eq!(shipped(&db).await, round);
        }
    }

    /// An order that could not be filled is not acknowledged and leaves nothing; it is filled when it comes again.
    async fn after_keeps_what_failed(db: TestDb) {
        let _old = old_shop(&db, &[]).await;
        let replica = new_replica(&db).await;
        db.exec("UPDATE stock SET available = 0").await;
        assert!(!deliver(&replica, "o-1").await);
        assert_eq!((db.count("inbox_message").await, db.count("shipment").await), (0, 0));
        db.exec("UPDATE stock SET available = 100").await;
        assert!(deliver(&replica, "o-1").await);
        assert!(deliver(&replica, "o-1").await, "a redelivery is acknowledged");
        assert_eq!(shipped(&db).await, 1);
    }
}

/// One delivery at a replica of the old version, on a thread of its own, because the barrier stops the thread.
#[tokio::main(flavor = "current_thread")]
async fn replica_that_waits(db: &TestDb, both_looked: &Arc<Barrier>) -> bool {
    let (mut pool, both_looked) = (db.pool(2).await, both_looked.clone());
    // SeaORM calls it when a statement was answered: here it holds who has looked until the other one has.
    pool.set_metric_callback(move |answered| {
        if answered.statement.sql.starts_with("SELECT") && answered.statement.sql.contains("processed_messages") {
            both_looked.wait();
        }
    });
    deliver(&old_replica(pool), "o-1").await
}
