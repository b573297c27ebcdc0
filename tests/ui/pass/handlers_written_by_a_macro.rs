//! Fragments of a `macro_rules!` arrive in invisible groups, and names keep whose they are: `db` is the macro's, `$msg` its caller's.

use inbox_core::{Message, MessageId, idempotent};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};

#[derive(Clone, Message)]
struct Credit(#[message(id)] MessageId);

macro_rules! handler {
    ($name:ident, $consumer:literal, $msg:ident: $message:ty, $result:ty, $level:literal, $body:expr) => {
        #[idempotent(consumer = $consumer, isolation = $level, retries = 1)]
        async fn $name(db: &DatabaseConnection, $msg: $message) -> $result {
            db.execute_unprepared($body).await.map(drop)
        }
    };
}

macro_rules! body {
    ($signature:item, $body:block) => {
        $signature
        #[idempotent(consumer = "block", key = MessageId::from_text("orders", "1"))]
        async fn block(_db: &DatabaseConnection) -> Result<(), DbErr> $body
    };
}

handler!(by_value, "credit", msg: Credit, Result<(), DbErr>, "serializable", { drop(msg); "" });
handler!(by_reference, "credit", msg: &Credit, Result<(), DbErr>, "serializable", { drop(msg.clone()); "" });
body!(const _: () = ();, { Ok(()) });

fn main() {}
