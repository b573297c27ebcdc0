//! What is sent, in which order: the marker first, nothing after COMMIT. On mock connections, without a database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc, reason = "a test")]

use std::error::Error as StdError;
use std::{borrow::Cow, fmt};

use inbox_core::{Consumer, Error, InboxKey, MessageId, Options, Outcome, process, process_replayed, process_with};
use sea_orm::sqlx::error::{DatabaseError, ErrorKind};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, MockDatabase, MockExecResult, RuntimeErr, TransactionTrait, Value};
use uuid::Uuid;

const BACKENDS: [DbBackend; 3] = [DbBackend::Postgres, DbBackend::MySql, DbBackend::Sqlite];
const BODY: &str = "UPDATE acct SET bal = bal + 1";

#[tokio::test]
async fn processed() {
    for backend in BACKENDS {
        let db = mock(backend).append_exec_results([done(), done()]).into_connection();
        let outcome = process(&db, key(), body).await.unwrap();
        assert_eq!(outcome, Outcome::Processed(()));
        assert_eq!(sent(db), ["BEGIN", "INSERT marker", BODY, "COMMIT"], "{backend:?}");
    }
}

/// MySQL is asked for the marker, because a body can commit there unseen.
fn rolled_back(backend: DbBackend) -> Vec<&'static str> {
    if backend == DbBackend::MySql { vec!["ROLLBACK", "SELECT marker"] } else { vec!["ROLLBACK"] }
}

#[tokio::test]
async fn the_body_fails() {
    for backend in BACKENDS {
        let db = mock(backend).append_exec_results([done(), done()]).append_query_results([Vec::<Row>::new()]).into_connection();
        let error = process(&db, key(), async |tx| {
            body(tx).await?;
            Err::<(), _>(DbErr::Custom("the handler's own".into()))
        })
        .await
        .unwrap_err();
        assert_eq!(error, DbErr::Custom("the handler's own".into()));
        assert_eq!(sent(db), [vec!["BEGIN", "INSERT marker", BODY], rolled_back(backend)].concat(), "{backend:?}");
    }
}

#[tokio::test]
async fn a_swallowed_error_that_ended_the_transaction_is_not_committed() {
    for (backend, number, message) in [(DbBackend::Postgres, "", "could not serialize"), (DbBackend::MySql, "1213", "Deadlock found")] {
        let db = mock(backend)
            .append_exec_results([done()])
            .append_exec_errors([refusal(Refusal { number, code: "40001", message, constraint: None, kind: ErrorKind::Other })])
            .append_query_results([Vec::<Row>::new()])
            .into_connection();
        let error = process(&db, key(), async |tx| {
            assert!(tx.execute_unprepared(BODY).await.is_err());
            assert!(tx.execute_unprepared("never sent").await.is_err());
            Ok::<_, Error>(())
        })
        .await
        .unwrap_err();
        assert!(matches!(error, Error::Aborted(_)) && error.is_transient(), "{error:?}");
        assert_eq!(sent(db), [vec!["BEGIN", "INSERT marker", BODY], rolled_back(backend)].concat(), "{backend:?}");
    }
}

#[tokio::test]
async fn a_duplicate() {
    for backend in BACKENDS {
        let db =
            asked(mock(backend).append_exec_errors([duplicate(backend)]), backend).append_query_results([[row(true)]]).into_connection();
        let outcome = process(&db, key(), never).await.unwrap();
        assert_eq!(outcome, Outcome::Duplicate);
        assert_eq!(sent(db), [refused_marker(backend), vec!["SELECT marker"]].concat(), "{backend:?}");
    }
}

#[tokio::test]
async fn a_marker_that_fails_otherwise() {
    for backend in BACKENDS {
        let full = Refusal { number: "1114", code: "53100", message: "the disk is full", constraint: None, kind: ErrorKind::Other };
        let db = asked(mock(backend).append_exec_errors([refusal(full)]), backend).into_connection();
        let error = process(&db, key(), async |_| -> Result<(), Error> { panic!("the body ran") }).await.unwrap_err();
        assert!(matches!(error, Error::Marker(_)), "{error:?}");
        assert_eq!(sent(db), refused_marker(backend), "{backend:?}");
    }
}

