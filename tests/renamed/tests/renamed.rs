//! `crate = path` is all that an expansion needs to find its runtime.
#![allow(clippy::unwrap_used, reason = "a failed set-up stops the test")]

use database::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, MockDatabase, MockExecResult};

fn written() -> MockExecResult {
    MockExecResult { last_insert_id: 0, rows_affected: 1 }
}

/// Answers the marker and the handler's statement.
fn connection() -> DatabaseConnection {
    MockDatabase::new(DbBackend::Postgres).append_exec_results([written(), written()]).into_connection()
}

/// The statements in between BEGIN and COMMIT.
fn statements(db: DatabaseConnection) -> usize {
    let [transaction] = db.into_transaction_log().try_into().unwrap();
    let statements: Vec<_> = transaction.statements().iter().map(|statement| statement.sql.as_str()).collect();
    assert_eq!((statements[0], statements[statements.len() - 1]), ("BEGIN", "COMMIT"), "{statements:?}");
    statements.len() - 2
}

mod renamed {
    use inbox::{idempotent, Message, MessageId};

    use super::{ConnectionTrait, DatabaseConnection, DbErr};

    #[derive(Clone, Message)]
    #[message(crate = inbox)]
    pub(super) struct Credit(#[message(id)] pub(super) MessageId);

    #[derive(Message)]
    #[message(crate = ::inbox)]
    pub(super) struct Order {
        #[message(id, domain = "orders")]
        pub(super) number: String,
    }

    #[idempotent(consumer = "credit", crate = inbox)]
    pub(super) async fn credit(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
        db.execute_unprepared(&msg.0.to_string()).await.map(drop)
    }

    #[idempotent(consumer = "order", isolation = "serializable", crate = ::inbox)]
    pub(super) async fn order(db: &DatabaseConnection, msg: &Order) -> Result<(), DbErr> {
        db.execute_unprepared(&msg.number).await.map(drop)
    }

    #[idempotent(consumer = "replayed", key = msg.0, retries = 1, crate = inbox)]
    pub(super) async fn replayed(db: &DatabaseConnection, msg: Credit) -> Result<(), DbErr> {
        db.execute_unprepared(&msg.0.to_string()).await.map(drop)
    }
}

#[tokio::test]
async fn a_renamed_dependency() {
    use renamed::{credit, order, replayed, Credit, Order};

    let msg = Credit(inbox::MessageId::from_text("orders", "1").unwrap());
    for handler in 0..3 {
        let db = connection();
        match handler {
            0 => credit(&db, &msg).await.unwrap(),
            1 => order(&db, &Order { number: "1".to_owned() }).await.unwrap(),
            _ => replayed(&db, msg.clone()).await.unwrap(),
        }
        assert_eq!(statements(db), 2);
    }
}

mod facade {
    use inbox_renamed_tests::deduplication::{idempotent, Message};
    use inbox_renamed_tests::{deduplication, once};

    use super::{ConnectionTrait, DatabaseConnection, DbErr};

    #[derive(Message)]
    #[message(crate = inbox_renamed_tests::deduplication)]
    pub(super) struct Credit(#[message(id)] pub(super) deduplication::MessageId);

    #[idempotent(consumer = "credit", crate = deduplication)]
    pub(super) async fn credit(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
        db.execute_unprepared(&msg.0.to_string()).await.map(drop)
    }

    once!(
        "debit",
        pub(super) async fn debit(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
            db.execute_unprepared(&msg.0.to_string()).await.map(drop)
        }
    );
}

#[tokio::test]
async fn a_facade() {
    let msg = facade::Credit(inbox::MessageId::from_text("orders", "1").unwrap());
    let credited = connection();
    facade::credit(&credited, &msg).await.unwrap();
    assert_eq!(statements(credited), 2);

    let debited = connection();
    facade::debit(&debited, &msg).await.unwrap();
    assert_eq!(statements(debited), 2);
}
