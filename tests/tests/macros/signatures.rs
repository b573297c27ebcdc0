//! Every form of a function that may be a handler.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use inbox_core::{Message, Outcome, idempotent};
use sea_orm::{DatabaseConnection, DatabaseTransaction, DbErr, TransactionTrait};

use super::{Credit, database, effects, pay};

type Handled<T = ()> = Result<T, DbErr>;

#[idempotent(consumer = "lifetimes")]
async fn lifetimes<'a, 'b: 'a>(db: &DatabaseConnection, msg: &'a Credit, names: &'b [&'b str]) -> Handled<Outcome<(&'a Credit, &'b str)>> {
    pay(db, msg.amount).await?;
    Ok(Outcome::Processed((msg, names[0])))
}

#[idempotent(consumer = "generics")]
async fn generics<M, F, const N: usize>(db: &DatabaseConnection, msg: &M, amounts: [i64; N], f: F) -> Handled
where
    M: Message + Debug + ?Sized,
    F: Fn(i64) -> i64,
{
    for amount in amounts {
        pay(db, f(amount)).await?;
    }
    Ok(())
}

#[idempotent(consumer = "impl-and-dyn")]
async fn impl_and_dyn(
    db: &impl inbox_core::Database,
    msg: &dyn Message,
    amounts: impl IntoIterator<Item = i64>,
    add: &dyn Fn(i64) -> i64,
) -> anyhow::Result<()> {
    for amount in amounts {
        pay(db, add(amount)).await?;
    }
    Ok(())
}

#[idempotent(consumer = "smart")]
async fn smart_pointers(db: Arc<DatabaseConnection>, msg: Box<Credit>) -> std::result::Result<(), DbErr> {
    pay(db, msg.amount).await
}

#[tokio::test]
async fn functions() {
    let db = database().await;
    let msg = Credit::new("1");
    for delivery in 0..2 {
        let outcome = lifetimes(&db, &msg, &["a"]).await.unwrap();
        assert_eq!(outcome.processed().map(|(msg, name)| (msg.amount, name)), (delivery == 0).then_some((100, "a")));
        generics(&db, &msg, [1, 2], |n| n + 1).await.unwrap();
        impl_and_dyn(&db, &msg, Some(4), &|n| n + 1).await.unwrap();
        smart_pointers(Arc::new(db.clone()), Box::new(msg.clone())).await.unwrap();
    }
    assert_eq!(effects(&db).await, [100, 2, 3, 5, 100]);
}

#[idempotent(consumer = "savepoint")]
async fn in_a_savepoint(db: &mut DatabaseTransaction, msg: &Credit) -> Handled {
    pay(db, msg.amount).await
}

#[tokio::test]
async fn on_a_callers_transaction() {
    let db = database().await;
    let mut transaction = db.begin().await.unwrap();
    for _ in 0..2 {
        in_a_savepoint(&mut transaction, &Credit::new("1")).await.unwrap();
    }
    transaction.commit().await.unwrap();
    assert_eq!(effects(&db).await, [100]);
}

#[derive(Clone)]
struct Service<T> {
    add: T,
}

impl<T: Into<i64> + Copy> Service<T> {
    const NAME: &'static str = "service";

    #[idempotent(consumer = "shared")]
    async fn shared(&self, db: &DatabaseConnection, msg: &Credit) -> Handled<Outcome<&T>> {
        assert_eq!(Self::NAME, "service");
        pay(db, msg.amount + self.add.into()).await?;
        Ok(Outcome::Processed(&self.add))
    }

    #[idempotent(consumer = "exclusive")]
    async fn exclusive(&mut self, db: &DatabaseConnection, msg: &Credit) -> Handled
    where
        T: std::ops::AddAssign + From<bool>,
    {
        self.add += true.into();
        pay(db, msg.amount + self.add.into()).await
    }

    #[idempotent(consumer = "owned")]
    async fn owned(mut self, db: &DatabaseConnection, msg: &Credit, add: T) -> Handled<Outcome<Self>> {
        self.add = add;
        pay(db, msg.amount + self.add.into()).await?;
        Ok(Outcome::Processed(self))
    }

