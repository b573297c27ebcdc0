//! An annotated handler's future is hardly larger than its body's, or deep call trees would overflow the stack.

use std::hint::black_box;
use std::mem::size_of_val;
use std::sync::atomic::{AtomicUsize, Ordering};

use inbox_core::{InboxTransaction, idempotent};
use sea_orm::{DatabaseConnection, DbErr};

use super::{Credit, database, pay};

static BODY: AtomicUsize = AtomicUsize::new(0);

async fn body(db: &InboxTransaction, msg: &Credit) -> Result<(), DbErr> {
    let held = black_box([0_u8; 4096]);
    pay(db, msg.amount).await?;
    black_box(held);
    Ok(())
}

async fn measured(db: &InboxTransaction, msg: &Credit) -> Result<(), DbErr> {
    let future = body(db, msg);
    BODY.store(size_of_val(&future), Ordering::Relaxed);
    Box::pin(future).await
}

#[idempotent(consumer = "measured")]
async fn measure(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    measured(db, msg).await
}

#[idempotent(consumer = "plain")]
async fn plain(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    body(db, msg).await
}

#[idempotent(consumer = "configured", fast_path, isolation = "serializable")]
async fn configured(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    body(db, msg).await
}

#[idempotent(consumer = "replayed", retries = 3)]
async fn replayed(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    body(db, msg).await
}

#[tokio::test]
async fn futures_are_at_most_a_kibibyte_larger_than_the_body() {
    let db = database().await;
    let msg = Credit::new("1");
    measure(&db, &msg).await.unwrap();
    let body = BODY.load(Ordering::Relaxed);
    assert!(body > 4096, "{body}");
    for (name, size) in [
        ("plain", size_of_val(&plain(&db, &msg))),
        ("configured", size_of_val(&configured(&db, &msg))),
        ("replayed", size_of_val(&replayed(&db, &msg))),
    ] {
        assert!(size <= body + 1024, "{name}: {size} for a body of {body}");
    }
}
