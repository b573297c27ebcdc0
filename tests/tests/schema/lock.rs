//! One migrator at a time, and the lock goes back on every path.

use std::time::Duration;

use inbox_migration::{Error, Rows, Status, down, status, up};
use inbox_tests::poll::{Polled, poll_n};
use inbox_tests::{Backend, TestDb, backends};
use sea_orm::{ConnectionTrait as _, DatabaseConnection};

use super::catalogue;
use super::up_down::NAME;

/// The lock's name, as the documentation has it.
const MYSQL_NAME: &str = "CONCAT('inbox_migrations:', LEFT(SHA2(LOWER(DATABASE()), 256), 40))";

/// Another process at work: a connection of its own that holds the lock, until [`let_go`].
async fn hold(db: &TestDb) -> DatabaseConnection {
    let holder = db.pool(1).await;
    let sql = db.backend().pick(
        "SELECT pg_advisory_lock(7597117852321017193)".to_owned(),
        format!("SELECT GET_LOCK({MYSQL_NAME}, 0)"),
        "BEGIN IMMEDIATE".to_owned(),
    );
    holder.execute_unprepared(&sql).await.unwrap();
    holder
}

async fn let_go(db: &TestDb, holder: &DatabaseConnection) {
    let sql = db.backend().pick(
        "SELECT pg_advisory_unlock_all()".to_owned(),
        format!("SELECT RELEASE_LOCK({MYSQL_NAME})"),
        "ROLLBACK".to_owned(),
    );
    holder.execute_unprepared(&sql).await.unwrap();
}

/// Nobody holds the lock: seen from another connection, at once.
async fn is_free(db: &TestDb) -> bool {
    match db.backend() {
        Backend::Postgres => db.scalar_i64("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").await == 0,
        Backend::MySql => db.scalar_i64(&format!("SELECT CAST(IS_FREE_LOCK({MYSQL_NAME}) AS SIGNED)")).await == 1,
        Backend::Sqlite => {
            let writer = db.pool_with(|options| {
                options.max_connections(1).map_sqlx_sqlite_opts(|sqlite| sqlite.busy_timeout(Duration::ZERO));
            });
            writer.await.execute_unprepared("BEGIN IMMEDIATE; ROLLBACK").await.is_ok()
        }
    }
}

/// No connection of the pool is in a transaction, and each can write.
async fn is_clean(db: &TestDb, pool: &DatabaseConnection) {
    db.exec("CREATE TABLE IF NOT EXISTS biz (k INTEGER)").await;
    let before = db.count("biz").await;
    for _ in 0..4 {
        pool.execute_unprepared("INSERT INTO biz VALUES (1)").await.unwrap();
    }
    assert_eq!(db.count("biz").await, before + 4, "seen by another connection");
}

