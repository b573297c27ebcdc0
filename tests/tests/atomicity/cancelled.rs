//! The caller goes away, at every await point: a timeout, a lost lease, a shutdown.

use std::time::Duration;

use inbox_core::{InboxKey, Options, Outcome, process, process_replayed};
use inbox_tests::{
    Backend, Ledger, TestDb, backends,
    hooks::{self, Hooks},
    poll::{Polled, poll_n},
    proxy::Proxy,
    race::Count,
};
use sea_orm::{DatabaseConnection, DbErr, TransactionSession as _, TransactionTrait as _};

use crate::delivery::{Answer, assert_clean, assert_settled, deliver, duplicate, effect, fresh, processed};

/// How the delivery is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plain,
    FastPath,
    Retries,
    /// Inside the body of another delivery.
    Nested,
    /// With a savepoint of the body's own.
    Savepoint,
    /// Inside a transaction of the caller's, which the same future commits.
    CallersTransaction,
}

backends! {
    async fn plain(db: TestDb) {
        at_every_await_point(&db, Way::Plain).await;
    }

    async fn on_the_fast_path(db: TestDb) {
        at_every_await_point(&db, Way::FastPath).await;
    }

    async fn with_retries(db: TestDb) {
        at_every_await_point(&db, Way::Retries).await;
    }

    async fn nested_in_another_delivery(db: TestDb) {
        at_every_await_point(&db, Way::Nested).await;
    }

    async fn with_a_savepoint_in_the_body(db: TestDb) {
        at_every_await_point(&db, Way::Savepoint).await;
    }

    /// The pool is not looked at: that connection is the caller's, and sqlx may never give it back (MySQL, or TLS).
    async fn in_a_transaction_of_the_callers(db: TestDb) {
        at_every_await_point(&db, Way::CallersTransaction).await;
    }
}

async fn at_every_await_point(db: &TestDb, way: Way) {
    let ledger = Ledger::new(db).await;
    let slow = Slow::new(db).await;
    let (mut effects, mut dropped) = (0, 0);
    for n in 1.. {
        assert!(n < 200, "{way:?} does not end");
        // A pool of its own each time: nothing is prepared on its connection yet, and there is no other to fall back on.
        let pool = slow.pool().await;
        let (key, row) = (fresh(), format!("cancelled after {n}"));
        slow.down(ANSWER);
        let polled = poll_n(run(way, &pool, key.clone(), &row), n, slow.gap()).await;
        slow.down(Duration::ZERO);
        assert_settled(&ledger).await;
        let (markers, rows) = (ledger.markers_of(*key.message_id().as_uuid()).await, ledger.records_of(&row).await);
        assert_eq!(markers, rows, "{way:?}, dropped after poll {n}: {markers} markers and {rows} rows");
        let pool = if way == Way::CallersTransaction { db.pool(1).await } else { pool };
        assert_clean(&ledger, &pool).await;

        let again = run(way, &pool, key, &row).await;
        let right = if rows == 1 { duplicate(&again) } else { processed(&again) };
        assert!(right, "{way:?}, dropped after poll {n} with {rows} rows, and the redelivery is {again:?}");
        effects += 1 + 20;
        assert_eq!((ledger.records().await, ledger.balance(1).await), (effects, effects), "{way:?}, dropped after poll {n}");
        if let Polled::Ready(answer) = polled {
            assert!(processed(&answer) && rows == 1, "{way:?}, {n} polls: {answer:?}");
            break;
        }
        dropped += 1;
    }
    let least = db.backend().pick(6, 6, 3);
    assert!(dropped >= least, "only {dropped} await points were found");
}

/// How long an answer takes over the wire. The next poll waits a little longer: it seldom misses one, and none is there at
/// once.
const ANSWER: Duration = Duration::from_millis(3);
/// As long in SQLite's hooks: there are so few of them that a busy machine may not skip one.
const HOOK: Duration = Duration::from_millis(15);

/// Answers that take their time, so that a quick database does not let a poll run past an await point.
enum Slow {
    Wire(Proxy),
    Hooks(TestDb),
}

impl Slow {
    async fn new(db: &TestDb) -> Self {
        if db.backend() == Backend::Sqlite { Self::Hooks(db.clone()) } else { Self::Wire(Proxy::start(db).await) }
    }

    async fn pool(&self) -> DatabaseConnection {
        match self {
            Self::Wire(proxy) => proxy.pool(1).await,
            Self::Hooks(db) => {
                let wait = || std::thread::sleep(HOOK);
                let slow = Hooks::new().on_insert(move |_| wait()).on_commit(move |_| {
                    wait();
                    true
                });
                db.pool_with(|options| hooks::sqlite(options.max_connections(1), slow)).await
            }
        }
    }

    /// Between two polls.
    fn gap(&self) -> Duration {
        match self {
            Self::Wire(_) => ANSWER + Duration::from_millis(2),
            Self::Hooks(_) => HOOK + Duration::from_millis(10),
        }
    }

    /// SQLite's hooks stay slow.
    fn down(&self, delay: Duration) {
        if let Self::Wire(proxy) = self {
            proxy.delay(delay);
        }
    }
}

async fn run(way: Way, db: &DatabaseConnection, key: InboxKey, row: &str) -> Answer {
    match way {
        Way::Plain => deliver(db, key, Options::new(), &Count::new(), row).await,
        Way::FastPath => deliver(db, key, Options::new().fast_path(true), &Count::new(), row).await,
        Way::Retries => process_replayed(db, key, &Options::new(), 3, || async |tx| effect(tx, row).await).await,
        Way::Nested => {
            let outcome = process(db, fresh(), async |tx| process(tx, key, async |tx| effect(tx, row).await).await).await?;
            Ok::<_, DbErr>(match outcome {
                Outcome::Processed(inner) => inner,
                Outcome::Duplicate => panic!("nobody else has the outer message"),
            })
        }
        Way::Savepoint => {
            process(db, key, async |tx| {
                let nested = tx.begin().await?;
                effect(&nested, row).await?;
                nested.commit().await
            })
            .await
        }
        Way::CallersTransaction => {
            // Where the cancellation cannot reach it, as the library does for its own.
            let db = db.clone();
            let tx = tokio::spawn(async move { db.begin().await }).await.unwrap()?;
            let outcome = process(&tx, key, async |tx| effect(tx, row).await).await?;
            tx.commit().await?;
            Ok::<_, DbErr>(outcome)
        }
    }
}
