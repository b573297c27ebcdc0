//! Who consumes: every consumer of a message runs, once.

use inbox_core::{Consumer, InboxKey, MessageId, Options, Outcome, idempotent};
use inbox_tests::{Ledger, TestDb, backends, ledger, race::Count};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr};
use uuid::Uuid;

use crate::delivery::{assert_effects, deliver, duplicate, processed};

#[idempotent(consumer = "credit", key = *message)]
async fn credit(db: &DatabaseConnection, message: &Uuid) -> Result<Outcome<()>, DbErr> {
    ledger::credit(db, 1, 100).await?;
    Ok(Outcome::Processed(()))
}

#[idempotent(consumer = "Credit", key = *message)]
async fn shouted(db: &DatabaseConnection, message: &Uuid) -> Result<Outcome<()>, DbErr> {
    ledger::credit(db, 1, 10).await?;
    Ok(Outcome::Processed(()))
}

#[idempotent(consumer = "email", key = *message)]
async fn email(db: &DatabaseConnection, message: &Uuid) -> Result<Outcome<()>, DbErr> {
    ledger::credit(db, 1, 1).await?;
    Ok(Outcome::Processed(()))
}

/// Delivers one fresh message to each of these consumers, twice.
async fn all_run_once(db: &TestDb, pool: &DatabaseConnection, consumers: &[Consumer]) {
    let ledger = Ledger::new(db).await;
    let message = MessageId::from(Uuid::new_v4());
    for repeated in [false, true] {
        for (n, consumer) in consumers.iter().enumerate() {
            let key = InboxKey::new(consumer.clone(), message);
            let answer = deliver(pool, key, Options::new(), &Count::new(), &format!("{n}")).await;
            assert!(if repeated { duplicate(&answer) } else { processed(&answer) }, "{consumer}: {answer:?}");
        }
    }
    assert_effects(&ledger, i64::try_from(consumers.len()).unwrap()).await;
}

backends! {
    /// Case 92: dedup on the message alone lets the first consumer suppress the others.
    async fn each_handler_of_one_message_runs_once(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(2).await;
        let message = Uuid::new_v4();
        for expected in [Outcome::Processed(()), Outcome::Duplicate, Outcome::Duplicate] {
            assert_eq!(credit(&pool, &message).await.unwrap(), expected);
            assert_eq!(shouted(&pool, &message).await.unwrap(), expected);
            assert_eq!(email(&pool, &message).await.unwrap(), expected);
        }
        assert_eq!(ledger.balance(1).await, 111);
        assert_eq!(ledger.markers_of(message).await, 3);
    }

    /// Names that a collation would take for one, two services on one table among them (case 94).
    async fn names_are_compared_byte_by_byte(db: TestDb) {
        let names = [
            "credit", "Credit", "CREDIT", "billing.credit", "shop.credit", "billing_credit", "billing-credit", "credit.", "1e5", "100000",
            "01", "1", "credit%", "credit_", "'credit'", "\"credit\"", "credit\\", "NULL", "null", "~", "!",
        ];
        let consumers = names.map(|name| Consumer::new(name).unwrap());
        all_run_once(&db, &db.pool(2).await, &consumers).await;
        // Each row has the very name, not a shortened or folded one.
        for name in ["credit", "Credit", "credit."] {
            let binary = db.backend().pick("", "BINARY ", "");
            assert_eq!(db.count(&format!("inbox_message WHERE {binary}consumer = '{name}'")).await, 1, "{name}");
        }
    }

    /// The longest fits whole, and two of them may differ in the last character.
    async fn the_longest_names(db: TestDb) {
        let longest = |last: char| Consumer::new(format!("{}{last}", "c".repeat(199))).unwrap();
        assert!(Consumer::new("c".repeat(201)).is_err());
        all_run_once(&db, &db.pool(2).await, &[longest('x'), longest('y'), Consumer::new("c".repeat(199)).unwrap()]).await;
        assert_eq!(db.count("inbox_message WHERE LENGTH(consumer) = 200").await, 2);
    }

    /// MySQL without strict mode would cut a long name, and take two consumers for one.
    [mysql]
    async fn the_longest_names_without_strict_mode(db: TestDb) {
        let pool = db.pool(1).await;
        pool.execute_unprepared("SET SESSION sql_mode = ''").await.unwrap();
        let longest = |last: char| Consumer::new(format!("{}{last}", "c".repeat(199))).unwrap();
        all_run_once(&db, &pool, &[longest('x'), longest('y'), Consumer::new("c".repeat(199)).unwrap()]).await;
    }
}

#[test]
fn names_that_are_none() {
    for name in
        ["", " ", "two words", " credit", "credit ", "credit\t", "credit\n", "cr\0edit", "crédit", "😀", "\u{200b}", &"c".repeat(201)]
    {
        let error = Consumer::new(name).unwrap_err().to_string();
        assert!(error.ends_with("use 1 to 200 visible ASCII characters without spaces, such as \"billing.credit\""), "{error}");
        assert!(error.len() < 600, "what is too long is not repeated in full: {error}");
    }
    assert_eq!(Consumer::new("c".repeat(200)).unwrap().as_str().len(), 200);
    assert!(std::panic::catch_unwind(|| Consumer::from_static("two words")).is_err());
}
