//! A pool whose traffic is written down.

use std::{
    mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use inbox_tests::{
    Backend, TestDb,
    hooks::{self, Hooks},
    proxy::{Kind, Proxy},
};
use sea_orm::DatabaseConnection;

/// One pool with one connection, and what goes by.
pub(crate) enum Wire {
    Network(Proxy),
    /// The statements as SeaORM sends them, which are all but BEGIN, COMMIT and ROLLBACK; the commits are counted.
    File {
        statements: Arc<Mutex<Vec<String>>>,
        commits: Arc<AtomicUsize>,
    },
}

impl Wire {
    pub(crate) async fn new(db: &TestDb) -> (Self, DatabaseConnection) {
        if db.backend() != Backend::Sqlite {
            let proxy = Proxy::start(db).await;
            let pool = proxy.pool(1).await;
            return (Self::Network(proxy), pool);
        }
        let (statements, commits) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let counted = commits.clone();
        let hook = Hooks::new().on_commit(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            true
        });
        let mut pool = db.pool_with(|options| hooks::sqlite(options.max_connections(1), hook)).await;
        let written = statements.clone();
        pool.set_metric_callback(move |info| written.lock().unwrap().push(info.statement.sql.clone()));
        (Self::File { statements, commits }, pool)
    }

    /// The requests since the last call, in short, without the pings that a pool sends when a connection comes back. No
    /// statement may have been prepared, because a warm connection has them all.
    pub(crate) fn took(&self) -> Vec<String> {
        match self {
            Self::Network(proxy) => {
                let requests = proxy.take();
                let asked = requests.iter().filter(|request| request.kind != Kind::Ping);
                asked.map(|request| if request.kind.runs() { short(&request.sql) } else { format!("{:?}", request.kind) }).collect()
            }
            Self::File { statements, commits } => {
                let mut took: Vec<_> = mem::take(&mut *statements.lock().unwrap()).iter().map(|sql| short(sql)).collect();
                took.extend((0..commits.swap(0, Ordering::SeqCst)).map(|_| "COMMIT".to_owned()));
                took
            }
        }
    }
}

/// The verb and the table, where there is one of ours.
fn short(sql: &str) -> String {
    let verb = sql.split(' ').next().unwrap_or_default();
    match ["inbox_message", "acct", "biz"].iter().find(|table| sql.contains(*table)) {
        Some(table) => format!("{verb} {table}"),
        None => sql.split(" _sqlx_savepoint").next().unwrap_or_default().to_owned(),
    }
}
