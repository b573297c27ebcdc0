//! Both versions of the shop on one database, and what it holds.
#![allow(dead_code, clippy::unwrap_used, reason = "each test takes what it needs; a failed set-up stops it")]

use adopted_shop::{after, before};
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use inbox_tests::TestDb;
use sea_orm::DatabaseConnection;
use tower::ServiceExt as _;

/// As the old version left it: its tables, a hundred of tea, and these orders handled.
pub(crate) async fn old_shop(db: &TestDb, handled: &[&str]) -> Router {
    let old = before::start(db.pool(2).await).await.unwrap();
    db.exec("INSERT INTO stock (sku, available) VALUES ('tea', 100)").await;
    for id in handled {
        assert!(deliver(&old, id).await, "{id}");
    }
    old
}

/// Another replica of the old version.
pub(crate) fn old_replica(pool: DatabaseConnection) -> Router {
    before::http::router(pool)
}

/// A replica of the new version.
pub(crate) async fn new_replica(db: &TestDb) -> Router {
    after::start(db.pool(2).await).await.unwrap()
}

/// One delivery of an order for one tea, as the broker pushes it. Whether it was acknowledged.
pub(crate) async fn deliver(replica: &Router, id: &str) -> bool {
    let order = serde_json::json!({ "id": id, "sku": "tea", "quantity": 1 });
    let request = Request::post("/orders").header("content-type", "application/json").body(Body::from(order.to_string())).unwrap();
    let status = replica.clone().oneshot(request).await.unwrap().status();
    assert!([StatusCode::NO_CONTENT, StatusCode::INTERNAL_SERVER_ERROR].contains(&status), "{status}");
    status == StatusCode::NO_CONTENT
}

/// What was sent out, of which the stock must know.
pub(crate) async fn shipped(db: &TestDb) -> i64 {
    let shipped = db.count("shipment").await;
    assert_eq!(db.scalar_i64("SELECT available FROM stock WHERE sku = 'tea'").await, 100 - shipped);
    shipped
}
