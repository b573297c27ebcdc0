//! The row of a claim that is not done: whatever way a delivery comes, it is no duplicate.

use std::time::Duration;

use inbox_core::{
    Error, InboxKey, Options,
    entity::{ActiveModel, Entity},
    process, process_replayed, process_with, seen,
};
use inbox_tests::{Ledger, TestDb, backends, race::Count};
use sea_orm::{ActiveValue::Set, ConnectionTrait, DatabaseConnection, EntityTrait as _, TransactionTrait as _, prelude::ChronoUtc};

use crate::delivery::fresh;

/// Where a claim may stand.
#[derive(Clone, Copy, Debug)]
enum Claim {
    /// Its lease, or its retry delay, runs for so many seconds more.
    Runs(i64),
    /// It was over so many seconds ago.
    Over(i64),
    Parked,
}

backends! {
    async fn a_claim_that_runs(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let key = claimed(&ledger, Claim::Runs(90)).await;
        for (way, error) in every_way(&db.pool(2).await, &key).await {
            let Error::InProgress { until: Some(until), retry_after } = error else { panic!("{way}: {error:?}") };
            assert!(retry_after <= Duration::from_secs(90) && retry_after > Duration::from_mins(1), "{way}: {retry_after:?}");
            // This machine's clock and the database's are the same one in this test.
            let by_the_clock = (until - ChronoUtc::now()).num_seconds();
            assert!((60..=90).contains(&by_the_clock), "{way}: {until}");
            assert!(Error::InProgress { until: Some(until), retry_after }.is_transient());
        }
        nothing_changed(&ledger, &key).await;
    }

    async fn a_claim_that_is_over(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let key = claimed(&ledger, Claim::Over(90)).await;
        for (way, error) in every_way(&db.pool(2).await, &key).await {
            let Error::InProgress { until: Some(_), retry_after: Duration::ZERO } = error else { panic!("{way}: {error:?}") };
        }
        nothing_changed(&ledger, &key).await;
    }

    async fn a_claim_that_is_parked(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let key = claimed(&ledger, Claim::Parked).await;
        for (way, error) in every_way(&db.pool(2).await, &key).await {
            assert!(!error.is_transient(), "{way}: {error:?}");
            let Error::Parked { attempts: 3, last_error: Some(text) } = error else { panic!("{way}: {error:?}") };
            assert_eq!(text, "the provider said no", "{way}");
        }
        nothing_changed(&ledger, &key).await;
    }

    /// The database's clock is asked in UTC, whatever the session's zone is.
    async fn a_session_in_another_zone(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let key = claimed(&ledger, Claim::Runs(90)).await;
        let pool = db
            .pool_with(|options| {
                options
                    .max_connections(2)
                    .map_sqlx_postgres_opts(|postgres| postgres.options([("TimeZone", "Asia/Karachi")]))
                    .map_sqlx_mysql_opts(|mysql| mysql.timezone(Some("+05:00".to_owned())));
            })
            .await;
        for (way, error) in every_way(&pool, &key).await {
            let Error::InProgress { retry_after, .. } = error else { panic!("{way}: {error:?}") };
            assert!(retry_after <= Duration::from_secs(90) && retry_after > Duration::from_mins(1), "{way}: {retry_after:?}");
        }
    }

    /// Another consumer's claim, and another message's, are no business of this one.
    async fn a_claim_of_somebody_else(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        claimed(&ledger, Claim::Runs(90)).await;
        let other = claimed(&ledger, Claim::Parked).await;
        let key = InboxKey::new(inbox_core::Consumer::from_static("audit"), other.message_id());
        let bodies = Count::new();
        let answer = process(&db.pool(1).await, key, async |_| {
            bodies.hit();
            Ok::<_, Error>(())
        })
        .await;
        assert!(!answer.unwrap().is_duplicate());
        assert_eq!(bodies.get(), 1);
    }
}

/// A row such as a claim leaves behind.
async fn claimed(ledger: &Ledger, claim: Claim) -> InboxKey {
    let (db, key) = (ledger.db(), fresh());
    let row = ActiveModel {
        message_id: Set(*key.message_id().as_uuid()),
        consumer: Set(key.consumer().to_string()),
        received_at: Set(ChronoUtc::now()),
        attempts: Set(3),
        last_error: Set(matches!(claim, Claim::Parked).then(|| "the provider said no".to_owned())),
        ..Default::default()
    };
    let id = Entity::insert(row).exec(db.observer()).await.unwrap().last_insert_id;
    let seconds = match claim {
        Claim::Runs(seconds) => seconds,
        Claim::Over(seconds) => -seconds,
        Claim::Parked => return key,
    };
    let until = db.backend().pick(
        format!("statement_timestamp() + {seconds} * interval '1 second'"),
        format!("UTC_TIMESTAMP(6) + INTERVAL {seconds} SECOND"),
        format!("strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', '{seconds} seconds')"),
    );
    db.exec(&format!("UPDATE inbox_message SET claimed_until = {until} WHERE id = {id}")).await;
    key
}

/// What each way of delivering says. No body may run.
async fn every_way(pool: &DatabaseConnection, key: &InboxKey) -> Vec<(&'static str, Error)> {
    assert!(!seen(pool, key).await.unwrap());
    let mut answers = Vec::new();
    for (way, options) in [("plain", Options::new()), ("fast path", Options::new().fast_path(true))] {
        answers.push((way, process_with(pool, key.clone(), &options, never).await.unwrap_err()));
    }
    let mut made = 0;
    let replayed = process_replayed(pool, key.clone(), &Options::new(), 3, || {
        made += 1;
        never
    })
    .await;
    answers.push(("replayed", replayed.unwrap_err()));
    assert_eq!(made, 1, "waiting is the remedy, not a replay");

    let outer = process(pool, fresh(), async |tx| {
        answers.push(("nested", process(tx, key.clone(), never).await.unwrap_err()));
        // The outer delivery is alive.
        tx.execute_unprepared("UPDATE acct SET bal = bal WHERE id = 1").await.map_err(Error::Query)?;
        Ok::<_, Error>(())
    });
    assert!(!outer.await.unwrap().is_duplicate());

    let tx = pool.begin().await.unwrap();
    answers.push(("in the caller's transaction", process(&tx, key.clone(), never).await.unwrap_err()));
    tx.execute_unprepared("UPDATE acct SET bal = bal WHERE id = 1").await.unwrap();
    tx.commit().await.unwrap();
    answers
}

async fn never(_: &inbox_core::InboxTransaction) -> Result<(), Error> {
    panic!("the body ran")
}

/// A rejected delivery must not touch another's claim.
async fn nothing_changed(ledger: &Ledger, key: &InboxKey) {
    let id = *key.message_id().as_uuid();
    assert_eq!(ledger.markers_of(id).await, 1);
    assert_eq!(ledger.db().count("inbox_message WHERE processed_at IS NULL AND attempts = 3").await, 1);
    assert_eq!((ledger.records().await, ledger.balance(1).await), (0, 0));
}
