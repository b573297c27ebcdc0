//! One delivery and one effect, for the suites about races, faults and repetition.
#![allow(dead_code, reason = "each suite takes what it needs")]

use inbox_core::{Consumer, InboxKey, MessageId, Options, Outcome, process_with};
use inbox_tests::{Backend, Ledger, ledger, race::Count};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};
use uuid::Uuid;

pub(crate) const CREDIT: Consumer = Consumer::from_static("credit");

/// What a delivery came to.
pub(crate) type Answer = Result<Outcome<()>, DbErr>;

/// A message that nobody has seen yet.
pub(crate) fn fresh() -> InboxKey {
    InboxKey::new(CREDIT, MessageId::from(Uuid::new_v4()))
}

/// The effect: account 1 gets 1 more, and `biz` a row of this name. Two effects of one message cannot hide.
pub(crate) async fn effect(db: &impl ConnectionTrait, row: &str) -> Result<(), DbErr> {
    ledger::credit(db, 1, 1).await?;
    ledger::record(db, row, 1).await
}

/// One delivery whose body has this effect and counts that it ran.
pub(crate) async fn deliver(db: &DatabaseConnection, key: InboxKey, options: Options, bodies: &Count, row: &str) -> Answer {
    process_with(db, key, &options, async |tx| {
        bodies.hit();
        effect(tx, row).await
    })
    .await
}

pub(crate) fn processed(answer: &Answer) -> bool {
    matches!(answer, Ok(Outcome::Processed(())))
}

pub(crate) fn duplicate(answer: &Answer) -> bool {
    matches!(answer, Ok(Outcome::Duplicate))
}

/// Neither acknowledged nor final.
pub(crate) fn transient(answer: &Answer) -> bool {
    answer.as_ref().is_err_and(|error| inbox_core::is_transient(error))
}

/// Everything that so many effective deliveries leave behind, as another replica sees it.
pub(crate) async fn assert_effects(ledger: &Ledger, effects: i64) {
    let seen = (ledger.markers().await, ledger.records().await, ledger.balance(1).await);
    assert_eq!(seen, (effects, effects, effects), "markers, business rows, balance");
}

/// The pool is as good as new: the server holds no transaction of this database, and 20 more messages take effect.
pub(crate) async fn assert_clean(ledger: &Ledger, pool: &DatabaseConnection) {
    // First without a transaction: in one that the pool does not know of this vanishes, and a delivery's BEGIN would mend it.
    let row = format!("clean {}", Uuid::new_v4());
    ledger::record(pool, &row, 1).await.expect("a write of the next borrower");
    assert_eq!(ledger.records_of(&row).await, 1, "the next borrower's write is not visible to others");
    ledger.db().exec(&format!("DELETE FROM biz WHERE k = '{row}'")).await;
    let before = ledger.markers().await;
    for n in 0..20 {
        let row = format!("clean {n} {}", Uuid::new_v4());
        let answer = deliver(pool, fresh(), Options::new(), &Count::new(), &row).await;
        assert!(processed(&answer), "message {n} after the fault: {answer:?}");
        assert_eq!(ledger.records_of(&row).await, 1, "message {n} after the fault is not visible to others");
    }
    assert_eq!(ledger.markers().await, before + 20);
    ledger.db().no_open_transaction().await;
}

/// Waits until every delivery that wrote something has come to its end, whoever waits for it.
pub(crate) async fn assert_settled(ledger: &Ledger) {
    if ledger.db().backend() == Backend::MySql {
        // Its view of transactions is a tenth of a second old. A locking read waits for every marker that is not committed.
        ledger.db().scalar_i64("SELECT COUNT(*) FROM inbox_message FOR UPDATE").await;
    } else {
        ledger.db().no_open_transaction().await;
    }
}
