//! What happens to a delivery. Read this file to know what two replicas do with the same message.
//!
//! ```text
//! key         unusable id -> Error::Key, the database is not asked
//! begin       finished even where the caller is gone
//! marker      INSERT. Our unique index says no -> roll back, look at the row:
//!                 processed -> Duplicate; claimed -> Error::InProgress; parked -> Error::Parked
//! body        Err -> roll back, the handler's own error
//! commit      marker and effect together, or neither
//! ```
//!
//! Replica B's INSERT *waits* for replica A's transaction, before B has done any work. A commits: B's index violation makes it
//! a `Duplicate`. A rolls back: B's INSERT succeeds, and B runs the handler.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, TransactionTrait};
use tracing::Instrument;

use crate::classify::{self, Verdict};
use crate::database::{Database, Handle};
use crate::guard::{Aborted, Alone, Cause, InboxTransaction, Unsettled};
use crate::marker::{self, State, View};
use crate::refusal::is_refusal;
use crate::transient::is_transient;
use crate::uncut::uncut;
use crate::{Error, InboxKey, Options, Outcome};

/// Runs `body` and writes the marker of `key` in one transaction: both are committed, or neither is.
///
/// `Ok` means acknowledge: the effect is there, from this delivery ([`Outcome::Processed`]) or from an earlier or concurrent
/// one ([`Outcome::Duplicate`]). `Err` means do not acknowledge: nothing was stored, or (only for [`Error::Commit`]) the
/// redelivery finds out.
///
/// The body gets the transaction; what it does elsewhere is not protected. On a caller's own transaction see [`Database`].
///
/// # Errors
///
/// The body's own error, unchanged, after the rollback; or an [`Error`] that names the step that failed.
///
/// # Panics
///
/// When the body does; everything is rolled back first.
///
/// ```
/// use inbox_core::{Consumer, Error, InboxKey, MessageId, Outcome, process};
/// use sea_orm::{ConnectionTrait, Database};
/// # use sea_orm::DbErr;
/// # #[derive(Debug, thiserror::Error)]
/// # enum CreditError { #[error(transparent)] Db(#[from] DbErr), #[error(transparent)] Inbox(#[from] Error) }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), CreditError> {
/// let db = Database::connect("sqlite::memory:").await?;
/// inbox_migration::up(&db).await.expect("the inbox table");
/// db.execute_unprepared("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL)").await?;
/// db.execute_unprepared("INSERT INTO account VALUES (7, 0)").await?;
///
/// let message = MessageId::from_text("orders", "order-17").map_err(Error::from)?;
/// for delivery in 1..=2 {
///     let key = InboxKey::new(Consumer::from_static("credit"), message);
///     let outcome = process(&db, key, async |tx| {
///         tx.execute_unprepared("UPDATE account SET balance = balance + 100 WHERE id = 7").await?;
///         Ok::<_, CreditError>(())
///     })
///     .await?;
///     assert_eq!(outcome.is_duplicate(), delivery == 2);
/// }
/// # Ok(())
/// # }
/// ```
pub async fn process<D, T, E, F>(db: &D, key: InboxKey, body: F) -> Result<Outcome<T>, E>
where
    D: Database,
    F: AsyncFnOnce(&InboxTransaction) -> Result<T, E>,
    E: From<Error>,
{
    process_with(db, key, &Options::new(), body).await
}

/// As [`process`], with [`Options`].
///
/// # Errors
///
/// As [`process`]; and [`Error::Options`] for options on a caller's own transaction.
pub async fn process_with<D, T, E, F>(db: &D, key: InboxKey, options: &Options, body: F) -> Result<Outcome<T>, E>
where
    D: Database,
    F: AsyncFnOnce(&InboxTransaction) -> Result<T, E>,
    E: From<Error>,
{
    deliver(db.handle(), key, *options, body).await.map_err(|failure| failure.error)
}

/// A failed delivery, and whether repeating the whole transaction now may help.
pub(crate) struct Failure<E> {
    pub(crate) error: E,
    pub(crate) repeatable: bool,
}

impl<E: From<Error>> From<Error> for Failure<E> {
    fn from(error: Error) -> Self {
        // Only where the transaction is known to be over, and waiting is not the remedy.
        let over = matches!(error, Error::Begin(_) | Error::Marker(_) | Error::Aborted(_) | Error::Refused(_));
        Self { repeatable: over && error.is_transient(), error: error.into() }
    }
}

