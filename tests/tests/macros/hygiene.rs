//! Expansions depend on nothing that the user has or has not in scope.

use sea_orm::DatabaseConnection;

use super::{Credit, database, effects};

/// Not even the prelude.
mod nothing_imported {
    #![no_implicit_prelude]

    #[derive(::inbox_core::Message, ::core::clone::Clone)]
    pub(super) struct Message {
        #[message(id)]
        pub(super) id: ::inbox_core::MessageId,
    }

    #[derive(::inbox_core::Message)]
    pub(super) struct Text(#[message(id, domain = "hygiene")] pub(super) ::std::string::String);

    #[::inbox_core::idempotent(consumer = "plain")]
    pub(super) async fn plain(db: &::sea_orm::DatabaseConnection, msg: &Message) -> ::core::result::Result<(), ::sea_orm::DbErr> {
        super::super::pay(db, 1).await
    }

    #[::inbox_core::idempotent(consumer = "every-argument", key = msg.id, fast_path, retries = 1, isolation = "serializable", crate = ::inbox_core)]
    pub(super) async fn every_argument(db: &::sea_orm::DatabaseConnection, msg: Message) -> ::core::result::Result<(), ::sea_orm::DbErr> {
        super::super::pay(db, 2).await
    }

    #[::inbox_core::idempotent(consumer = "text")]
    #[allow(clippy::used_underscore_binding, reason = "the name is what counts")]
    pub(super) async fn text(_db: &::sea_orm::DatabaseConnection, _msg: &Text) -> ::core::result::Result<(), ::sea_orm::DbErr> {
        super::super::pay(_db, 3).await
    }
}

#[tokio::test]
async fn when_user_import_nothing_macro_still_works() {
    use nothing_imported::{Message, Text, every_argument, plain, text};

    let db = database().await;
    let msg = Message { id: Credit::new("1").id };
    for _ in 0..2 {
        plain(&db, &msg).await.unwrap();
        every_argument(&db, msg.clone()).await.unwrap();
        text(&db, &Text("1".into())).await.unwrap();
    }
    assert_eq!(effects(&db).await, [1, 2, 3]);
}

/// The names that the expansion is about, all with another meaning.
#[allow(dead_code, unused_macros, reason = "they are there to be in the way")]
mod everything_shadowed {
    use ::inbox_core::{Message as DeriveMessage, MessageId, idempotent};
    use sea_orm::{DatabaseConnection, DbErr};

    pub(super) type Result<T> = ::core::result::Result<T, DbErr>;
    pub(super) type Swapped<E, T> = ::core::result::Result<T, E>;

    mod core {}
    mod std {}
    mod inbox_core {}
    mod __private {}
    struct Ok;
    struct Err;
    struct Some;
    struct None;
    struct Option;
    struct Consumer;
    struct Options;
    struct MessageKey;
    struct IsolationLevel;
    struct InvalidMessageId;
    trait Clone {}
    trait Message {}
    fn process() {}
    fn process_with() {}
    fn process_replayed() {}
    fn message_id() {}
    fn field_id() {}
    fn text_id() {}
    fn unwrap() {}
    macro_rules! unimplemented {
        () => {};
    }

    #[derive(DeriveMessage)]
    pub(super) struct Event {
        #[message(id)]
        pub(super) id: MessageId,
    }

    impl ::core::clone::Clone for Event {
        fn clone(&self) -> Self {
            Self { id: self.id }
        }
    }

    impl Event {
        /// An inherent method of the trait's name, which a method call would find first.
        #[allow(clippy::unused_self, reason = "the name is what counts")]
        fn message_id(&self) -> bool {
            false
        }

        #[allow(clippy::unused_self, clippy::should_implement_trait, reason = "the name is what counts")]
        fn clone(&self) -> bool {
            false
        }
    }

    #[idempotent(consumer = "aliased")]
    pub(super) async fn aliased(db: &DatabaseConnection, msg: &Event) -> Result<()> {
        super::super::pay(db, i64::from(!msg.message_id())).await
    }

    #[idempotent(consumer = "swapped", key = msg.id, fast_path, retries = 1, isolation = "read_committed")]
    pub(super) async fn swapped(db: &DatabaseConnection, msg: Event) -> Swapped<DbErr, ()> {
        super::super::pay(db, 2 - i64::from(msg.clone())).await
    }
}

#[tokio::test]
async fn when_user_alias_result_macro_still_works() {
    use everything_shadowed::{Event, aliased, swapped};

    let db = database().await;
    for _ in 0..2 {
        aliased(&db, &Event { id: Credit::new("1").id }).await.unwrap();
        swapped(&db, Event { id: Credit::new("1").id }).await.unwrap();
    }
    assert_eq!(effects(&db).await, [1, 2]);
}

/// A project's own macro writes the handlers: names come from its caller, from itself, or from both.
mod generated {
    use inbox_core::{Message, MessageId, idempotent};
    use sea_orm::{DatabaseConnection, DbErr};

    use super::super::pay;

    macro_rules! handlers {
        ($event:ident by $id:ident: $id_type:ty, $consumer:literal, $level:literal, $retries:literal,
         ($db:ident: $connection:ty, $msg:ident: $message:ty) -> $result:ty $body:block, $key:expr, $amount:expr) => {
            #[derive(Clone, Message)]
            pub(super) struct $event {
                #[message(id)]
                pub(super) $id: $id_type,
            }

            #[idempotent(consumer = $consumer)]
            pub(super) async fn callers($db: $connection, $msg: $message) -> $result $body

            #[idempotent(consumer = "own", isolation = $level)]
            pub(super) async fn own(db: $connection, msg: $message) -> $result {
                let _ = msg;
                pay(db, $amount).await
            }

            #[idempotent(consumer = "mixed", key = $key, retries = $retries)]
            #[allow(clippy::used_underscore_binding, reason = "the name is what counts")]
            pub(super) async fn mixed(_db: $connection, $msg: $message, mut amount: i64) -> $result {
                amount += $amount;
                pay(_db, amount).await
            }

            #[idempotent(consumer = "mixed-too", crate = $crate::hygiene::generated::facade::inbox)]
            pub(super) async fn mixed_too($db: $connection, _msg: $event) -> $result {
                pay($db, 4).await
            }
        };
    }

    pub(crate) mod facade {
        pub(crate) use inbox_core as inbox;
    }

    handlers! {
        Event by id: MessageId, "callers", "serializable", 2,
        (database: &DatabaseConnection, event: &Event) -> Result<(), DbErr> {
            let _ = event;
            pay(database, 1).await
        },
        event.id, 2
    }
}

#[tokio::test]
async fn when_a_macro_writes_the_handler_macro_still_works() {
    use generated::{Event, callers, mixed, mixed_too, own};

    async fn deliver(db: &DatabaseConnection, event: &Event) {
        callers(db, event).await.unwrap();
        own(db, event).await.unwrap();
        mixed(db, event, 1).await.unwrap();
        mixed_too(db, event.clone()).await.unwrap();
    }

    let db = database().await;
    let event = Event { id: Credit::new("1").id };
    deliver(&db, &event).await;
    deliver(&db, &event).await;
    assert_eq!(effects(&db).await, [1, 2, 3, 4]);
}
