//! REINDEX CONCURRENTLY: for a while there are two of our index, and a service that starts then has to start.

use inbox_core::{Consumer, InboxKey, MessageId, process, verify};
use inbox_tests::{Ledger, TestDb, backends, ledger};

backends! {
    /// As it stands while it is at work, and as a cancelled one leaves it.
    [postgres]
    async fn a_copy_of_the_index_is_accepted_and_duplicates_stay_duplicates(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        let key = InboxKey::new(Consumer::from_static("verify"), MessageId::from_text("tests", "m").unwrap());
        db.exec("CREATE UNIQUE INDEX \"idx-inbox_message-message_consumer_ccnew\" ON inbox_message (message_id, consumer)").await;
        for valid in [true, false] {
            let set = format!("UPDATE pg_index SET indisvalid = {valid} WHERE indexrelid = '\"idx-inbox_message-message_consumer_ccnew\"'::regclass");
            db.exec(&set).await;
            verify(db.observer()).await.unwrap();
            for _ in 0..2 {
                let _ = process(&pool, key.clone(), async |tx| ledger::credit(tx, 1, 100).await).await.unwrap();
            }
            assert_eq!((ledger.balance(1).await, ledger.markers().await), (100, 1));
        }
    }

    /// The violation may name either of the two.
    [postgres]
    async fn whichever_index_finds_the_duplicate(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        // The older one is asked first.
        for sql in [
            "CREATE UNIQUE INDEX copy ON inbox_message (message_id, consumer)",
            "DROP INDEX \"idx-inbox_message-message_consumer\"",
            "CREATE UNIQUE INDEX \"idx-inbox_message-message_consumer\" ON inbox_message (message_id, consumer)",
        ] {
            db.exec(sql).await;
        }
        let key = InboxKey::new(Consumer::from_static("verify"), MessageId::from_text("tests", "m").unwrap());
        for delivery in 1..=3 {
            let outcome = process(&pool, key.clone(), async |tx| ledger::credit(tx, 1, 100).await).await.unwrap();
            assert_eq!(outcome.is_duplicate(), delivery > 1);
        }
        assert_eq!(ledger.balance(1).await, 100);
    }
}
