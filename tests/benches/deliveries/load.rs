//! The load: so many workers, so many deliveries, of one way.

use std::time::{Duration, Instant};

use inbox_core::{MessageId, Outcome};
use inbox_tests::{
    Backend, Ledger, TestDb,
    ways::{Credit, Way},
};
use sea_orm::{DatabaseConnection, sqlx::sqlite::SqliteSynchronous};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::Args;

/// Enough of them that two workers seldom want the same row.
const ACCOUNTS: i64 = 1000;

/// How many of the deliveries are late redeliveries, in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix(usize);

impl Mix {
    pub(crate) fn fresh() -> Self {
        Self(0)
    }

    pub(crate) fn with_duplicates(percent: usize) -> Self {
        Self(percent)
    }
}

/// One database, and a pool for as many workers as there may be.
pub(crate) struct Bench {
    db: TestDb,
    pool: DatabaseConnection,
    /// Messages that were processed before anything is measured.
    old: Vec<MessageId>,
}

impl Bench {
    pub(crate) async fn new(backend: Backend) -> Self {
        let db = TestDb::new(backend).await;
        let ledger = Ledger::new(&db).await;
        for account in 2..=ACCOUNTS {
            ledger.open(account, 0).await;
        }
        let pool = db
            .pool_with(|options| {
                options.max_connections(32).min_connections(1).test_before_acquire_if_idle_for(Duration::from_secs(30));
                // As a service should have it: what is committed survives a power cut.
                options.map_sqlx_sqlite_opts(|sqlite| sqlite.busy_timeout(Duration::from_secs(30)).synchronous(SqliteSynchronous::Full));
            })
            .await;
        let mut old = Vec::new();
        for message in messages(1000, &[], Mix::fresh()) {
            assert!(!Way::Annotated.deliver(&pool, &message).await.unwrap().is_duplicate());
            old.push(message.id);
        }
        Self { db, pool, old }
    }

    pub(crate) fn db(&self) -> &TestDb {
        &self.db
    }

    /// Deliveries per second: a line for each round, a column for each contender.
    pub(crate) async fn rounds(&self, contenders: &[(Way, Mix)], workers: usize, args: &Args) -> Vec<Vec<f64>> {
        let mut rates = Vec::new();
        // The first round only warms up: connections, statement caches, the servers' pages.
        for round in 0..=args.rounds {
            let mut line = vec![0.0; contenders.len()];
            for n in 0..contenders.len() {
                let n = (n + round) % contenders.len();
                let (way, mix) = contenders[n];
                line[n] = self.rate(way, mix, workers, args.deliveries).await;
            }
            if round > 0 {
                rates.push(line);
            }
        }
        rates
    }

    async fn rate(&self, way: Way, mix: Mix, workers: usize, deliveries: usize) -> f64 {
        let shares: Vec<_> = (0..workers).map(|_| messages(deliveries / workers, &self.old, mix)).collect();
        let begun = Instant::now();
        let mut at_work = JoinSet::new();
        for share in shares {
            let pool = self.pool.clone();
            at_work.spawn(async move {
                for message in &share {
                    let outcome = way.deliver(&pool, message).await.unwrap();
                    assert!(matches!(outcome, Outcome::Processed(()) | Outcome::Duplicate));
                }
                share.len()
            });
        }
        let done: usize = at_work.join_all().await.into_iter().sum();
        #[allow(clippy::cast_precision_loss, reason = "some thousands")]
        let done = done as f64;
        done / begun.elapsed().as_secs_f64()
    }
}

/// Fresh ones in the order of time, as brokers and services make them, with old ones strewn in.
fn messages(count: usize, old: &[MessageId], mix: Mix) -> Vec<Credit> {
    let message = |_| {
        let late = fastrand::usize(0..100) < mix.0;
        let id = if late { old[fastrand::usize(0..old.len())] } else { MessageId::from(Uuid::now_v7()) };
        Credit { id, account: fastrand::i64(1..=ACCOUNTS) }
    };
    (0..count).map(message).collect()
}
