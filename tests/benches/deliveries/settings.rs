//! What a result depends on, printed beside it.

use inbox_tests::{Backend, TestDb};
use sea_orm::{ConnectionTrait as _, Statement};

use crate::Args;

pub(crate) fn machine(args: &Args) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let profile = if cfg!(debug_assertions) { "debug: the ratios mean nothing" } else { "release" };
    format!(
        "{} rounds of {} deliveries each way, {cores} cores for clients and servers together, build: {profile}",
        args.rounds, args.deliveries
    )
}

/// The server's version, and whether what it has answered survives a power cut.
pub(crate) async fn server(db: &TestDb) -> String {
    let (version, names): (&str, &[&str]) = db.backend().pick(
        ("SHOW server_version", &["fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "wal_sync_method"]),
        (
            "SELECT VERSION()",
            &["innodb_flush_log_at_trx_commit", "innodb_doublewrite", "innodb_buffer_pool_size", "log_bin", "transaction_isolation"],
        ),
        ("SELECT sqlite_version()", &["journal_mode", "page_size"]),
    );
    let mut settings = vec![format!("version {}", text(db, version).await)];
    for name in names {
        let sql = db.backend().pick(format!("SHOW {name}"), format!("SELECT @@{name}"), format!("PRAGMA {name}"));
        settings.push(format!("{name} = {}", text(db, &sql).await));
    }
    if db.backend() == Backend::Sqlite {
        // Of the bench's own connections.
        settings.push("synchronous = FULL".to_owned());
    }
    settings.join(", ")
}

async fn text(db: &TestDb, sql: &str) -> String {
    let statement = Statement::from_string(db.backend().db_backend(), sql);
    match db.observer().query_one_raw(statement).await {
        Ok(Some(row)) => row
            .try_get_by_index::<String>(0)
            .or_else(|_| row.try_get_by_index::<i64>(0).map(|n| n.to_string()))
            .or_else(|_| row.try_get_by_index::<u64>(0).map(|n| n.to_string()))
            .unwrap_or_else(|_| "?".to_owned()),
        _ => "?".to_owned(),
    }
}
