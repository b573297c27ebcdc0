//! What a body may contain means in a handler what it means in a plain function.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::{self, Display};

use inbox_core::{Outcome, idempotent};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};

use super::{Credit, database, effects, pay};

#[idempotent(consumer = "control-flow")]
async fn control_flow(db: &DatabaseConnection, msg: &Credit, mut limit: i64) -> Result<Outcome<i64>, DbErr> {
    #![allow(clippy::needless_return, clippy::never_loop, reason = "every way out of a body")]
    use std::iter::repeat_n;
    const STEP: i64 = 10;
    struct Total(i64);
    let mut total = Total(0);
    let found = 'outer: loop {
        for (i, amount) in (0..).zip(repeat_n(msg.amount, 9)) {
            let double = |n: i64| {
                if n < 0 {
                    return 0;
                }
                n * 2
            };
            if i % 2 == 1 {
                continue;
            }
            total.0 += double(amount);
            limit -= STEP;
            if limit <= 0 {
                break 'outer async { pay(db, total.0).await.map(|()| i) }.await?;
            }
        }
        return Err(DbErr::Custom("not reached".into()));
    };
    let Some(found) = Some(found).filter(|&found| found < 100) else {
        return Ok(Outcome::Processed(-1));
    };
    return Ok(Outcome::Processed(found + limit));
}

#[tokio::test]
async fn control_flow_means_what_it_says() {
    let db = database().await;
    assert_eq!(control_flow(&db, &Credit::new("1"), 30).await, Ok(Outcome::Processed(4)));
    assert_eq!(control_flow(&db, &Credit::new("1"), 30).await, Ok(Outcome::Duplicate));
    assert_eq!(effects(&db).await, [600]);
    assert_eq!(control_flow(&db, &Credit::new("2"), 1000).await, Err(DbErr::Custom("not reached".into())));
    assert_eq!(effects(&db).await, [600]);
}

#[derive(Debug)]
struct Refused(u8);

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused {}", self.0)
    }
}

impl Error for Refused {}

type BoxError = Box<dyn Error + Send + Sync>;
type Callback = Box<dyn Fn(i64) -> i64 + Send>;
type Coerced = Outcome<(Callback, HashMap<String, u8>)>;

/// Nothing but the written type tells what these values are to become; an async closure alone does not pass it on.
#[idempotent(consumer = "coercions")]
async fn coercions(db: &DatabaseConnection, msg: &Credit, refuse: u8) -> Result<Coerced, BoxError> {
    if refuse == 1 {
        return Err(Box::new(Refused(1)));
    }
    if refuse == 2 {
        Err(Refused(2))?;
    }
    if refuse == 3 {
        return Err("refused 3".into());
    }
    pay(db, msg.amount).await?;
    Ok(Outcome::Processed((Box::new(|n| n.saturating_add(1)), [("a".into(), 1)].into())))
}

#[tokio::test]
async fn values_become_the_written_type() {
    let db = database().await;
    for refuse in 1..=3 {
        let error = coercions(&db, &Credit::new("1"), refuse).await.err().unwrap();
        assert_eq!(error.to_string(), format!("refused {refuse}"));
        assert_eq!(error.is::<Refused>(), refuse < 3);
    }
    let (callback, map) = coercions(&db, &Credit::new("1"), 0).await.unwrap().processed().unwrap();
    assert_eq!((callback(1), map["a"]), (2, 1));
}

/// A body that never says `Ok`.
#[idempotent(consumer = "diverging")]
async fn diverging(_db: &DatabaseConnection, msg: &Credit) -> Result<(), DbErr> {
    panic!("{}", msg.amount)
}

#[tokio::test]
async fn a_panic_stays_a_panic() {
    let db = database().await;
    let other = db.clone();
    let panic = tokio::spawn(async move { diverging(&other, &Credit::new("1")).await }).await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some("100"));
    pay(&db, 1).await.unwrap();
}

macro_rules! fifty {
    ($db:ident) => {
        pay($db, 50).await?
    };
}

#[idempotent(consumer = "shadows")]
async fn shadows(db: &DatabaseConnection, msg: Credit) -> Result<(), DbErr> {
    fifty!(db);
    let Credit { amount: msg, .. } = msg;
    let transaction = db;
    let db = msg;
    transaction.execute_unprepared(&format!("INSERT INTO effect VALUES ({db})")).await?;
    Ok(())
}

#[tokio::test]
async fn bodies_may_shadow_the_arguments() {
    let db = database().await;
    shadows(&db, Credit::new("1")).await.unwrap();
    assert_eq!(effects(&db).await, [50, 100]);
}
