//! BEGIN: cut in half, refused, and where there is no runtime for it.

use std::{
    future::Future,
    mem::ManuallyDrop,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use inbox_core::{Error, Options, process_replayed, process_with};
use inbox_tests::{
    Backend, Ledger, TestDb, backends,
    proxy::{Action, Moment, Passing, Proxy},
    race::Count,
};
use sea_orm::{DatabaseConnection, TransactionTrait as _};
use tokio::runtime::Runtime;

use crate::delivery::{assert_clean, assert_effects, deliver, effect, fresh, processed};

backends! {
    /// Case 2. SQLite has no moment between the two.
    [postgres, mysql]
    async fn cancelled_while_it_is_under_way(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        for moment in [Moment::BeforeRequest, Moment::BeforeAnswer] {
            let proxy = Proxy::start(&db).await;
            let pool = proxy.pool(1).await;
            let held = proxy.on(Passing::Begin, moment, Action::Hold);
            let (key, bodies) = (fresh(), Count::new());
            let delivery = tokio::spawn({
                let (pool, key, bodies) = (pool.clone(), key.clone(), bodies.clone());
                async move { deliver(&pool, key, Options::new(), &bodies, "never").await }
            });
            held.reached().await;
            delivery.abort();
            assert!(delivery.await.unwrap_err().is_cancelled());
            held.release();
            assert_clean(&ledger, &pool).await;
            assert_eq!((bodies.get(), ledger.markers_of(*key.message_id().as_uuid()).await, ledger.records_of("never").await), (0, 0, 0));
        }
    }

    /// The server says nothing, and is gone.
    [postgres, mysql]
    async fn a_connection_lost_at_begin_is_an_error_of_begin(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        for moment in [Moment::BeforeRequest, Moment::BeforeAnswer] {
            let proxy = Proxy::start(&db).await;
            let pool = proxy.pool(1).await;
            let cut = proxy.on(Passing::Begin, moment, Action::Cut);
            let error = refused(&pool, Options::new()).await;
            assert!(matches!(error, Error::Begin(_)) && error.is_transient(), "{error:?}");
            cut.reached().await;
            assert_clean(&ledger, &pool).await;
        }
    }

    async fn an_exhausted_pool_is_an_error_of_begin(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db
            .pool_with(|options| {
                options.max_connections(1).acquire_timeout(Duration::from_millis(200));
            })
            .await;
        let held = pool.begin().await.unwrap();
        let error = refused(&pool, Options::new()).await;
        assert!(matches!(error, Error::Begin(_)) && error.is_transient(), "{error:?}");
        assert!(error.to_string().contains("a body that uses the pool instead of the transaction"), "{error}");
        held.rollback().await.unwrap();
        assert_clean(&ledger, &pool).await;
    }

    async fn a_closed_pool_is_an_error_of_begin(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        pool.clone().close().await.unwrap();
        let error = refused(&pool, Options::new()).await;
        assert!(matches!(error, Error::Begin(_)) && error.is_transient(), "{error:?}");
        assert_effects(&ledger, 0).await;
    }

    /// Its BEGIN takes the write lock, and waits for it no longer than the busy timeout.
    [sqlite]
    async fn a_busy_file_is_an_error_of_begin(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db
            .pool_with(|options| {
                options.max_connections(1).map_sqlx_sqlite_opts(|sqlite| sqlite.busy_timeout(Duration::from_millis(50)));
            })
            .await;
        let writer = db.pool(1).await.begin().await.unwrap();
        inbox_tests::ledger::credit(&writer, 1, 0).await.unwrap();
        let error = refused(&pool, Options::new()).await;
        assert!(matches!(error, Error::Begin(_)) && error.is_transient(), "{error:?}");
        writer.rollback().await.unwrap();
        assert_clean(&ledger, &pool).await;
    }
}

/// An error of this library's own and not of the handler's.
async fn refused(pool: &DatabaseConnection, options: Options) -> Error {
    process_with(pool, fresh(), &options, async |_| -> Result<(), Error> { panic!("the body ran") }).await.unwrap_err()
}

/// Polls without any runtime.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

#[test]
fn no_runtime_is_an_error_of_begin() {
    outside_of_a_runtime(|_| None::<()>, false);
}

#[test]
fn a_runtime_that_shuts_down_is_an_error_of_begin() {
    outside_of_a_runtime(
        |handle| {
            let dying = Runtime::new().unwrap();
            let entered = handle.insert(dying.handle().clone()).enter();
            dying.shutdown_background();
            Some(entered)
        },
        true,
    );
}

/// Delivers on every backend, on every way in, where no task can run: an error, and no panic.
fn outside_of_a_runtime<'h, G>(enter: impl Fn(&'h mut Option<tokio::runtime::Handle>) -> Option<G>, transient: bool) {
    for backend in Backend::ALL {
        let alive = Runtime::new().unwrap();
        let (ledger, pool) = alive.block_on(async {
            let db = TestDb::new(backend).await;
            (Ledger::new(&db).await, db.pool(1).await)
        });
        // Whoever gets no connection at once sets a timer, which panics on a runtime that shuts down.
        // Its destructor would panic in the middle of a failing test.
        let held = ManuallyDrop::new(alive.block_on(pool.begin()).unwrap());
        {
            let handle = Box::leak(Box::new(None));
            let _entered = enter(handle);
            for options in [Options::new(), Options::new().fast_path(true)] {
                let error = block_on(refused(&pool, options));
                assert!(matches!(error, Error::Begin(_)), "{backend}, {options:?}: {error:?}");
                assert_eq!(error.is_transient(), transient, "{backend}, {options:?}: {error:?}");
            }
            let options = Options::new();
            let replayed = process_replayed(&pool, fresh(), &options, 3, || async |_| -> Result<(), Error> { panic!("the body ran") });
            let error = block_on(replayed).unwrap_err();
            assert!(matches!(error, Error::Begin(_)), "{backend}, replayed: {error:?}");
        }
        alive.block_on(async {
            ManuallyDrop::into_inner(held).rollback().await.unwrap();
            let answer = process_with(&pool, fresh(), &Options::new(), async |tx| effect(tx, "afterwards").await).await;
            assert!(processed(&answer), "{answer:?}");
            assert_effects(&ledger, 1).await;
            pool.close().await.unwrap();
            drop(ledger);
        });
    }
}
