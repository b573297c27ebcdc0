//! Child processes and SQLite's hooks.

use std::sync::{Arc, Mutex};

use inbox_tests::{
    Ledger, TestDb, backends, child,
    hooks::{self, Hooks},
    ledger,
    proxy::{Action, Moment, Passing, Proxy},
};
use sea_orm::{ConnectOptions, Database, DatabaseConnection, DbErr, TransactionTrait as _};

async fn deliver(pool: &DatabaseConnection) -> Result<(), DbErr> {
    let transaction = pool.begin().await?;
    ledger::credit(&transaction, 1, 1).await?;
    transaction.commit().await
}

/// Delivers on the URL that the parent passed.
#[tokio::test]
#[ignore = "runs only as the child process of crash tests"]
async fn child_main() {
    let mut options = ConnectOptions::new(child::argument("url"));
    if child::argument("dies_at") == "commit" {
        hooks::sqlite(&mut options, Hooks::new().on_commit(|_| child::die()));
    }
    let pool = Database::connect(options).await.unwrap();
    deliver(&pool).await.unwrap();
}

#[tokio::test]
#[should_panic(expected = "runs only as the child process")]
async fn a_childs_test_cannot_pass_by_accident() {
    child::argument("url");
}

backends! {
    async fn a_child_ends_by_itself(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let ended = child::spawn("crashes::child_main", &[("url", db.url()), ("dies_at", "")]).wait().await;
        assert!(ended.status.success() && !ended.killed(), "{}", ended.output);
        assert!(ended.output.contains("1 passed"), "{}", ended.output);
        assert_eq!(ledger.balance(1).await, 1);
    }

    [postgres, mysql]
    async fn the_proxy_kills_a_child_at_the_moment(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        for (moment, committed) in [(Moment::BeforeRequest, 0), (Moment::BeforeAnswer, 1)] {
            let before = ledger.balance(1).await;
            let proxy = Proxy::start(&db).await;
            // The rule has to be there before the child is, and the child before it can be killed.
            let child: Arc<Mutex<Option<child::Child>>> = Arc::default();
            let victim = child.clone();
            let hit = proxy.on(Passing::Commit, moment, Action::CallThenCut(Box::new(move || victim.lock().unwrap().take().unwrap().kill())));
            let running = {
                let mut slot = child.lock().unwrap();
                let running = child::spawn("crashes::child_main", &[("url", &proxy.url()), ("dies_at", "")]);
                slot.insert(running).clone()
            };
            hit.reached().await;
            let ended = running.wait().await;
            assert!(ended.killed(), "{}", ended.output);
            assert_eq!(ledger.balance(1).await - before, committed, "{moment:?}");
        }
    }

    [sqlite]
    async fn a_child_dies_in_its_commit_hook(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let ended = child::spawn("crashes::child_main", &[("url", db.url()), ("dies_at", "commit")]).wait().await;
        assert!(ended.killed(), "{}", ended.output);
        assert_eq!(ledger.balance(1).await, 0);
        deliver(&db.pool(1).await).await.unwrap();
        assert_eq!(ledger.balance(1).await, 1, "the dead writer's lock is gone");
    }

    [sqlite]
    async fn hooks_see_inserts_and_can_refuse_a_commit(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let tables: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = tables.clone();
        let hooked = Hooks::new().on_commit(|before| before > 0).on_insert(move |table| seen.lock().unwrap().push(table.to_owned()));
        let pool = db.pool_with(|options| hooks::sqlite(options, hooked)).await;
        assert!(ledger::record(&pool, "a", 1).await.is_err());
        assert_eq!(ledger.records().await, 0);
        ledger::record(&pool, "a", 1).await.unwrap();
        assert_eq!(ledger.records().await, 1);
        assert_eq!(*tables.lock().unwrap(), ["biz", "biz"]);
    }
}
