//! [`InboxTransaction`]: what a handler's body gets. It lets statements through, refuses what would end the transaction under
//! it, and remembers what the database did, so that no `Ok` is ever acknowledged for something that was not stored (D4).

mod aborted;
mod alone;
mod damage;
mod nested;
mod outlives;
mod scan;
mod session;
mod settle;
mod shared;
mod sqlite;
mod stream;
mod text;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, ExecResult, QueryResult, Statement};

pub use self::aborted::Aborted;
pub(crate) use self::aborted::Cause;
pub(crate) use self::alone::Alone;
use self::session::ROOT;
pub(crate) use self::settle::Unsettled;
use self::shared::Shared;
pub use self::stream::InboxStream;
use crate::InboxKey;

/// The transaction of one delivery. The handler's body gets a reference to it, in place of the connection.
///
/// It is a [`ConnectionTrait`], a [`StreamTrait`](sea_orm::StreamTrait) and a
/// [`TransactionTrait`](sea_orm::TransactionTrait), so SeaORM's queries, active models, paginators, loaders and streams take
/// it. Helper functions take `&impl ConnectionTrait`; one that is typed `&DatabaseTransaction` or `&DatabaseConnection` does
/// not take it, and that is what makes a write outside of the transaction a compile error.
///
/// It guarantees that the handler's `Ok` is committed together with the marker, or that the delivery ends in an error and
/// nothing is stored:
///
/// * after an error that ends the transaction on this backend, every further statement is refused, and so is the commit;
/// * a failure inside a nested transaction is forgiven only when its rollback was seen to succeed, and never when it was a
///   deadlock, a lock wait timeout on MySQL, a serialization failure or a lost connection;
/// * a statement that would commit or roll back by text (`COMMIT`, `BEGIN`; on MySQL and MariaDB also `ALTER`, `TRUNCATE`
///   and the like) is refused before it is sent, and so is one whose effect would outlive the transaction on the pooled
///   connection (`SET` without `LOCAL` on PostgreSQL, `USE` on MySQL) or hide the inbox's table;
/// * a nested transaction that is still open at the end, one whose rollback took along what an outer handle had sent
///   meanwhile, and a statement whose future was dropped, end in [`Error::Aborted`](crate::Error::Aborted).
///
/// It costs no round trip where nothing fails.
pub struct InboxTransaction {
    shared: Arc<Shared>,
    /// Which of the session's frames this handle stands for.
    frame: u64,
    key: InboxKey,
    settled: bool,
    /// In a transaction of the caller's.
    _alone: Option<Alone>,
}

impl InboxTransaction {
    /// Takes over a transaction that was begun for this delivery on a pool.
    pub(crate) fn own(transaction: DatabaseTransaction, key: InboxKey, pool: DatabaseConnection) -> Self {
        Self { shared: Arc::new(Shared::new(transaction, Some(pool))), frame: ROOT, key, settled: false, _alone: None }
    }

    /// Takes over a savepoint that was begun for this delivery in a transaction of the caller's.
    pub(crate) fn in_callers(transaction: DatabaseTransaction, key: InboxKey, alone: Alone) -> Self {
        Self { shared: Arc::new(Shared::new(transaction, None)), frame: ROOT, key, settled: false, _alone: Some(alone) }
    }

    /// Which message at which consumer this is: an idempotency key for whatever the handler calls.
    #[must_use]
    pub const fn key(&self) -> &InboxKey {
        &self.key
    }

    /// Refuses a text that would end the transaction under the guard.
    fn screen(&self, sql: &str) -> Result<(), DbErr> {
        text::refuse(self.shared.backend, sql).map_err(DbErr::Custom)
    }

    /// Runs one statement: may it be sent, send it, remember the answer.
    async fn run<T: Send + 'static>(
        &self,
        call: impl for<'c> FnOnce(&'c DatabaseTransaction) -> Answer<'c, T> + Send + 'static,
    ) -> Result<T, DbErr> {
        let (shared, frame) = (Arc::clone(&self.shared), self.frame);
        let mut session = self.shared.lock().await;
        let waiting = self.shared.wait();
        let result = self
            .shared
            .uncut(async move {
                shared.catch_up(&mut session).await;
                session.admit(frame)?;
                let result = call(session.connection()).await;
                session.observe(result.as_ref().err()).await;
                result
            })
            .await;
        waiting.answered();
        result
    }
}

/// What a database call of SeaORM returns.
type Answer<'c, T> = Pin<Box<dyn Future<Output = Result<T, DbErr>> + Send + 'c>>;

#[async_trait::async_trait]
impl ConnectionTrait for InboxTransaction {
    fn get_database_backend(&self) -> DbBackend {
        self.shared.backend
    }

    async fn execute_raw(&self, stmt: Statement) -> Result<ExecResult, DbErr> {
        self.screen(&stmt.sql)?;
        self.run(|transaction| transaction.execute_raw(stmt)).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.screen(sql)?;
        let sql = sql.to_owned();
        self.run(|transaction| Box::pin(async move { transaction.execute_unprepared(&sql).await })).await
    }

    async fn query_one_raw(&self, stmt: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.screen(&stmt.sql)?;
        text::refuse_second(self.shared.backend, &stmt.sql).map_err(DbErr::Custom)?;
        self.run(|transaction| transaction.query_one_raw(stmt)).await
    }

    async fn query_all_raw(&self, stmt: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.screen(&stmt.sql)?;
        self.run(|transaction| transaction.query_all_raw(stmt)).await
    }
}

impl fmt::Debug for InboxTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboxTransaction").field("key", &self.key).finish_non_exhaustive()
    }
}
