//! Nested transactions and nested deliveries: savepoints that share their delivery's memory.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use sea_orm::{AccessMode, DbErr, IsolationLevel, TransactionError, TransactionOptions, TransactionSession, TransactionTrait};

use super::InboxTransaction;
use super::session::End;
use crate::InboxKey;

impl InboxTransaction {
    /// Opens a savepoint, for a nested transaction of the same delivery or for a delivery of its own.
    pub(crate) async fn nest(&self, key: InboxKey) -> Result<Self, DbErr> {
        let (shared, frame) = (Arc::clone(&self.shared), self.frame);
        let mut session = self.shared.lock().await;
        let waiting = self.shared.wait();
        let nested = self
            .shared
            .uncut(async move {
                shared.catch_up(&mut session).await;
                session.admit(frame)?;
                let frame = session.nest().await?;
                drop(session);
                // Made here, so that one that nobody waits for any more is dropped as a handle, and rolled back.
                Ok(Self { shared, frame, key, settled: false, _alone: None })
            })
            .await;
        waiting.answered();
        nested
    }

    async fn end_nested(mut self, end: End) -> Result<(), DbErr> {
        let (shared, frame) = (Arc::clone(&self.shared), self.frame);
        let mut session = self.shared.lock().await;
        // From here on it ends, or the delivery does.
        self.settled = true;
        let waiting = self.shared.wait();
        let result = self
            .shared
            .uncut(async move {
                shared.catch_up(&mut session).await;
                session.end_nested(frame, end).await
            })
            .await;
        waiting.answered();
        result
    }
}

/// `begin` opens a savepoint. The handle must be committed or rolled back before the outer one; one that is dropped is rolled
/// back.
#[async_trait::async_trait]
impl TransactionTrait for InboxTransaction {
    type Transaction = Self;

    async fn begin(&self) -> Result<Self, DbErr> {
        self.nest(self.key.clone()).await
    }

    /// # Errors
    ///
    /// When an isolation level or an access mode is asked for: a savepoint has none, and asking for one inside a transaction
    /// is an error on every backend. `#[idempotent(isolation = "…")]` sets the delivery's.
    async fn begin_with_config(&self, isolation_level: Option<IsolationLevel>, access_mode: Option<AccessMode>) -> Result<Self, DbErr> {
        if isolation_level.is_some() || access_mode.is_some() {
            return Err(DbErr::Custom(
                "refused: a nested transaction has no isolation level or access mode of its own. Set the delivery's, with \
                 `#[idempotent(isolation = \"…\")]` or `Options::isolation`"
                    .into(),
            ));
        }
        self.begin().await
    }

    async fn begin_with_options(&self, options: TransactionOptions) -> Result<Self, DbErr> {
        self.begin_with_config(options.isolation_level, options.access_mode).await
    }

    async fn transaction<F, T, E>(&self, callback: F) -> Result<T, TransactionError<E>>
    where
        F: for<'c> FnOnce(&'c Self) -> Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'c>> + Send,
        T: Send,
        E: std::fmt::Display + std::fmt::Debug + Send,
    {
        let nested = self.begin().await.map_err(TransactionError::Connection)?;
        match callback(&nested).await {
            Ok(value) => {
                TransactionSession::commit(nested).await.map_err(TransactionError::Connection)?;
                Ok(value)
            }
            Err(error) => {
                // A rollback that failed is remembered by the session; the callback's error is the one to tell.
                if let Err(rollback) = TransactionSession::rollback(nested).await {
                    tracing::warn!(error = %rollback, "the rollback of a nested transaction failed");
                }
                Err(TransactionError::Transaction(error))
            }
        }
    }

    async fn transaction_with_config<F, T, E>(
        &self,
        callback: F,
        isolation_level: Option<IsolationLevel>,
        access_mode: Option<AccessMode>,
    ) -> Result<T, TransactionError<E>>
    where
        F: for<'c> FnOnce(&'c Self) -> Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'c>> + Send,
        T: Send,
        E: std::fmt::Display + std::fmt::Debug + Send,
    {
        if isolation_level.is_some() || access_mode.is_some() {
            // Refused, with the reason.
            self.begin_with_config(isolation_level, access_mode).await.map_err(TransactionError::Connection)?;
        }
        self.transaction(callback).await
    }
}

/// Only a nested transaction can be settled by hand: the body has no more than a reference to the delivery's own.
#[async_trait::async_trait]
impl TransactionSession for InboxTransaction {
    async fn commit(self) -> Result<(), DbErr> {
        self.end_nested(End::Commit).await
    }

    async fn rollback(self) -> Result<(), DbErr> {
        self.end_nested(End::Rollback).await
    }
}
