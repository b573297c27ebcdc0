//! Up, down, up.

use inbox_migration::{Error, HISTORY_TABLE, Rows, Status, adopt, down, status, up};
use inbox_tests::{TestDb, backends};
use sea_orm::{ConnectionTrait as _, TransactionTrait as _};

use super::catalogue::{self, insert_marker};

pub(crate) const NAME: &str = "m20261130_000001_create_inbox_message";

backends! {
    async fn up_down_up(db: TestDb) {
        let pool = db.pool(1).await;
        db.exec("CREATE TABLE customers (id INTEGER PRIMARY KEY)").await;
        assert_eq!(status(&pool).await.unwrap(), Status::Pending);
        assert_eq!(catalogue::tables(&db).await, ["customers"], "looking creates nothing");

        assert_eq!(up(&pool).await.unwrap(), [NAME]);
        assert_eq!(up(&pool).await.unwrap(), [""; 0]);
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);
        assert_eq!(catalogue::tables(&db).await, ["customers", "inbox_message", HISTORY_TABLE]);
        assert_eq!(catalogue::history(&db, HISTORY_TABLE).await, [NAME]);
        let first = catalogue::ddl(&db, "inbox_message").await;

        assert_eq!(down(&pool, Rows::Keep).await.unwrap(), [NAME]);
        assert_eq!(down(&pool, Rows::Keep).await.unwrap(), [""; 0]);
        assert_eq!(status(&pool).await.unwrap(), Status::Pending);
        assert_eq!(catalogue::tables(&db).await, ["customers", HISTORY_TABLE]);
        assert_eq!(catalogue::history(&db, HISTORY_TABLE).await, [""; 0]);

        assert_eq!(up(&pool).await.unwrap(), [NAME]);
        assert_eq!(catalogue::ddl(&db, "inbox_message").await, first);
        inbox_core::verify(&pool).await.unwrap();
    }

    /// The markers stay, and so does a pool that is clean: no transaction, no lock on any table.
    async fn down_refuses_while_there_are_markers(db: TestDb) {
        let pool = db.pool(1).await;
        db.exec("CREATE TABLE biz (k INTEGER PRIMARY KEY)").await;
        up(&pool).await.unwrap();
        insert_marker(&db, 1, "credit").await.unwrap();
        insert_marker(&db, 1, "email").await.unwrap();
        match down(&pool, Rows::Keep).await {
            Err(Error::RowsExist { rows: 2 }) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(db.count("inbox_message").await, 2);
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);
        pool.execute_unprepared("INSERT INTO biz VALUES (1)").await.unwrap();
        assert_eq!(db.count("biz").await, 1, "seen by another connection");

        assert_eq!(down(&pool, Rows::Lose).await.unwrap(), [NAME]);
        assert_eq!(status(&pool).await.unwrap(), Status::Pending);
        pool.execute_unprepared("INSERT INTO biz VALUES (2)").await.unwrap();
        assert_eq!(db.count("biz").await, 2);
    }

    /// A marker that is committed between the count and the drop is not dropped with the table: `down` locks, and counts again.
    async fn a_marker_that_comes_in_between(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        let handler = db.pool(1).await.begin().await.unwrap();
        let now = db.backend().pick("now()", "UTC_TIMESTAMP(6)", "'2026-01-01T00:00:00.000+00:00'");
        let id = db.backend().pick("gen_random_uuid()", "RANDOM_BYTES(16)", "randomblob(16)");
        let insert = "INSERT INTO inbox_message (message_id, consumer, received_at, processed_at, attempts)";
        handler.execute_unprepared(&format!("{insert} VALUES ({id}, 'credit', {now}, {now}, 0)")).await.unwrap();

        let second = pool.clone();
        let waiting = tokio::spawn(async move { down(&second, Rows::Keep).await });
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        assert!(!waiting.is_finished());
        handler.commit().await.unwrap();
        match waiting.await.unwrap() {
            Err(Error::RowsExist { rows: 1 }) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(db.count("inbox_message").await, 1);
        // And nothing is locked any more, for this connection or for another.
        db.exec("DELETE FROM inbox_message").await;
        pool.execute_unprepared("CREATE TABLE biz (k INTEGER)").await.unwrap();
        down(&pool, Rows::Keep).await.unwrap();
    }

    /// An empty table is dropped, and again the pool is clean.
    async fn down_drops_an_empty_table(db: TestDb) {
        let pool = db.pool(1).await;
        db.exec("CREATE TABLE biz (k INTEGER PRIMARY KEY)").await;
        up(&pool).await.unwrap();
        insert_marker(&db, 1, "credit").await.unwrap();
        db.exec("DELETE FROM inbox_message").await;
        down(&pool, Rows::Keep).await.unwrap();
        pool.execute_unprepared("INSERT INTO biz VALUES (1)").await.unwrap();
        assert_eq!(db.count("biz").await, 1);
    }

    /// What a newer version did, this one does not undo; a start-up with an older version is no error, as in a rolling
    /// deployment.
    async fn a_newer_history(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        db.exec("INSERT INTO inbox_migrations (version, applied_at) VALUES ('m20990101_000001_inbox_of_the_future', 0)").await;
        assert_eq!(up(&pool).await.unwrap(), [""; 0]);
        match down(&pool, Rows::Lose).await {
            Err(Error::Newer { names }) => assert_eq!(names, ["m20990101_000001_inbox_of_the_future"]),
            other => panic!("{other:?}"),
        }
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);
    }

    /// `adopt` is `up` where nothing is there, and a no-op where all is.
    async fn adopting_where_there_is_nothing_to_adopt(db: TestDb) {
        let pool = db.pool(1).await;
        assert_eq!(adopt(&pool).await.unwrap(), [NAME]);
        assert_eq!(adopt(&pool).await.unwrap(), [""; 0]);
        inbox_core::verify(&pool).await.unwrap();
    }
}

/// A typed error, and no panic.
#[test]
fn without_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let db = runtime.block_on(sea_orm::Database::connect("sqlite::memory:")).unwrap();
    let outside = futures_util::FutureExt::now_or_never(down(&db, Rows::Keep)).expect("it does not wait");
    assert!(matches!(outside, Err(Error::Runtime(_))), "{outside:?}");
}