/// One delivery: the whole life of it.
pub(crate) async fn deliver<T, E, F>(db: Handle<'_>, key: InboxKey, options: Options, body: F) -> Result<Outcome<T>, Failure<E>>
where
    F: AsyncFnOnce(&InboxTransaction) -> Result<T, E>,
    E: From<Error>,
{
    let span = tracing::debug_span!(
        "inbox.delivery",
        inbox.consumer = key.consumer().as_str(),
        messaging.message.id = %key.message_id(),
        inbox.outcome = tracing::field::Empty
    );
    async {
        // Boxed, so that an annotated handler's future is hardly larger than its body's.
        let Some(mut guard) = Box::pin(admit(db, key, options)).await? else {
            tracing::Span::current().record("inbox.outcome", "duplicate");
            return Ok(Outcome::Duplicate);
        };
        match body(&guard).await {
            Ok(value) => {
                Box::pin(settle(db, &mut guard)).await?;
                tracing::Span::current().record("inbox.outcome", "processed");
                Ok(Outcome::Processed(value))
            }
            Err(error) => {
                let repeatable = guard.saw_transient().await;
                Box::pin(roll_back(db, &mut guard)).await?;
                tracing::Span::current().record("inbox.outcome", "failed");
                Err(Failure { error, repeatable })
            }
        }
    }
    .instrument(span)
    .await
}

/// Begins and writes the marker. `None` is a duplicate: rolled back, nothing to do.
async fn admit(db: Handle<'_>, key: InboxKey, options: Options) -> Result<Option<InboxTransaction>, Error> {
    key.message_id().checked()?;
    if options != Options::new() && !matches!(db, Handle::Pool(_)) {
        return Err(Error::Options(
            "`fast_path`, `isolation` and `retries` need a transaction of the delivery's own, and this one runs in the caller's",
        ));
    }
    if options.fast_path && seen(db, &key).await? {
        return Ok(None);
    }
    let mut guard = begin(db, key, options).await?;
    let error = match marker::insert(&guard, guard.key()).await {
        Ok(marker) => {
            guard.remember(marker).await;
            return Ok(Some(guard));
        }
        Err(error) => error,
    };
    let verdict = classify::marker(guard.get_database_backend(), &error);
    let aborted = guard.aborted().await;
    roll_back(db, &mut guard).await?;
    match verdict {
        Verdict::Other => Err(aborted.filter(Aborted::kills_callers_transaction).map_or(Error::Marker(error), Error::Aborted)),
        Verdict::Duplicate | Verdict::Unreadable => {
            match look_up(db, guard.key()).await.map_err(Error::Query)? {
                Some(State::Processed) => Ok(None),
                Some(State::Unfinished { until, retry_after }) => Err(Error::InProgress { until: Some(until), retry_after }),
                Some(State::Parked { attempts, last_error }) => Err(Error::Parked { attempts, last_error }),
                // It went between the two statements, or the caller's snapshot cannot show it.
                None if verdict == Verdict::Duplicate => Err(Error::InProgress { until: None, retry_after: Duration::ZERO }),
                None => Err(Error::Marker(error)),
            }
        }
    }
}

async fn begin(db: Handle<'_>, key: InboxKey, options: Options) -> Result<InboxTransaction, Error> {
    match db {
        Handle::Pool(pool) => {
            let transaction = begin_uncancelled(pool, options).await.map_err(Error::Begin)?;
            Ok(InboxTransaction::own(transaction, key, pool.clone()))
        }
        Handle::Transaction(outer) => {
            let alone = Alone::on(outer).map_err(Error::Begin)?;
            let transaction = outer.begin().await.map_err(Error::Begin)?;
            Ok(InboxTransaction::in_callers(transaction, key, alone))
        }
        Handle::Nested(outer) => outer.nest(key).await.map_err(Error::Begin),
    }
}

/// BEGIN, where a cancelled caller cannot cut it in half: sqlx would return a connection to the pool whose open server
/// transaction it does not know of, and the next borrower's writes would vanish (D6).
pub(crate) async fn begin_uncancelled(pool: &DatabaseConnection, options: Options) -> Result<DatabaseTransaction, DbErr> {
    let pool = pool.clone();
    let options = options.transaction(pool.get_database_backend());
    uncut(async move { pool.begin_with_options(options).await }).await?
}

/// Commits what the body did together with its marker, or rolls both back.
async fn settle(db: Handle<'_>, guard: &mut InboxTransaction) -> Result<(), Error> {
    match guard.commit().await {
        Ok(()) => Ok(()),
        Err(Unsettled::Commit { error, outermost: true }) if is_refusal(guard.get_database_backend(), &error) => Err(Error::Refused(error)),
        Err(Unsettled::Commit { error, outermost: true }) => Err(Error::Commit(error)),
        Err(Unsettled::Commit { error, outermost: false }) => {
            Err(Error::Aborted(Aborted { cause: Cause::Statement(error), callers_transaction: true }))
        }
        Err(Unsettled::Aborted(aborted)) => {
            roll_back(db, guard).await?;
            Err(Error::Aborted(aborted))
        }
    }
}

/// Rolls back. Where the body had committed behind our back, which only MySQL lets it do unseen, the marker is taken back.
async fn roll_back(db: Handle<'_>, guard: &mut InboxTransaction) -> Result<(), Error> {
    let mut survived = guard.roll_back().await;
    if let Handle::Transaction(outer) = db {
        let markers = guard.markers().await;
        survived = marker::take_back(outer, &markers).await;
        if survived.is_err() {
            // SeaORM has queued a second rollback behind one that failed, and the next statement is answered with its error.
            survived = marker::take_back(outer, &markers).await;
        }
    }
    match survived {
        Ok(false) => Ok(()),
        Ok(true) => {
            let callers_transaction = matches!(db, Handle::Transaction(_));
            Err(Error::Aborted(Aborted { cause: Cause::EndedByBody, callers_transaction }))
        }
        Err(error) => {
            tracing::error!(%error, transient = is_transient(&error), "could not look for a marker that the handler may have committed");
            Ok(())
        }
    }
}

/// The look before the transaction.
async fn seen(db: Handle<'_>, key: &InboxKey) -> Result<bool, Error> {
    let Handle::Pool(pool) = db else { return Ok(false) };
    let (pool, key) = (pool.clone(), key.clone());
    uncut(async move { marker::seen(&pool, &key).await }).await.map_err(Error::Begin)?
}

/// The row that our index protects.
async fn look_up(db: Handle<'_>, key: &InboxKey) -> Result<Option<State>, DbErr> {
    match db {
        Handle::Pool(pool) => {
            let (pool, key) = (pool.clone(), key.clone());
            uncut(async move { marker::look_up(&pool, &key, View::Locking).await }).await?
        }
        Handle::Transaction(outer) => marker::look_up(outer, key, View::Locking).await,
        Handle::Nested(outer) => marker::look_up(outer, key, View::Locking).await,
    }
}
