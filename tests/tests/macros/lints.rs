//! A user's strict lints never fire inside an expansion: `.ci/run` checks this file with clippy, `-D warnings`.
#![deny(
    warnings,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    unused,
    unused_qualifications,
    unused_results,
    single_use_lifetimes,
    unused_lifetimes,
    elided_lifetimes_in_paths,
    let_underscore_drop,
    trivial_casts,
    trivial_numeric_casts,
    unreachable_pub,
    missing_docs,
    missing_debug_implementations,
    missing_copy_implementations,
    unnameable_types,
    clippy::absolute_paths,
    clippy::allow_attributes_without_reason,
    clippy::as_conversions,
    clippy::clone_on_ref_ptr,
    clippy::else_if_without_else,
    clippy::exhaustive_structs,
    clippy::expect_used,
    clippy::if_then_some_else_none,
    clippy::implicit_return,
    clippy::let_underscore_untyped,
    clippy::multiple_unsafe_ops_per_block,
    clippy::non_ascii_literal,
    clippy::panic,
    clippy::pattern_type_mismatch,
    clippy::question_mark_used,
    clippy::self_named_module_files,
    clippy::semicolon_inside_block,
    clippy::str_to_string,
    clippy::unimplemented,
    clippy::unneeded_field_pattern,
    clippy::unreachable,
    clippy::unseparated_literal_suffix,
    clippy::unwrap_used,
    clippy::used_underscore_items
)]
#![allow(
    clippy::implicit_return,
    clippy::question_mark_used,
    clippy::redundant_pub_crate,
    reason = "about this file, not about expansions"
)]
// Without `clippy::shadow_*`: that the transaction shadows the connection is the point, and clippy is right to see it.

use core::fmt::Debug;

use inbox_core::{Message, MessageId, Outcome, idempotent};
use sea_orm::{DatabaseConnection, DbErr};

use super::pay;

/// Named.
#[derive(Clone, Debug, Message)]
pub(crate) struct Named<T: Debug> {
    /// The id.
    #[message(id)]
    pub(crate) id: MessageId,
    /// The rest.
    pub(crate) rest: T,
}

/// By position.
#[derive(Debug, Message)]
pub(crate) struct Positional(#[message(id, domain = "lints")] pub(crate) String);

/// One line, which the lints about braces look at.
#[rustfmt::skip]
#[idempotent(consumer = "one-line")]
pub(crate) async fn one_line(db: &DatabaseConnection, msg: &Named<i64>) -> Result<(), DbErr> { pay(db, msg.rest).await }

/// A body that starts with items.
#[idempotent(consumer = "items", fast_path)]
pub(crate) async fn items_first(db: &DatabaseConnection, msg: &Positional) -> Result<Outcome<usize>, DbErr> {
    const ONE: i64 = 1;
    pay(db, ONE).await?;
    Ok(Outcome::Processed(msg.0.len()))
}

/// Nothing is used.
#[idempotent(consumer = "unused")]
pub(crate) async fn unused(_db: &DatabaseConnection, _msg: &Positional) -> Result<(), DbErr> {
    Ok(())
}

/// Nor here, and what is taken by value is cloned.
#[idempotent(consumer = "unused-replayed", retries = 3, isolation = "repeatable_read")]
pub(crate) async fn unused_replayed(_db: &DatabaseConnection, msg: Named<i64>, _amount: i64) -> Result<(), DbErr> {
    Ok(())
}

/// What is taken by value, and changed.
#[idempotent(consumer = "by-value", key = msg.id)]
pub(crate) async fn by_value(db: &DatabaseConnection, msg: Named<i64>, mut amount: i64) -> Result<(), DbErr> {
    amount += msg.rest;
    pay(db, amount).await
}

/// And again for each try.
#[idempotent(consumer = "by-value-replayed", key = { let &Named { id, .. } = &msg; id }, retries = 3)]
pub(crate) async fn by_value_replayed(db: &DatabaseConnection, msg: Named<i64>, mut amount: i64) -> Result<(), DbErr> {
    amount += msg.rest;
    pay(db, amount).await
}

/// A body that ends in no value.
#[idempotent(consumer = "diverges")]
pub(crate) async fn diverges(db: &DatabaseConnection, msg: &Named<i64>) -> Result<(), DbErr> {
    loop {
        pay(db, msg.rest).await?;
    }
}

/// A borrowed result, and a long list of arguments that is not ours to judge.
#[idempotent(consumer = "borrowed")]
pub(crate) async fn borrowed<'msg, T: Debug + Sync>(db: &DatabaseConnection, msg: &'msg Named<T>) -> Result<Outcome<&'msg T>, DbErr> {
    pay(db, 1).await?;
    Ok(Outcome::Processed(&msg.rest))
}

/// Methods.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    amount: i64,
}

impl Service {
    /// By reference.
    #[idempotent(consumer = "shared", retries = 1)]
    pub(crate) async fn shared(&self, db: &DatabaseConnection, msg: &Named<i64>) -> Result<(), DbErr> {
        pay(db, msg.rest + self.amount).await
    }

    /// By value.
    #[idempotent(consumer = "owned")]
    pub(crate) async fn owned(mut self, db: &DatabaseConnection, msg: &Named<i64>) -> Result<Outcome<Self>, DbErr> {
        self.amount += msg.rest;
        pay(db, self.amount).await?;
        Ok(Outcome::Processed(self))
    }
}

#[tokio::test]
async fn strict_lints_are_silent() {
    let db = super::database().await;
    let named = Named { id: super::Credit::new("1").id, rest: 1_i64 };
    let positional = Positional("1".to_owned());
    let results = [
        one_line(&db, &named).await,
        items_first(&db, &positional).await.map(drop),
        unused(&db, &positional).await,
        unused_replayed(&db, named.clone(), 1).await,
        by_value(&db, named.clone(), 1).await,
        by_value_replayed(&db, named.clone(), 1).await,
        borrowed(&db, &named).await.map(drop),
        Service { amount: 1 }.shared(&db, &named).await,
        Service { amount: 1 }.owned(&db, &named).await.map(drop),
    ];
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(super::effects(&db).await, [1, 1, 2, 2, 1, 2, 2]);
    drop(diverges(&db, &named));
}
