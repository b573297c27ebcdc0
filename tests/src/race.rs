//! Many at once: tasks that a barrier releases together, and what each of them got.

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::future::join_all;
use sea_orm::DatabaseConnection;
use tokio::sync::Barrier;

use crate::TestDb;

/// N replicas: N pools on one database, kept open over all rounds.
#[derive(Clone, Debug)]
pub struct Replicas(Vec<DatabaseConnection>);

impl Replicas {
    /// Opens `n` pools with two connections each, and connects every one of them.
    pub async fn new(db: &TestDb, n: usize) -> Self {
        Self(join_all((0..n).map(|_| db.pool(2))).await)
    }

    /// Their pools.
    pub fn pools(&self) -> &[DatabaseConnection] {
        &self.0
    }

    /// Runs `task` once on every replica, all released by one barrier, each in a task of its own, and returns what each
    /// got, in the order of the replicas.
    ///
    /// ```no_run
    /// # async fn f(replicas: inbox_tests::race::Replicas) {
    /// let answers = replicas.race(async |n, db| db.ping().await.is_ok() && n < 16).await;
    /// # }
    /// ```
    ///
    /// # Panics
    /// With the first task's panic.
    pub async fn race<T, F, Fut>(&self, task: F) -> Vec<T>
    where
        T: Send + 'static,
        F: Fn(usize, DatabaseConnection) -> Fut,
        Fut: Future<Output = T> + Send + 'static,
    {
        let barrier = Arc::new(Barrier::new(self.0.len()));
        let tasks: Vec<_> = self
            .0
            .iter()
            .enumerate()
            .map(|(n, db)| {
                let (future, barrier) = (task(n, db.clone()), barrier.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    future.await
                })
            })
            .collect();
        join_all(tasks)
            .await
            .into_iter()
            .map(|answer| answer.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())))
            .collect()
    }
}

/// Counts how often a body ran; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Count(Arc<AtomicU64>);

impl Count {
    /// From zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more.
    pub fn hit(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// So far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// So far, and begins again at zero.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::SeqCst)
    }
}

/// How many of the answers are so.
pub fn how_many<T: Debug>(answers: &[T], so: impl Fn(&T) -> bool) -> usize {
    answers.iter().filter(|answer| so(answer)).count()
}
