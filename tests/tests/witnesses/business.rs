//! The business tables' constraints, broken by the body.

use inbox_core::is_transient;
use inbox_tests::{
    TestDb, backends,
    ledger::{self, Violation},
};
use sea_orm::{ConnectionTrait as _, SqlErr, Statement};

use super::support::{Bench, Delivered, Failed};

/// The database's own error, as the body got it: not acknowledged, and final as far as the guard knows.
pub(crate) fn failed(outcome: Delivered<()>) -> sea_orm::DbErr {
    match outcome {
        Err(Failed::Db(error)) => {
            assert!(!is_transient(&error), "{error}");
            error
        }
        other => panic!("not the body's own error: {other:?}"),
    }
}

backends! {
    async fn each_kind_of_violation(db: TestDb) {
        let bench = Bench::new(&db).await;
        for violation in Violation::ALL {
            let outcome = bench
                .deliver(async |tx| {
                    ledger::credit(tx, 1, 1).await?;
                    Ok(violation.provoke(tx).await?)
                })
                .await;
            let error = failed(outcome);
            if violation == Violation::Unique {
                assert!(matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))), "{error}");
            }
            bench.nothing_stored().await;
            assert_eq!(db.count("entry").await, 0, "{violation:?}");
        }
        bench.unharmed().await;
    }

    /// MySQL writes the value in front of the key's name, as it is: who chooses the value can write a name there.
    async fn a_value_that_imitates_the_index(db: TestDb) {
        let bench = Bench::new(&db).await;
        for value in [
            "x' for key 'idx-inbox_message-message_consumer",
            "x' for key 'inbox_message.idx-inbox_message-message_consumer'",
            "' for key 'idx-inbox_message-message_consumer' for key 2",
            "inbox_message.message_id, inbox_message.consumer",
            "idx-inbox_message-message_consumer",
        ] {
            let outcome = bench
                .deliver(async |tx| {
                    ledger::record(tx, value, 1).await?;
                    ledger::record(tx, value, 2).await?;
                    Ok(())
                })
                .await;
            failed(outcome);
            bench.nothing_stored().await;
        }
        bench.unharmed().await;
    }

    /// A consumer's name may hold quotes, and stands in MySQL's message.
    async fn a_consumer_with_quotes(db: TestDb) {
        let bench = Bench::new(&db).await;
        for (n, consumer) in ["it's", "'", "''", "`\"'", "key'idx-inbox_message-message_consumer'", "...", "%s\\'"].into_iter().enumerate() {
            let id = bench.key.message_id();
            let key = inbox_core::InboxKey::new(inbox_core::Consumer::new(consumer).unwrap(), id);
            for delivery in 1..=2 {
                let outcome = inbox_core::process(&bench.pool, key.clone(), async |tx| Ok::<_, Failed>(ledger::credit(tx, 1, 1).await?)).await;
                assert_eq!(outcome.unwrap().is_duplicate(), delivery == 2, "{consumer}");
            }
            assert_eq!(bench.ledger.balance(1).await, i64::try_from(n).unwrap() + 1);
        }
    }

    /// The same violation as the marker's, of the same index, by the body: only the first witness tells them apart.
    async fn the_body_writes_into_the_inbox(db: TestDb) {
        let bench = Bench::new(&db).await;
        let clock = db.backend().pick("statement_timestamp()", "UTC_TIMESTAMP(6)", "'2030-01-01T00:00:00.000+00:00'");
        let (one, two) = db.backend().pick(("$1", "$2"), ("?", "?"), ("?", "?"));
        let insert = format!("INSERT INTO inbox_message (message_id, consumer, received_at, processed_at, attempts) VALUES ({one}, {two}, {clock}, {clock}, 0)");
        let own_marker = Statement::from_sql_and_values(
            db.backend().db_backend(),
            insert,
            [(*bench.key.message_id().as_uuid()).into(), bench.key.consumer().as_str().into()],
        );
        let outcome = bench
            .deliver(async |tx| {
                ledger::credit(tx, 1, 1).await?;
                tx.execute_raw(own_marker.clone()).await?;
                Ok(())
            })
            .await;
        assert!(matches!(failed(outcome).sql_err(), Some(SqlErr::UniqueConstraintViolation(_))));
        bench.unharmed().await;
    }
}
