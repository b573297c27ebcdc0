//! The broker pushes: 204 acknowledges a message, everything else makes it come again.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use sea_orm::DatabaseConnection;

use super::order_placed::{OrderPlaced, order_placed};

pub fn router(db: DatabaseConnection) -> Router {
    Router::new().route("/orders", post(receive)).with_state(db)
}

async fn receive(State(db): State<DatabaseConnection>, Json(msg): Json<OrderPlaced>) -> StatusCode {
    match order_placed(&db, &msg).await {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(error) => {
            tracing::warn!(%error, order = msg.id, "not acknowledged");
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}
