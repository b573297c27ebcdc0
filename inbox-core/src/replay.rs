//! Repeating a whole transaction where the database asked for it.

use std::time::Duration;

use crate::database::Database;
use crate::guard::InboxTransaction;
use crate::process::deliver;
use crate::uncut::on_runtime;
use crate::{Error, InboxKey, Options, Outcome};

/// The first pause is drawn from 0 to this, and the bound doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// As [`process_with`](crate::process_with), repeating the whole transaction up to `retries` times where it failed for a
/// transient reason and is known to be over: a deadlock, a serialization failure, a busy file.
///
/// A replay begins at BEGIN, with a body that `make` makes anew: nothing of the failed attempt stayed. A single statement is
/// never repeated, and once COMMIT was sent nothing is, unless the server itself refused it. Between two attempts it waits a
/// random time of up to 10 ms, doubled each time up to 1 s.
///
/// Without it the broker redelivers, which comes to the same; a replay is faster where conflicts are common.
///
/// # Errors
///
/// The last attempt's, as [`process`](crate::process()); and [`Error::Options`] for `retries` on a caller's own transaction.
///
/// ```
/// # use inbox_core::{Consumer, Error, InboxKey, MessageId, Options, process_replayed};
/// # use sea_orm::{ConnectionTrait, Database, DbErr};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let db = Database::connect("sqlite::memory:").await?;
/// # inbox_migration::up(&db).await?;
/// let key = InboxKey::new(Consumer::from_static("credit"), MessageId::from_text("orders", "order-17")?);
/// let outcome = process_replayed(&db, key, &Options::new(), 3, || async |tx| {
///     tx.execute_unprepared("CREATE TABLE effect (id INTEGER)").await?;
///     Ok::<_, DbErr>(())
/// })
/// .await?;
/// assert!(!outcome.is_duplicate());
/// # Ok(())
/// # }
/// ```
pub async fn process_replayed<D, T, E, F>(
    db: &D,
    key: InboxKey,
    options: &Options,
    retries: u32,
    mut make: impl FnMut() -> F,
) -> Result<Outcome<T>, E>
where
    D: Database,
    F: AsyncFnOnce(&InboxTransaction) -> Result<T, E>,
    E: From<Error>,
{
    if retries > 0 && !matches!(db.handle(), crate::database::Handle::Pool(_)) {
        return Err(Error::Options("`retries` repeats a whole transaction, and this delivery runs in one of the caller's").into());
    }
    let mut attempt = 0;
    loop {
        let failure = match deliver(db.handle(), key.clone(), *options, make()).await {
            Ok(outcome) => return Ok(outcome),
            Err(failure) => failure,
        };
        if !failure.repeatable || attempt == retries {
            return Err(failure.error);
        }
        let pause = longest_pause(attempt).mul_f64(fastrand::f64());
        // A runtime that is shutting down replays nothing, and its timer would panic.
        if on_runtime(tokio::time::sleep(pause)).await.is_err() {
            return Err(failure.error);
        }
        attempt += 1;
    }
}

/// The bound of the random pause after this attempt, counted from 0.
fn longest_pause(attempt: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << attempt.min(10)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::longest_pause;

    #[test]
    fn a_pause_doubles_up_to_a_second() {
        let pauses: Vec<_> = (0..9).map(|attempt| longest_pause(attempt).as_millis()).collect();
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        assert_eq!(longest_pause(u32::MAX), Duration::from_secs(1));
    }
}
