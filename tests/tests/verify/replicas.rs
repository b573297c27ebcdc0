//! Replicas that start together, and databases that are busy just then.

use std::time::Duration;

use inbox_core::verify;
use inbox_tests::{TestDb, backends, race::Replicas};
use sea_orm::{ConnectionTrait as _, TransactionTrait as _};

use crate::fixture::{accepts, start_afresh};

backends! {
    /// A fixed id deadlocked them: 29 of 40 calls.
    async fn eight_at_once(db: TestDb) {
        start_afresh(&db).await;
        let replicas = Replicas::new(&db, 8).await;
        for round in 1..=5 {
            for answer in replicas.race(|_, pool| async move { verify(&pool).await }).await {
                answer.unwrap_or_else(|error| panic!("round {round}: {error}"));
            }
            assert_eq!(db.count("inbox_message").await, 0, "round {round}");
        }
    }

    /// Why they do not: no two of them write the same key. Sequences remember what a rollback forgets.
    [postgres]
    async fn with_a_fresh_id_each_time(db: TestDb) {
        start_afresh(&db).await;
        for sql in [
            "CREATE SEQUENCE seen MINVALUE -2147483648",
            "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM setval('seen', hashtext(NEW.message_id::text)); RETURN NEW; END $$",
            "CREATE TRIGGER note BEFORE INSERT ON inbox_message FOR EACH ROW EXECUTE FUNCTION note()",
        ] {
            db.exec(sql).await;
        }
        let mut seen = std::collections::HashSet::new();
        for _ in 0..5 {
            accepts(&db).await;
            seen.insert(db.scalar_i64("SELECT last_value FROM seen").await);
        }
        assert_eq!(seen.len(), 5);
    }

    /// As services start: on an empty database, each migrates and verifies.
    async fn eight_migrate_and_verify_at_once(db: TestDb) {
        let replicas = Replicas::new(&db, 8).await;
        let answers = replicas
            .race(|_, pool| async move {
                inbox_migration::up(&pool).await.map_err(|error| error.to_string())?;
                verify(&pool).await.map_err(|error| error.to_string())
            })
            .await;
        for answer in answers {
            answer.unwrap();
        }
        accepts(&db).await;
    }

    /// While deliveries go on, too.
    async fn beside_a_delivery(db: TestDb) {
        start_afresh(&db).await;
        let pool = db.pool(1).await;
        let delivery = pool.begin().await.unwrap();
        if db.backend() == inbox_tests::Backend::Sqlite {
            // One writer: it waits for the other's end, which comes.
            delivery.execute_unprepared("CREATE TABLE busy (a integer)").await.unwrap();
            let waiting = tokio::spawn({
                let pool = db.pool(1).await;
                async move { verify(&pool).await }
            });
            tokio::time::sleep(Duration::from_millis(200)).await;
            delivery.commit().await.unwrap();
            waiting.await.unwrap().unwrap();
        } else {
            let now = db.backend().pick("now()", "UTC_TIMESTAMP(6)", "");
            let id = db.backend().pick("gen_random_uuid()", "UNHEX(REPEAT('7f', 16))", "");
            let insert = "INSERT INTO inbox_message (message_id, consumer, received_at, attempts) VALUES";
            delivery.execute_unprepared(&format!("{insert} ({id}, 'credit', {now}, 0)")).await.unwrap();
            accepts(&db).await;
            delivery.commit().await.unwrap();
        }
    }

    /// A lock that nobody gives up in time is transient: it tries again, and the second or third time the lock is gone.
    async fn a_lock_that_goes_away(db: TestDb) {
        start_afresh(&db).await;
        let pool = impatient(&db).await;
        let holder = hold(&db).await;
        let verifying = tokio::spawn(async move { verify(&pool).await });
        // Longer than one statement waits, shorter than all tries together.
        tokio::time::sleep(db.backend().pick(Duration::from_millis(150), Duration::from_millis(1300), Duration::from_millis(150))).await;
        assert!(!verifying.is_finished(), "it gave up: {:?}", verifying.await);
        let_go(&db, &holder).await;
        verifying.await.unwrap().unwrap();
        assert_eq!(db.count("inbox_message").await, 0);
    }

    /// One that stays is no fault of the schema, and it does not wait for ever.
    async fn a_lock_that_stays(db: TestDb) {
        start_afresh(&db).await;
        let pool = impatient(&db).await;
        let holder = hold(&db).await;
        let begun = std::time::Instant::now();
        let error = verify(&pool).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert!(!matches!(error, inbox_core::Error::Schema(_)), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        let_go(&db, &holder).await;
        verify(&pool).await.unwrap();
    }

    /// A time limit is no fault of the schema either, and nobody is told to drop the table for it.
    [postgres]
    async fn a_statement_that_takes_too_long(db: TestDb) {
        start_afresh(&db).await;
        let pool = db.pool(1).await;
        pool.execute_unprepared("SET statement_timeout = '100ms'").await.unwrap();
        let holder = hold(&db).await;
        let error = verify(&pool).await.unwrap_err();
        assert!(matches!(error, inbox_core::Error::Query(_)) && error.to_string().contains("statement timeout"), "{error}");
        let_go(&db, &holder).await;
        verify(&pool).await.unwrap();
    }

    /// A pool that has nothing to give is asked for a limited time.
    async fn an_exhausted_pool(db: TestDb) {
        start_afresh(&db).await;
        let pool = db.pool_with(|options| _ = options.max_connections(1).acquire_timeout(Duration::from_secs(2))).await;
        let holder = pool.begin().await.unwrap();
        let begun = std::time::Instant::now();
        let error = verify(&pool).await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        holder.rollback().await.unwrap();
        verify(&pool).await.unwrap();
    }
}

/// A pool whose statements wait for locks as short a time as the backend can.
async fn impatient(db: &TestDb) -> sea_orm::DatabaseConnection {
    let pool = db
        .pool_with(|options| {
            options.max_connections(1).map_sqlx_sqlite_opts(|sqlite| sqlite.busy_timeout(Duration::from_millis(1)));
        })
        .await;
    let setting = db.backend().pick("SET lock_timeout = '10ms'", "SET SESSION lock_wait_timeout = 1", "SELECT 1");
    pool.execute_unprepared(setting).await.unwrap();
    pool
}

/// Somebody has the whole table.
async fn hold(db: &TestDb) -> sea_orm::DatabaseConnection {
    let holder = db.pool(1).await;
    let lock =
        db.backend().pick("BEGIN; LOCK TABLE inbox_message IN ACCESS EXCLUSIVE MODE", "LOCK TABLES inbox_message WRITE", "BEGIN IMMEDIATE");
    holder.execute_unprepared(lock).await.unwrap();
    holder
}

async fn let_go(db: &TestDb, holder: &sea_orm::DatabaseConnection) {
    holder.execute_unprepared(db.backend().pick("ROLLBACK", "UNLOCK TABLES", "ROLLBACK")).await.unwrap();
}
