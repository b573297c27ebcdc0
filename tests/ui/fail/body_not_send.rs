use std::rc::Rc;

use inbox_core::idempotent;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};

#[derive(inbox_core::Message)]
struct Credit {
    #[message(id)]
    id: inbox_core::MessageId,
}

#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    let held = Rc::new(msg);
    db.execute_unprepared("UPDATE account SET balance = 1").await?;
    drop(held);
    Ok(())
}

fn send(_: impl Send) {}

fn main() {
    let (db, msg) = (DatabaseConnection::default(), Credit { id: inbox_core::MessageId::from_text("orders", "1").unwrap() });
    send(credit(&db, &msg));
}