    #[idempotent(consumer = "arc")]
    async fn arc(self: Arc<Self>, db: &DatabaseConnection, msg: &Credit) -> Handled {
        pay(db, msg.amount + self.add.into()).await
    }

    #[idempotent(consumer = "boxed")]
    async fn boxed(self: Box<Self>, db: &DatabaseConnection, msg: &Credit) -> Handled {
        pay(db, msg.amount + self.add.into()).await
    }

    #[idempotent(consumer = "arc-ref")]
    async fn arc_ref(self: &Arc<Self>, db: &DatabaseConnection, msg: &Credit) -> Handled {
        pay(db, msg.amount + self.add.into()).await
    }

    #[idempotent(consumer = "pinned")]
    async fn pinned(self: Pin<&mut Self>, db: &DatabaseConnection, msg: &Credit) -> Handled {
        pay(db, msg.amount + self.add.into()).await
    }

    #[idempotent(consumer = "none")]
    async fn none(db: &DatabaseConnection, msg: &Credit, this: &Self) -> Handled {
        pay(db, msg.amount + this.add.into()).await
    }
}

#[tokio::test]
async fn receivers() {
    let db = database().await;
    let msg = Credit::new("1");
    let service = Service { add: 0_i32 };
    assert_eq!(service.shared(&db, &msg).await.unwrap(), Outcome::Processed(&0));
    Service { add: 0_i32 }.exclusive(&db, &msg).await.unwrap();
    assert_eq!(service.clone().owned(&db, &msg, 2).await.unwrap().processed().unwrap().add, 2);
    Arc::new(Service { add: 3_i32 }).arc(&db, &msg).await.unwrap();
    Box::new(Service { add: 4_i32 }).boxed(&db, &msg).await.unwrap();
    Arc::new(Service { add: 5_i32 }).arc_ref(&db, &msg).await.unwrap();
    Pin::new(&mut Service { add: 6_i32 }).pinned(&db, &msg).await.unwrap();
    Service::none(&db, &msg, &Service { add: 7_i32 }).await.unwrap();
    assert_eq!(effects(&db).await, [100, 101, 102, 103, 104, 105, 106, 107]);
}

trait Handles<M> {
    async fn handle(&mut self, db: &DatabaseConnection, msg: &M) -> Handled;

    fn spawnable(&self, db: &DatabaseConnection, msg: M) -> impl Future<Output = Handled> + Send;

    #[idempotent(consumer = "default", key = msg.message_id())]
    async fn by_default(&self, db: &DatabaseConnection, msg: &impl Message) -> Handled {
        pay(db, 1).await
    }
}

impl Handles<Credit> for Service<i32> {
    #[idempotent(consumer = "in-impl")]
    async fn handle(&mut self, db: &DatabaseConnection, msg: &Credit) -> Handled {
        self.add += 1;
        pay(db, msg.amount + i64::from(self.add)).await
    }

    #[idempotent(consumer = "spawnable")]
    async fn spawnable(&self, db: &DatabaseConnection, msg: Credit) -> Handled {
        pay(db, msg.amount + 9).await
    }
}

#[tokio::test]
async fn native_async_trait_methods() {
    let db = database().await;
    let msg = Credit::new("1");
    let mut service = Service { add: 0 };
    for _ in 0..2 {
        service.handle(&db, &msg).await.unwrap();
        service.by_default(&db, &msg).await.unwrap();
        let (service, db, msg) = (service.clone(), db.clone(), msg.clone());
        tokio::spawn(async move { service.spawnable(&db, msg).await }).await.unwrap().unwrap();
    }
    assert_eq!(effects(&db).await, [101, 1, 109]);
    assert_eq!(service.add, 1);
}

/// Attributes of the function and of its arguments stay where they are.
#[idempotent(consumer = "attributes")]
#[tracing::instrument(skip_all, err)]
#[must_use = "do not acknowledge otherwise"]
#[cfg(not(any()))]
async fn attributes(db: &DatabaseConnection, #[allow(unused)] msg: &Credit, #[cfg(any())] never: Never) -> Handled {
    pay(db, 1).await
}

#[tokio::test]
async fn attributes_stay() {
    let db = database().await;
    for _ in 0..2 {
        attributes(&db, &Credit::new("1")).await.unwrap();
    }
    assert_eq!(effects(&db).await, [1]);
}
