//! The proxy: it understands both protocols, and acts at the moment that was asked for.

use std::{sync::mpsc, time::Duration};

use inbox_tests::{
    Backend, Ledger, TestDb, backends, ledger,
    proxy::{Action, Kind, Moment, Passing, Proxy},
};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, EntityTrait as _, QueryOrder as _, Statement, TransactionTrait as _};

/// One transaction with one statement.
async fn deliver(pool: &DatabaseConnection) -> Result<(), DbErr> {
    let transaction = pool.begin().await?;
    ledger::credit(&transaction, 1, 1).await?;
    transaction.commit().await
}

/// Whether `sql` is the statement that `word` begins.
fn begins(sql: &str, word: &str) -> bool {
    sql.starts_with(word)
}

backends! {
    [postgres, mysql]
    async fn it_counts_round_trips(db: TestDb) {
        Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        deliver(&pool).await.unwrap();
        proxy.take();

        deliver(&pool).await.unwrap();
        let requests = proxy.round_trips();
        assert_eq!(requests.len(), 3, "the statement cache is warm: {requests:?}");
        assert!(requests.iter().all(|request| request.connection == 0 && request.kind.runs()));
        assert!(begins(&requests[0].sql, "BEGIN") && requests[0].kind == Kind::Query);
        assert!(begins(&requests[1].sql, "UPDATE") && requests[1].kind == Kind::Execute, "the text of a prepared statement");
        assert!(begins(&requests[2].sql, "COMMIT") && requests[2].kind == Kind::Query);
        assert_eq!(proxy.statements().len(), 3);
    }

    [postgres, mysql]
    async fn it_sees_the_preparing_and_the_ping(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        proxy.take();
        for (k, kinds) in [("a", &[Kind::Prepare, Kind::Execute][..]), ("b", &[Kind::Execute])] {
            ledger::record(&pool, k, 1).await.unwrap();
            assert_eq!(proxy.round_trips().iter().map(|request| request.kind).collect::<Vec<_>>(), kinds);
            proxy.take();
        }
        pool.ping().await.unwrap();
        assert!(proxy.take().iter().any(|request| request.kind == Kind::Ping));
        assert_eq!(ledger.records().await, 2);
    }

    /// Rows, errors, empty results, several results in one answer, big and many packets: the borders stay right, or the
    /// next request would be taken for a part of this one.
    [postgres, mysql]
    async fn it_finds_the_end_of_every_answer(db: TestDb) {
        Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        for n in 0..300 {
            ledger::record(&pool, &format!("{n:0200}"), n).await.unwrap();
        }
        let rows = ledger::biz::Entity::find().order_by_asc(ledger::biz::Column::Id).all(&pool).await.unwrap();
        assert_eq!(rows.len(), 300);
        assert!(ledger::record(&pool, &format!("{:0200}", 7), 0).await.is_err());
        assert!(pool.execute_unprepared("no such statement").await.is_err());
        let (backend, big) = (db.backend().db_backend(), "x".repeat(200_000));
        let echo = Statement::from_string(backend, format!("SELECT '{big}'"));
        assert_eq!(pool.query_one_raw(echo).await.unwrap().unwrap().try_get_by_index::<String>(0).unwrap(), big);
        pool.execute_unprepared("SELECT 1; SELECT k FROM biz WHERE v < 3; SELECT 3").await.unwrap();
        let none = Statement::from_string(backend, "SELECT k FROM biz WHERE v < 0");
        assert!(pool.query_all_raw(none).await.unwrap().is_empty());

        proxy.take();
        let held = proxy.on(Passing::Commit, Moment::BeforeAnswer, Action::Hold);
        let other = pool.clone();
        let delivery = tokio::spawn(async move { deliver(&other).await });
        held.reached().await;
        assert_eq!(db.scalar_i64("SELECT bal FROM acct WHERE id = 1").await, 1, "held by the right answer");
        assert!(!delivery.is_finished());
        held.release();
        delivery.await.unwrap().unwrap();
        assert_eq!(proxy.statements().len(), 3);
    }

    [postgres, mysql]
    async fn it_cuts_at_the_moment(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        // Whether the transaction is committed when COMMIT is cut, and what the client hears of it.
        for (moment, committed, heard) in
            [(Moment::BeforeRequest, 0, false), (Moment::BeforeAnswer, 1, false), (Moment::AfterAnswer, 1, true)]
        {
            let proxy = Proxy::start(&db).await;
            let pool = proxy.pool(1).await;
            let before = ledger.balance(1).await;
            let cut = proxy.on(Passing::Commit, moment, Action::Cut);
            let heard_of = deliver(&pool).await;
            cut.reached().await;
            assert_eq!(heard_of.is_ok(), heard, "{moment:?}: {heard_of:?}");
            assert_eq!(ledger.balance(1).await - before, committed, "{moment:?}");
            // A rule is used once.
            let _ = deliver(&pool).await;
            deliver(&pool).await.unwrap();
        }
    }

    [postgres, mysql]
    async fn it_acts_on_each_step_of_a_transaction(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let marker = format!("INSERT INTO {} ", inbox_core::entity::TABLE);
        for (passing, word) in [
            (Passing::Begin, "BEGIN"),
            (Passing::Marker, marker.as_str()),
            (Passing::Statement("acct".to_owned()), "UPDATE"),
            (Passing::Rollback, "ROLLBACK"),
        ] {
            let proxy = Proxy::start(&db).await;
            let pool = proxy.pool(1).await;
            let (called, calls) = mpsc::channel();
            let hit = proxy.on(passing.clone(), Moment::BeforeRequest, Action::CallThenCut(Box::new(move || called.send(()).unwrap())));
            let outcome: Result<(), DbErr> = async {
                let transaction = pool.begin().await?;
                ledger::credit(&transaction, 1, 1).await?;
                // Refused, but it goes by.
                let _ = transaction.execute_unprepared(&format!("{marker}VALUES (1)")).await;
                transaction.rollback().await
            }
            .await;
            hit.reached().await;
            calls.recv_timeout(Duration::from_secs(1)).expect("called");
            assert!(outcome.is_err(), "{passing:?}");
            let last = proxy.requests().pop().unwrap();
            assert!(last.sql.replace(['"', '`'], "").starts_with(word), "{passing:?}: {last:?}");
        }
        assert_eq!(ledger.balance(1).await, 0);
    }

    [postgres, mysql]
    async fn it_delays(db: TestDb) {
        Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        deliver(&pool).await.unwrap();
        proxy.delay(Duration::from_millis(50));
        let begun = std::time::Instant::now();
        deliver(&pool).await.unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(150), "three round trips");
    }

    [postgres, mysql]
    async fn it_ends_with_its_connections(db: TestDb) {
        Ledger::new(&db).await;
        let proxy = Proxy::start(&db).await;
        let pool = proxy.pool(1).await;
        drop(proxy);
        assert!(deliver(&pool).await.is_err());
    }
}

#[tokio::test]
#[should_panic(expected = "SQLite has no server")]
async fn there_is_nothing_to_proxy_on_sqlite() {
    let db = TestDb::new(Backend::Sqlite).await;
    Proxy::start(&db).await;
}
