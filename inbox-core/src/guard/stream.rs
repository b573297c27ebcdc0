//! Streams: errors arrive as items, so the guard watches the items.

use std::pin::Pin;
use std::task::{Context, Poll};

use async_stream::stream;
use futures_core::Stream;
use futures_util::StreamExt;
use sea_orm::{DbBackend, DbErr, QueryResult, Statement, StreamTrait};

use super::InboxTransaction;
use super::shared::Shared;

/// The rows, with the session's lock inside.
pub(super) type Rows = Pin<Box<dyn Stream<Item = Result<QueryResult, DbErr>> + Send>>;

/// The rows of a query inside a delivery's transaction.
///
/// While it lives, every other statement of the transaction waits, as with SeaORM's own. Dropped before its end, the rest is
/// read and thrown away (not on SQLite, which computes rows as they are asked for), because an error in the rest may have ended
/// the transaction.
///
/// One that is leaked (`mem::forget`) is waited for by whatever comes next, the commit included, for ever.
pub struct InboxStream<'a> {
    rows: Option<Rows>,
    /// The lifetime keeps it inside the body: the commit would wait for its lock.
    shared: &'a Shared,
    progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Unsent,
    Sent,
    Answered,
}

impl StreamTrait for InboxTransaction {
    type Stream<'a> = InboxStream<'a>;

    fn get_database_backend(&self) -> DbBackend {
        self.shared.backend
    }

    fn stream_raw<'a>(&'a self, stmt: Statement) -> Pin<Box<dyn Future<Output = Result<InboxStream<'a>, DbErr>> + 'a + Send>> {
        Box::pin(async move {
            self.screen(&stmt.sql)?;
            let mut session = self.shared.caught_up().await;
            session.admit(self.frame)?;
            let rows = stream! {
                let mut failure = None;
                match session.streaming_connection().stream_raw(stmt).await {
                    Err(error) => failure = Some(error),
                    Ok(mut rows) => loop {
                        match rows.next().await {
                            Some(Ok(row)) => yield Ok(row),
                            Some(Err(error)) => {
                                failure = Some(error);
                                break;
                            }
                            None => break,
                        }
                    },
                }
                // Remembered first: who gets the error asks for no further item.
                session.observe(failure.as_ref()).await;
                if let Some(error) = failure {
                    yield Err(error);
                }
            };
            Ok(InboxStream { rows: Some(Box::pin(rows)), shared: &self.shared, progress: Progress::Unsent })
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
        match &polled {
            Poll::Pending if self.progress == Progress::Unsent => self.progress = Progress::Sent,
            Poll::Pending => {}
            Poll::Ready(Some(_)) => self.progress = Progress::Answered,
            Poll::Ready(None) => self.rows = None,
        }
        polled
    }
}

impl Drop for InboxStream<'_> {
    fn drop(&mut self) {
        let Some(rows) = self.rows.take() else { return };
        let sqlite = self.shared.backend == DbBackend::Sqlite;
        match self.progress {
            Progress::Unsent => {}
            // Asked for and never looked at: as a statement whose answer nobody waited for.
            Progress::Sent if sqlite => self.shared.give_up(),
            // The session asks whether the transaction survived what was computed ahead.
            Progress::Answered if sqlite => {}
            // Read before the next statement; sqlx would have to do it, too.
            Progress::Sent | Progress::Answered => self.shared.leave_rest(rows),
        }
    }
}