#[tokio::test]
async fn the_fast_path() {
    for backend in BACKENDS {
        let options = Options::new().fast_path(true);
        let db = mock(backend).append_query_results([[row(true)]]).into_connection();
        assert_eq!(process_with(&db, key(), &options, never).await.unwrap(), Outcome::Duplicate);
        assert_eq!(sent(db), ["SELECT marker"], "{backend:?}");

        let db = mock(backend).append_query_results([Vec::<Row>::new()]).append_exec_results([done(), done()]).into_connection();
        assert_eq!(process_with(&db, key(), &options, body).await.unwrap(), Outcome::Processed(()));
        assert_eq!(sent(db), ["SELECT marker", "BEGIN", "INSERT marker", BODY, "COMMIT"], "{backend:?}");

        // An unfinished row does not count: the index decides.
        let db = asked(mock(backend).append_exec_errors([duplicate(backend)]), backend)
            .append_query_results([[row(false)], [row(false)]])
            .into_connection();
        let error = process_with(&db, key(), &options, async |_| -> Result<(), Error> { panic!("the body ran") }).await.unwrap_err();
        assert!(matches!(error, Error::Parked { .. }), "{error:?}");
        assert_eq!(sent(db), [vec!["SELECT marker"], refused_marker(backend), vec!["SELECT marker"]].concat(), "{backend:?}");
    }
}

#[tokio::test]
async fn a_replay_begins_at_begin() {
    for (backend, number) in [(DbBackend::Postgres, ""), (DbBackend::MySql, "1213")] {
        let deadlock = Refusal { number, code: "40001", message: "Deadlock", constraint: None, kind: ErrorKind::Other };
        let db = mock(backend)
            .append_exec_results([done()])
            .append_exec_errors([refusal(deadlock)])
            .append_exec_results([done(), done()])
            .append_query_results([Vec::<Row>::new()])
            .into_connection();
        let outcome = process_replayed(&db, key(), &Options::new(), 1, || body).await.unwrap();
        assert_eq!(outcome, Outcome::Processed(()));
        let second = vec!["BEGIN", "INSERT marker", BODY, "COMMIT"];
        assert_eq!(sent(db), [vec!["BEGIN", "INSERT marker", BODY], rolled_back(backend), second].concat(), "{backend:?}");
    }
}

#[tokio::test]
async fn a_nested_delivery_is_a_savepoint() {
    for backend in BACKENDS {
        let db = mock(backend).append_exec_results([done(), done(), done()]).into_connection();
        let outcome = process(&db, key(), async |tx| process(tx, key(), body).await).await.unwrap();
        assert_eq!(outcome, Outcome::Processed(Outcome::Processed(())));
        let inner = ["SAVEPOINT", "INSERT marker", BODY, "RELEASE SAVEPOINT"];
        assert_eq!(sent(db), [&["BEGIN", "INSERT marker"][..], &inner, &["COMMIT"]].concat(), "{backend:?}");
    }
}

#[tokio::test]
async fn a_delivery_in_the_callers_transaction_is_a_savepoint() {
    for backend in BACKENDS {
        let db = mock(backend).append_exec_results([done(), done()]).into_connection();
        let tx = db.begin().await.unwrap();
        let outcome = process(&tx, key(), body).await.unwrap();
        assert_eq!(outcome, Outcome::Processed(()));
        tx.commit().await.unwrap();
        assert_eq!(sent(db), ["BEGIN", "SAVEPOINT", "INSERT marker", BODY, "RELEASE SAVEPOINT", "COMMIT"], "{backend:?}");
    }
}

/// A transaction of the caller's cannot be begun again, or in another way.
#[tokio::test]
async fn options_in_the_callers_transaction_are_an_error() {
    for backend in BACKENDS {
        let db = mock(backend).into_connection();
        let tx = db.begin().await.unwrap();
        let isolation = Options::new().isolation(sea_orm::IsolationLevel::Serializable);
        for options in [Options::new().fast_path(true), isolation] {
            let error = process_with(&tx, key(), &options, async |_| -> Result<(), Error> { panic!("the body ran") }).await.unwrap_err();
            assert!(matches!(error, Error::Options(_)) && !error.is_transient(), "{error:?}");
        }
        let replayed = process_replayed(&tx, key(), &Options::new(), 1, || async |_| -> Result<(), Error> { panic!("the body ran") }).await;
        assert!(matches!(replayed, Err(Error::Options(_))), "{replayed:?}");
        tx.rollback().await.unwrap();
        assert_eq!(sent(db), ["BEGIN", "ROLLBACK"], "{backend:?}");
    }
}

#[tokio::test]
async fn an_unusable_id_touches_nothing() {
    for backend in BACKENDS {
        let db = mock(backend).into_connection();
        let nil = InboxKey::new(Consumer::from_static("credit"), MessageId::from(Uuid::nil()));
        for options in [Options::new(), Options::new().fast_path(true)] {
            let error =
                process_with(&db, nil.clone(), &options, async |_| -> Result<(), Error> { panic!("the body ran") }).await.unwrap_err();
            assert!(matches!(error, Error::Key(_)) && !error.is_transient(), "{error:?}");
        }
        assert_eq!(sent(db), [""; 0], "{backend:?}");
    }
}