backends! {
    /// Sixteen replicas of a service start at once.
    async fn sixteen_at_once(db: TestDb) {
        let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(16));
        let mut tasks = Vec::new();
        for _ in 0..16 {
            let (pool, barrier) = (db.pool(1).await, barrier.clone());
            tasks.push(tokio::spawn(async move {
                barrier.wait().await;
                up(&pool).await
            }));
        }
        let mut applied = Vec::new();
        for task in tasks {
            applied.extend(task.await.unwrap().unwrap());
        }
        assert_eq!(applied, [NAME], "one of them, once");
        assert_eq!(catalogue::history(&db, "inbox_migrations").await, [NAME]);
        inbox_core::verify(&db.pool(1).await).await.unwrap();
        assert!(is_free(&db).await);
    }

    /// It waits while another one works, and goes on when that one is done.
    async fn waits_for_the_holder(db: TestDb) {
        let holder = hold(&db).await;
        assert!(!is_free(&db).await, "the test holds the lock that is meant");
        let pool = db.pool(1).await;
        let waiting = tokio::spawn(async move { up(&pool).await });
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(!waiting.is_finished());
        assert_eq!(status(&db.pool(1).await).await.unwrap(), Status::Pending);
        let_go(&db, &holder).await;
        assert_eq!(waiting.await.unwrap().unwrap(), [NAME]);
    }

    /// Where there is nothing to do, nobody is waited for: a start-up does not hang behind a migration.
    async fn nothing_to_do_takes_no_lock(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        let holder = hold(&db).await;
        let done = tokio::time::timeout(Duration::from_secs(5), up(&pool)).await;
        assert_eq!(done.expect("it does not wait").unwrap(), [""; 0]);
        let_go(&db, &holder).await;
    }

    /// After success, after every refusal and after an error of the database.
    async fn given_back_on_every_path(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        assert!(is_free(&db).await);
        is_clean(&db, &pool).await;

        catalogue::insert_marker(&db, 1, "credit").await.unwrap();
        assert!(matches!(down(&pool, Rows::Keep).await, Err(Error::RowsExist { rows: 1 })));
        assert!(is_free(&db).await);
        is_clean(&db, &pool).await;

        db.exec("DELETE FROM inbox_migrations").await;
        assert!(matches!(up(&pool).await, Err(Error::HalfApplied(_))));
        assert!(matches!(down(&pool, Rows::Keep).await, Err(Error::HalfApplied(_))));
        assert!(is_free(&db).await);
        is_clean(&db, &pool).await;

        // A history that cannot be written: the work itself fails. (PostgreSQL would refuse the pool's old plans first.)
        let pool = db.pool(1).await;
        db.exec("DROP TABLE inbox_message").await;
        db.exec("DROP TABLE inbox_migrations").await;
        db.exec("CREATE TABLE inbox_migrations (version VARCHAR(255) PRIMARY KEY, applied_at BIGINT CHECK (applied_at < 0))").await;
        match up(&pool).await {
            Err(Error::Database { step: "writing the inbox's history", .. }) => {}
            other => panic!("{other:?}"),
        }
        assert!(is_free(&db).await);
        is_clean(&db, &pool).await;
    }

    /// The caller goes away at every await point: the work ends all the same, and the lock is given back.
    async fn survives_the_callers_cancellation(db: TestDb) {
        let pool = db.pool(1).await;
        for polls in 1.. {
            let polled = poll_n(up(&pool), polls, Duration::from_millis(3)).await;
            let limit = std::time::Instant::now() + Duration::from_secs(20);
            // What was cancelled before it began has done nothing.
            while !is_free(&db).await {
                assert!(std::time::Instant::now() < limit, "held after the caller went away at poll {polls}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            up(&pool).await.unwrap();
            is_clean(&db, &pool).await;
            down(&pool, Rows::Keep).await.unwrap();
            if let Polled::Ready(done) = polled {
                done.unwrap();
                assert!(polls > 2, "it was never cancelled");
                break;
            }
        }
    }

    /// MySQL's locks are the server's: two databases do not wait for each other.
    [postgres, mysql]
    async fn another_database_is_not_waited_for(db: TestDb) {
        let other = TestDb::new(db.backend()).await;
        let holder = hold(&other).await;
        let pool = db.pool(1).await;
        let done = tokio::time::timeout(Duration::from_secs(10), up(&pool)).await;
        assert_eq!(done.expect("it does not wait").unwrap(), [NAME]);
        let_go(&other, &holder).await;
    }

    /// SQLite says "busy" where a server would let wait: it is asked again, on the same connection, which stays usable.
    [sqlite]
    async fn busy_is_asked_again(db: TestDb) {
        let holder = hold(&db).await;
        let pool = db
            .pool_with(|options| {
                options.max_connections(1).map_sqlx_sqlite_opts(|sqlite| sqlite.busy_timeout(Duration::from_millis(5)));
            })
            .await;
        let second = pool.clone();
        let waiting = tokio::spawn(async move { up(&second).await });
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(!waiting.is_finished());
        let_go(&db, &holder).await;
        assert_eq!(waiting.await.unwrap().unwrap(), [NAME]);
        is_clean(&db, &pool).await;
    }

    /// In a Galera cluster the lock is of one node, so `up` on another node can be between its table and its record (seen there; here
    /// an operator stands in for it). It is waited for, and not called half applied.
    [mysql]
    async fn another_node_is_first(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        db.exec("DELETE FROM inbox_migrations").await;
        let second = pool.clone();
        let waiting = tokio::spawn(async move { (status(&second).await, up(&second).await) });
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(!waiting.is_finished());
        db.exec(&format!("INSERT INTO inbox_migrations (version, applied_at) VALUES ('{NAME}', 0)")).await;
        let (status, applied) = waiting.await.unwrap();
        assert_eq!((status.unwrap(), applied.unwrap()), (Status::Applied, vec![]));

        db.exec("DELETE FROM inbox_migrations").await;
        let waiting = tokio::spawn(async move { up(&pool).await });
        tokio::time::sleep(Duration::from_millis(500)).await;
        db.exec(&format!("INSERT INTO inbox_migrations (version, applied_at) VALUES ('{NAME}', 0)")).await;
        assert_eq!(waiting.await.unwrap().unwrap(), [""; 0]);
    }

    /// A role whose transactions are snapshots sees what the holder did before it.
    [postgres]
    async fn whatever_the_roles_isolation(db: TestDb) {
        let holder = hold(&db).await;
        let pool = db.pool(1).await;
        pool.execute_unprepared("SET default_transaction_isolation = 'serializable'").await.unwrap();
        let waiting = tokio::spawn(async move { up(&pool).await });
        tokio::time::sleep(Duration::from_millis(300)).await;
        let_go(&db, &holder).await;
        // Either may be first; the other finds it done.
        let mine = up(&db.pool(1).await).await.unwrap();
        let theirs = waiting.await.unwrap().unwrap();
        assert_eq!(mine.len() + theirs.len(), 1);
    }
}

/// The number above is this text.
#[test]
fn the_postgres_key() {
    assert_eq!(i64::from_be_bytes(*b"inbox_mi"), 7_597_117_852_321_017_193);
}
