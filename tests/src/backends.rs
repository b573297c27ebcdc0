//! The three backends, and the macro that turns one body into one test for each.

use std::{fmt, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;
use sea_orm::DbBackend;

use crate::TestDb;

/// No test may take longer than this: a deadlock is reported as one instead of stopping the whole run.
const LIMIT: Duration = Duration::from_mins(5);

/// A database that the product supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// PostgreSQL.
    Postgres,
    /// MariaDB (or MySQL, where `INBOX_TEST_MYSQL_URL` names one).
    MySql,
    /// SQLite.
    Sqlite,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Postgres, Self::MySql, Self::Sqlite];

    /// SeaORM's name of it.
    pub fn db_backend(self) -> DbBackend {
        match self {
            Self::Postgres => DbBackend::Postgres,
            Self::MySql => DbBackend::MySql,
            Self::Sqlite => DbBackend::Sqlite,
        }
    }

    /// Languages that the server can answer in, for `SET lc_messages = '…'`; SQLite has English only.
    ///
    /// MariaDB's German names the key last, its Hungarian and Japanese go on behind it.
    pub fn languages(self) -> &'static [&'static str] {
        self.pick(&["de_DE.UTF-8", "fr_FR.UTF-8", "ja_JP.UTF-8"], &["de_DE", "hu_HU", "ja_JP"], &[])
    }

    /// Chooses by backend, for the few texts that differ.
    pub fn pick<T>(self, postgres: T, mysql: T, sqlite: T) -> T {
        match self {
            Self::Postgres => postgres,
            Self::MySql => mysql,
            Self::Sqlite => sqlite,
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick("PostgreSQL", "MariaDB", "SQLite"))
    }
}

/// What a test body may return: nothing, or a result whose error fails the test.
pub trait TestResult {
    /// Whether the test failed without a panic.
    fn failed(&self) -> bool;
}

impl TestResult for () {
    fn failed(&self) -> bool {
        false
    }
}

impl<E> TestResult for Result<(), E> {
    fn failed(&self) -> bool {
        self.is_err()
    }
}

/// Runs one body on a fresh database; [`backends!`](crate::backends!) calls it.
///
/// The database is dropped when the body succeeds, and kept when it fails, whoever else still holds the [`TestDb`].
///
/// # Panics
/// With the body's own panic, or when the body takes more than five minutes.
pub async fn run<R: TestResult>(backend: Backend, body: impl AsyncFnOnce(TestDb) -> R) -> R {
    let db = TestDb::new(backend).await;
    let outcome = AssertUnwindSafe(tokio::time::timeout(LIMIT, body(db.clone()))).catch_unwind().await;
    match outcome {
        Ok(Ok(result)) => {
            if result.failed() {
                db.keep();
            }
            result
        }
        Ok(Err(_)) => {
            db.keep();
            panic!("the test did not end within {LIMIT:?} on {backend}");
        }
        Err(panic) => {
            db.keep();
            std::panic::resume_unwind(panic)
        }
    }
}

/// Writes each behaviour once and tests it on every backend.
///
/// ```
/// use inbox_tests::{TestDb, backends};
///
/// backends! {
///     /// What must hold.
///     async fn one_plus_one(db: TestDb) {
///         assert_eq!(db.scalar_i64("SELECT 1 + 1").await, 2);
///     }
///
///     /// The servers only, because a proxy needs a network between the two sides.
///     [postgres, mysql]
///     async fn over_the_network(db: TestDb) -> anyhow::Result<()> {
///         anyhow::ensure!(db.scalar_i64("SELECT 1").await == 1);
///         Ok(())
///     }
/// }
/// # fn main() {}
/// ```
///
/// It makes the tests `one_plus_one::{postgres, mysql, sqlite}` and `over_the_network::{postgres, mysql}`, each on a
/// multi-threaded runtime with a database of its own. Attributes (`#[ignore = "…"]`, `#[should_panic]`) go to every
/// one of them. The list in brackets is for behaviour that a backend does not have; give the reason.
#[macro_export]
macro_rules! backends {
    ($($(#[$attr:meta])* $([$($only:ident),+ $(,)?])? async fn $name:ident($($arg:tt)*) $(-> $ret:ty)? $body:block)+) => {$(
        mod $name {
            #[allow(unused_imports, clippy::wildcard_imports)]
            use super::*;

            #[allow(clippy::too_many_lines)]
            async fn body($($arg)*) $(-> $ret)? $body

            $crate::backends!(@list [$($($only)+)?] {$(#[$attr])*} {$($ret)?});
        }
    )+};
    (@list [] $attrs:tt $ret:tt) => { $crate::backends!(@list [postgres mysql sqlite] $attrs $ret); };
    (@list [$($only:ident)+] $attrs:tt $ret:tt) => { $($crate::backends!(@test $only $attrs $ret);)+ };
    (@test postgres $attrs:tt $ret:tt) => { $crate::backends!(@fn postgres Postgres $attrs $ret); };
    (@test mysql $attrs:tt $ret:tt) => { $crate::backends!(@fn mysql MySql $attrs $ret); };
    (@test sqlite $attrs:tt $ret:tt) => { $crate::backends!(@fn sqlite Sqlite $attrs $ret); };
    (@fn $name:ident $backend:ident {$($attr:tt)*} {$($ret:ty)?}) => {
        $($attr)*
        #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $name() $(-> $ret)? {
            $crate::backends::run($crate::Backend::$backend, body).await
        }
    };
}
