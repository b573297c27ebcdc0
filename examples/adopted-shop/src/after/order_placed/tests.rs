//! Without a database: what is sent, in which order.

use sea_orm::{DatabaseConnection, DbBackend, MockDatabase, MockExecResult};

use super::{OrderPlaced, ShopError, order_placed};

fn order() -> OrderPlaced {
    OrderPlaced { id: "o-1".into(), sku: "tea".into(), quantity: 2 }
}

fn rows(rows_affected: u64) -> MockExecResult {
    MockExecResult { last_insert_id: 0, rows_affected }
}

/// The first three words of each statement.
fn sent(db: DatabaseConnection) -> Vec<String> {
    let log = db.into_transaction_log();
    let statements = log.iter().flat_map(sea_orm::Transaction::statements);
    statements.map(|statement| statement.sql.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect()
}

#[tokio::test]
async fn takes_from_the_stock_and_plans_a_shipment() {
    let db = MockDatabase::new(DbBackend::Postgres)
        .append_exec_results([rows(1), rows(1), rows(1)]) // the first one is the marker's
        .into_connection();
    order_placed(&db, &order()).await.unwrap();
    let expected = ["BEGIN", "INSERT INTO inbox_message", "UPDATE \"stock\" SET", "INSERT INTO \"shipment\"", "COMMIT"];
    assert_eq!(sent(db), expected);
}

#[tokio::test]
async fn without_enough_in_stock_nothing_is_stored() {
    let db = MockDatabase::new(DbBackend::Postgres)
        .append_exec_results([rows(1), rows(0)]) // the marker, and nothing taken
        .into_connection();
    let error = order_placed(&db, &order()).await.unwrap_err();
    assert!(matches!(error, ShopError::OutOfStock(_)), "{error}");
    assert_eq!(sent(db).last().unwrap(), "ROLLBACK");
}