/// Dropped between two statements.
#[tokio::test]
async fn a_dropped_delivery_is_rolled_back() {
    for backend in BACKENDS {
        let db = mock(backend).append_exec_results([done(), done()]).append_query_results([Vec::<Row>::new()]).into_connection();
        let delivery = process(&db, key(), async |tx| {
            body(tx).await?;
            std::future::pending::<()>().await;
            Ok::<_, DbErr>(())
        });
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), delivery).await.is_err());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert_eq!(sent(db), [vec!["BEGIN", "INSERT marker", BODY], rolled_back(backend)].concat(), "{backend:?}");
    }
}

async fn body(tx: &inbox_core::InboxTransaction) -> Result<(), DbErr> {
    tx.execute_unprepared(BODY).await?;
    Ok(())
}

async fn never(_: &inbox_core::InboxTransaction) -> Result<(), DbErr> {
    panic!("the body ran")
}

fn key() -> InboxKey {
    InboxKey::new(Consumer::from_static("credit"), MessageId::from(Uuid::new_v4()))
}

fn mock(backend: DbBackend) -> MockDatabase {
    MockDatabase::new(backend)
}

/// After an error the guard asks SQLite by a BEGIN whether the transaction is alive: refused, so it is.
fn asked(mock: MockDatabase, backend: DbBackend) -> MockDatabase {
    if backend != DbBackend::Sqlite {
        return mock;
    }
    let message = "cannot start a transaction within a transaction";
    mock.append_exec_errors([refusal(Refusal { number: "", code: "1", message, constraint: None, kind: ErrorKind::Other })])
}

fn refused_marker(backend: DbBackend) -> Vec<&'static str> {
    let alive = if backend == DbBackend::Sqlite { vec!["BEGIN"] } else { vec![] };
    [vec!["BEGIN", "INSERT marker"], alive, vec!["ROLLBACK"]].concat()
}

fn done() -> MockExecResult {
    MockExecResult { last_insert_id: 7, rows_affected: 1 }
}

type Row = std::collections::BTreeMap<&'static str, Value>;

/// What the look by key finds: processed, or parked.
fn row(processed: bool) -> Row {
    Row::from([
        ("processed", processed.into()),
        ("claimed_until", Value::ChronoDateTimeUtc(None)),
        ("attempts", 3.into()),
        ("last_error", Value::String(None)),
        ("remaining", Value::BigInt(None)),
    ])
}

/// The statements in short: the marker's are named, the rest is as it was sent, savepoints without their numbers.
fn sent(db: DatabaseConnection) -> Vec<String> {
    let log = db.into_transaction_log();
    let statements = log.iter().flat_map(sea_orm::Transaction::statements);
    statements
        .map(|statement| match statement.sql.as_str() {
            sql if sql.contains("inbox_message") => format!("{} marker", sql.split(' ').next().unwrap_or_default()),
            sql => sql.split(" savepoint_").next().unwrap_or_default().to_owned(),
        })
        .collect()
}

fn duplicate(backend: DbBackend) -> DbErr {
    let (code, message) = match backend {
        DbBackend::Postgres => ("23505", "duplicate key value"),
        DbBackend::MySql => ("23000", "Duplicate entry 'x-credit' for key 'idx-inbox_message-message_consumer'"),
        _ => ("2067", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer"),
    };
    let constraint = (backend == DbBackend::Postgres).then_some("idx-inbox_message-message_consumer");
    refusal(Refusal { number: "1062", code, message, constraint, kind: ErrorKind::UniqueViolation })
}

fn refusal(refusal: Refusal) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(sea_orm::sqlx::Error::Database(Box::new(refusal)).into()))
}

/// A database's error, printed as sqlx's MySQL driver does.
#[derive(Debug)]
struct Refusal {
    number: &'static str,
    code: &'static str,
    message: &'static str,
    constraint: Option<&'static str>,
    kind: ErrorKind,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.number, self.code, self.message)
    }
}

impl StdError for Refusal {}

impl DatabaseError for Refusal {
    fn message(&self) -> &str {
        self.message
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(self.code.into())
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn constraint(&self) -> Option<&str> {
        self.constraint
    }

    fn kind(&self) -> ErrorKind {
        match &self.kind {
            ErrorKind::UniqueViolation => ErrorKind::UniqueViolation,
            _ => ErrorKind::Other,
        }
    }
}
