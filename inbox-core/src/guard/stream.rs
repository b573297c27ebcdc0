//! Streams: errors arrive as items, so the guard watches the items.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_stream::stream;
use futures_core::Stream;
use futures_util::StreamExt;
use sea_orm::{DbBackend, DbErr, QueryResult, Statement, StreamTrait};
use tokio::runtime::Handle;

use super::InboxTransaction;

type Rows = Pin<Box<dyn Stream<Item = Result<QueryResult, DbErr>> + Send>>;

/// The rows of a query inside a delivery's transaction.
///
/// While it lives, every other statement of the transaction waits, as with SeaORM's own. Dropped before its end, the rest is
/// read and thrown away, because an error in the rest may have ended the transaction.
pub struct InboxStream<'a> {
    rows: Option<Rows>,
    /// It holds the session's lock, so it must not outlive the body: the commit would wait for it.
    transaction: PhantomData<&'a InboxTransaction>,
    drain: bool,
}

impl StreamTrait for InboxTransaction {
    type Stream<'a> = InboxStream<'a>;

    fn get_database_backend(&self) -> DbBackend {
        self.shared.backend
    }

    fn stream_raw<'a>(&'a self, stmt: Statement) -> Pin<Box<dyn Future<Output = Result<InboxStream<'a>, DbErr>> + 'a + Send>> {
        Box::pin(async move {
            self.screen(&stmt.sql)?;
            let mut session = self.shared.session.clone().lock_owned().await;
            session.bury(self.shared.take_dropped()).await;
            session.admit(self.frame)?;
            // SQLite computes rows as they are asked for, so nothing can go wrong in those that are not.
            let drain = self.shared.backend != DbBackend::Sqlite;
            let rows = stream! {
                let mut failure = None;
                match session.send_streaming(drain).stream_raw(stmt).await {
                    Err(error) => {
                        failure = Some(error.clone());
                        yield Err(error);
                    }
                    Ok(mut rows) => while let Some(row) = rows.next().await {
                        failure = failure.or_else(|| row.as_ref().err().cloned());
                        yield row;
                    },
                }
                session.observe(failure.as_ref()).await;
            };
            Ok(InboxStream { rows: Some(Box::pin(rows)), transaction: PhantomData, drain })
        })
    }
}

impl Stream for InboxStream<'_> {
    type Item = Result<QueryResult, DbErr>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(rows) = &mut self.rows else {
            return Poll::Ready(None);
        };
        let polled = rows.as_mut().poll_next(context);
        if let Poll::Ready(None) = polled {
            self.rows = None;
        }
        polled
    }
}

impl Drop for InboxStream<'_> {
    fn drop(&mut self) {
        // What is not drained counts as a cancelled statement.
        if let (Some(mut rows), true, Ok(runtime)) = (self.rows.take(), self.drain, Handle::try_current()) {
            runtime.spawn(async move { while rows.next().await.is_some() {} });
        }
    }
}
