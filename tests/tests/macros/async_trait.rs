//! `#[async_trait]` expands before an attribute of a method can. The ways out that the error names both work; the error
//! itself is a UI test (`ui/fail/async_trait_*.rs`).

use async_trait::async_trait;
use inbox_core::{Consumer, InboxKey, Message, idempotent, process};
use sea_orm::{DatabaseConnection, DbErr};

use super::{Credit, database, effects, pay};

#[async_trait]
trait Handles: Sync {
    async fn handle(&self, db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr>;
}

struct CallsProcess(i64);

#[async_trait]
impl Handles for CallsProcess {
    async fn handle(&self, db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
        let id = msg.message_id().map_err(inbox_core::Error::from)?;
        let key = InboxKey::new(Consumer::from_static("calls-process"), id);
        process(db, key, async |db| pay(db, msg.amount + self.0).await).await.map(drop)
    }
}

struct Delegates(i64);

impl Delegates {
    #[idempotent(consumer = "delegates")]
    async fn handle_once(&self, db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
        pay(db, msg.amount + self.0).await
    }
}

#[async_trait]
impl Handles for Delegates {
    async fn handle(&self, db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
        self.handle_once(db, msg).await
    }
}

#[tokio::test]
async fn the_ways_out_work() {
    let db = database().await;
    let handlers: [Box<dyn Handles>; 2] = [Box::new(CallsProcess(1)), Box::new(Delegates(2))];
    for handler in handlers.iter().chain(&handlers) {
        handler.handle(&db, &Credit::new("1")).await.unwrap();
    }
    assert_eq!(effects(&db).await, [101, 102]);
}
