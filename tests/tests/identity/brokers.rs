//! Brokers' habits, and which of the fields that they offer make an identity.

use std::collections::VecDeque;

use inbox_core::{InvalidMessageId, Message, MessageId, Outcome, idempotent};
use inbox_tests::{Ledger, TestDb, backends, ledger, race::Replicas};
use sea_orm::{DatabaseConnection, DbErr};

/// A delivery as a broker hands it over. The last three change from one delivery to the next.
#[derive(Clone, Debug)]
struct Delivery {
    message_id: MessageId,
    amount: i64,
    #[allow(dead_code, reason = "never part of an identity")]
    redelivered: bool,
    #[allow(dead_code, reason = "never part of an identity")]
    tag: u64,
}

impl Message for Delivery {
    fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
        Ok(self.message_id)
    }
}

#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, delivery: &Delivery) -> Result<Outcome<()>, DbErr> {
    ledger::credit(db, 1, delivery.amount).await?;
    Ok(Outcome::Processed(()))
}

fn delivery(message_id: Result<MessageId, InvalidMessageId>, tag: u64) -> Delivery {
    Delivery { message_id: message_id.unwrap(), amount: 1, redelivered: false, tag }
}

/// Takes from the front; `Ok` is acknowledged, `Err` goes to the back.
async fn drain(pool: &DatabaseConnection, mut queue: VecDeque<Delivery>) -> (usize, usize) {
    let (mut processed, mut duplicates) = (0, 0);
    let mut patience = queue.len() * 20;
    while let Some(next) = queue.pop_front() {
        match credit(pool, &next).await {
            Ok(Outcome::Processed(())) => processed += 1,
            Ok(Outcome::Duplicate) => duplicates += 1,
            Err(error) => {
                assert!(inbox_core::is_transient(&error), "{error}");
                queue.push_back(next);
            }
        }
        patience -= 1;
        assert!(patience > 0, "the queue does not drain");
    }
    (processed, duplicates)
}

backends! {
    /// Case 97: a duplicate is a success, so a loop that acknowledges `Ok` and stops at `Err` drains its partition.
    async fn a_queue_with_repeats_drains(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let queue = (0..100).map(|n| delivery(MessageId::from_text("queue", &format!("{}", n % 70)), n)).collect();
        assert_eq!(drain(&db.pool(2).await, queue).await, (70, 30));
        assert_eq!(ledger.balance(1).await, 70);
    }

    /// Case 85: a partition moves while its old owner still works on it; the new one begins a little before where it was.
    async fn two_owners_of_one_partition(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let replicas = Replicas::new(&db, 2).await;
        let record = |offset: u64| delivery(MessageId::from_parts("kafka", &["credits", "3", &offset.to_string()]), offset);
        let answers = replicas
            .race(move |n, pool| async move {
                let (first, last) = if n == 0 { (0, 35) } else { (10, 50) };
                drain(&pool, (first..last).map(record).collect()).await
            })
            .await;
        let (processed, duplicates) = answers.iter().fold((0, 0), |sum, answer| (sum.0 + answer.0, sum.1 + answer.1));
        assert_eq!((processed, duplicates), (50, 25));
        assert_eq!(ledger.balance(1).await, 50);
    }

    /// Case 90: the broker's acknowledgement fails after our commit; the redelivery is acknowledged and does nothing.
    async fn an_acknowledgement_that_got_lost(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(2).await;
        let sent = delivery(MessageId::from_text("bus", "m1"), 1);
        assert_eq!(credit(&pool, &sent).await.unwrap(), Outcome::Processed(()));
        // Not acknowledged: the lock on the message expires, and it comes again with another tag.
        let again = Delivery { redelivered: true, tag: 2, ..sent };
        assert_eq!(credit(&pool, &again).await.unwrap(), Outcome::Duplicate);
        assert_eq!(ledger.balance(1).await, 1);
    }

    /// Cases 86, 88 and 89: receipt handles, delivery counts, consumer sequences and "redelivered" flags are no identity; the
    /// publisher's id is. A publisher's retry comes with `redelivered = false`.
    async fn what_changes_between_deliveries_is_no_identity(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(2).await;
        let nats = |stream: &str, sequence: u64| MessageId::from_parts("nats", &[stream, &sequence.to_string()]);
        for (tag, expected) in [(1, Outcome::Processed(())), (2, Outcome::Duplicate), (3, Outcome::Duplicate)] {
            for stream in ["orders", "returns"] {
                assert_eq!(credit(&pool, &delivery(nats(stream, 7), tag)).await.unwrap(), expected);
            }
            assert_eq!(credit(&pool, &delivery(MessageId::from_text("sqs", "MessageId-1"), tag)).await.unwrap(), expected);
        }
        // Topic `t-1`, partition 2 is not topic `t`, partition `1-2` (case 82).
        let joined_alike = [["t-1", "2", "9"], ["t", "1-2", "9"], ["t", "1", "2-9"], ["t1", "2", "9"], ["t", "12", "9"], ["t", "1", "29"]];
        for parts in joined_alike {
            let record = delivery(MessageId::from_parts("kafka", &parts), 1);
            assert_eq!(credit(&pool, &record).await.unwrap(), Outcome::Processed(()));
        }
        assert_eq!(ledger.balance(1).await, 9);
    }

    /// Case 83: a gateway gives each hop an event id of its own. The envelope's id makes them two messages, the inner one one.
    async fn an_id_that_is_minted_anew_on_each_hop(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(2).await;
        for envelope in ["e1", "e2"] {
            let outer = delivery(MessageId::cloud_event("/gateway", envelope), 1);
            assert_eq!(credit(&pool, &outer).await.unwrap(), Outcome::Processed(()));
        }
        let inner = |tag| delivery(MessageId::from_text("orders", "order-17"), tag);
        assert_eq!(credit(&pool, &inner(1)).await.unwrap(), Outcome::Processed(()));
        assert_eq!(credit(&pool, &inner(2)).await.unwrap(), Outcome::Duplicate);
        assert_eq!(ledger.balance(1).await, 3);
    }

    /// Case 91: two commands under one id are one message, whatever they say: an id is never a business key.
    async fn another_payload_under_the_same_id(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(2).await;
        let first = delivery(MessageId::from_text("orders", "customer-7"), 1);
        assert_eq!(credit(&pool, &first).await.unwrap(), Outcome::Processed(()));
        let second = Delivery { amount: 100, ..first };
        assert_eq!(credit(&pool, &second).await.unwrap(), Outcome::Duplicate);
        assert_eq!(ledger.balance(1).await, 1);
    }
}
