//! A caller's transaction that reads a snapshot: it would not see the markers that are committed while it waits for its lock.

use inbox_core::{Consumer, Error, InboxKey, MessageId, process};
use inbox_migration::Migrator;
use inbox_tests::{Ledger, TestDb, backends};
use sea_orm::{IsolationLevel, TransactionTrait as _};
use sea_orm_migration::MigratorTrait as _;
use tokio::sync::Notify;

backends! {
    /// Seen without the rule: the delivery answered `Ok`, and its marker was dropped with the table.
    [postgres]
    async fn down_does_not_drop_what_it_cannot_see(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        for level in [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
            let (pool, migrating) = (db.pool(1).await, db.pool(1).await);
            let (inside, go) = (Notify::new(), Notify::new());
            let delivery = process(&pool, InboxKey::new(Consumer::from_static("schema"), MessageId::from_text("tests", &format!("{level:?}")).unwrap()), async |_| {
                inside.notify_one();
                go.notified().await;
                Ok::<_, Error>(())
            });
            let down = async {
                inside.notified().await;
                let transaction = migrating.begin_with_config(Some(level), None).await.unwrap();
                let (down, ()) = tokio::join!(Migrator::down(&transaction, None), async {
                    if level == IsolationLevel::ReadCommitted {
                        db.lock_waiters(1).await;
                    }
                    go.notify_one();
                });
                transaction.rollback().await.unwrap();
                down.unwrap_err().to_string()
            };
            let (delivered, refused) = tokio::join!(delivery, down);
            assert!(delivered.is_ok(), "{delivered:?}");
            let says = if level == IsolationLevel::ReadCommitted { "marker(s)" } else { "READ COMMITTED" };
            assert!(refused.contains(says), "{level:?}: {refused}");
        }
        assert_eq!(ledger.markers().await, 3);
    }

    [postgres]
    async fn nor_does_up(db: TestDb) {
        let pool = db.pool(1).await;
        let transaction = pool.begin_with_config(Some(IsolationLevel::Serializable), None).await.unwrap();
        let refused = Migrator::up(&transaction, None).await.unwrap_err().to_string();
        assert!(refused.contains("this transaction is SERIALIZABLE") && refused.contains("Nothing was changed"), "{refused}");
        transaction.rollback().await.unwrap();
    }
}
