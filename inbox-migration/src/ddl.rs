//! The DDL of every backend, in one place, as text: what the migration runs is what an operator can be shown.
//!
//! The names come from [`inbox_core::entity`].

use inbox_core::entity::{CONSUMER_LENGTH, Column, Entity, LAST_ERROR_LENGTH, OPEN_INDEX, TABLE, UNIQUE_INDEX};
use sea_orm::sea_query::{
    ColumnDef, ColumnType, ConditionalStatement as _, Expr, ExprTrait as _, Index, IndexCreateStatement, Table, TableCreateStatement,
};
use sea_orm::{DbBackend, IdenStatic as _};
use sea_orm_migration::seaql_migrations;

use crate::HISTORY_TABLE;

/// SQL Server's, which the command line shows and nothing runs.
#[cfg(feature = "cli")]
pub(crate) mod mssql;

/// The columns of the first migration. Not `Column::iter()`: a column that a later version adds is not part of it.
pub(crate) const COLUMNS: [Column; 10] = [
    Column::Id,
    Column::MessageId,
    Column::Consumer,
    Column::ReceivedAt,
    Column::ProcessedAt,
    Column::ClaimToken,
    Column::ClaimedUntil,
    Column::Attempts,
    Column::Payload,
    Column::LastError,
];

/// The columns of [`UNIQUE_INDEX`], in order.
pub(crate) const UNIQUE_COLUMNS: [Column; 2] = [Column::MessageId, Column::Consumer];

/// The columns of [`OPEN_INDEX`], in order: MySQL has no partial indexes, so there the state stands in front (D10).
pub(crate) fn open_columns(backend: DbBackend) -> &'static [Column] {
    match backend {
        DbBackend::MySql => &[Column::ProcessedAt, Column::ClaimedUntil],
        _ => &[Column::ClaimedUntil],
    }
}

/// What creates the table with both indexes. On MySQL, which commits after every DDL statement, it is one statement;
/// elsewhere the caller holds a transaction around all of them, so that the table is never there without its index.
pub(crate) fn create(backend: DbBackend) -> Vec<String> {
    let mut table = table(backend);
    if backend == DbBackend::MySql {
        table.index(&mut unique_index()).index(&mut open_index(backend));
        vec![backend.build(&table).to_string()]
    } else {
        vec![backend.build(&table).to_string(), create_unique_index(backend), create_open_index(backend)]
    }
}

/// What creates our history, as SeaORM would, but for MySQL's character set: 255 characters of utf8mb4 do not fit the 767 bytes
/// of an index in the old row formats. IF NOT EXISTS is right here: whoever created it, it is empty or ours.
pub(crate) fn create_history(backend: DbBackend) -> String {
    let version = match backend {
        DbBackend::MySql => ColumnType::custom("varchar(255) CHARACTER SET ascii COLLATE ascii_bin"),
        _ => ColumnType::string(Some(255)),
    };
    let mut table = Table::create();
    table
        .table(HISTORY_TABLE)
        .if_not_exists()
        .col(ColumnDef::new_with_type(seaql_migrations::Column::Version, version).not_null().primary_key())
        .col(ColumnDef::new(seaql_migrations::Column::AppliedAt).big_integer().not_null());
    if backend == DbBackend::MySql {
        table.engine("InnoDB");
    }
    backend.build(&table).to_string()
}

/// What records a migration, by the database's clock (D13). The name is one of ours, never somebody's input.
pub(crate) fn record(backend: DbBackend, migration: &str) -> String {
    let (version, applied_at) = (seaql_migrations::Column::Version.as_str(), seaql_migrations::Column::AppliedAt.as_str());
    let now = match backend {
        DbBackend::Postgres => "CAST(extract(epoch FROM statement_timestamp()) AS bigint)",
        DbBackend::MySql => "UNIX_TIMESTAMP()",
        _ => "CAST(strftime('%s', 'now') AS integer)",
    };
    format!("INSERT INTO {HISTORY_TABLE} ({version}, {applied_at}) VALUES ('{migration}', {now})")
}

/// What takes the record back.
pub(crate) fn forget(migration: &str) -> String {
    format!("DELETE FROM {HISTORY_TABLE} WHERE {} = '{migration}'", seaql_migrations::Column::Version.as_str())
}

/// What drops our table. No CASCADE: what others hang on it is theirs to remove.
pub(crate) fn drop(backend: DbBackend) -> String {
    let mut drop = Table::drop();
    drop.table(Entity).if_exists();
    backend.build(&drop).to_string()
}

/// What mends a table without [`UNIQUE_INDEX`].
pub(crate) fn create_unique_index(backend: DbBackend) -> String {
    backend.build(&unique_index()).to_string()
}

/// What mends a table without [`OPEN_INDEX`].
pub(crate) fn create_open_index(backend: DbBackend) -> String {
    backend.build(&open_index(backend)).to_string()
}

/// What removes an index that is not what it should be.
pub(crate) fn drop_index(backend: DbBackend, name: &str) -> String {
    let mut drop = Index::drop();
    drop.name(name);
    if backend == DbBackend::MySql {
        drop.table(Entity);
    }
    backend.build(&drop).to_string()
}

fn table(backend: DbBackend) -> TableCreateStatement {
    let mut table = Table::create();
    table
        .table(Entity)
        .col(ColumnDef::new(Column::Id).big_integer().not_null().auto_increment().primary_key())
        .col(ColumnDef::new(Column::MessageId).uuid().not_null())
        .col(ColumnDef::new_with_type(Column::Consumer, consumer(backend)).not_null())
        .col(ColumnDef::new_with_type(Column::ReceivedAt, instant(backend)).not_null())
        .col(ColumnDef::new_with_type(Column::ProcessedAt, instant(backend)).null())
        .col(ColumnDef::new(Column::ClaimToken).uuid().null())
        .col(ColumnDef::new_with_type(Column::ClaimedUntil, instant(backend)).null())
        .col(ColumnDef::new(Column::Attempts).integer().not_null())
        .col(ColumnDef::new_with_type(Column::Payload, payload(backend)).null())
        .col(ColumnDef::new(Column::LastError).string_len(LAST_ERROR_LENGTH).null());
    if backend == DbBackend::MySql {
        // The engine, the character set and the collation of the server's defaults could each break the guarantee.
        table.engine("InnoDB").character_set("utf8mb4").collate("utf8mb4_bin");
    }
    table
}

fn unique_index() -> IndexCreateStatement {
    let mut index = Index::create();
    index.name(UNIQUE_INDEX).table(Entity).unique();
    for column in UNIQUE_COLUMNS {
        index.col(column);
    }
    index
}

fn open_index(backend: DbBackend) -> IndexCreateStatement {
    let mut index = Index::create();
    index.name(OPEN_INDEX).table(Entity);
    for column in open_columns(backend) {
        index.col(*column);
    }
    if backend != DbBackend::MySql {
        // sea-query would print the WHERE for MySQL too, which has none.
        index.and_where(Expr::col(Column::ProcessedAt).is_null());
    }
    index
}

/// Compared byte by byte on every backend (D9). On PostgreSQL "C" also keeps the index right when the system's library
/// changes the order of its locales, which silently breaks the uniqueness of text indexes.
fn consumer(backend: DbBackend) -> ColumnType {
    let varchar = format!("varchar({CONSUMER_LENGTH})");
    match backend {
        DbBackend::Postgres => ColumnType::custom(format!("{varchar} COLLATE \"C\"")),
        DbBackend::MySql => ColumnType::custom(format!("{varchar} CHARACTER SET ascii COLLATE ascii_bin")),
        _ => ColumnType::custom(varchar),
    }
}

/// MySQL's `timestamp` has whole seconds and ends in 2038 (D10).
fn instant(backend: DbBackend) -> ColumnType {
    match backend {
        DbBackend::MySql => ColumnType::custom("datetime(6)"),
        _ => ColumnType::TimestampWithTimeZone,
    }
}

/// MySQL's `text` ends at 64 KiB, and a session without strict mode cuts what is longer.
fn payload(backend: DbBackend) -> ColumnType {
    match backend {
        DbBackend::MySql => ColumnType::custom("longtext"),
        _ => ColumnType::Text,
    }
}

/// What stops writers while the rows are counted for the last time; `None` where the transaction does it.
pub(crate) fn lock_table(backend: DbBackend) -> Option<String> {
    match backend {
        DbBackend::Postgres => Some(format!("LOCK TABLE \"{TABLE}\" IN ACCESS EXCLUSIVE MODE")),
        DbBackend::MySql => Some(format!("LOCK TABLES `{TABLE}` WRITE")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // What stands in applied migrations must not change: a change is a new migration with a text of its own.
    #[test]
    fn postgres() {
        assert_eq!(
            create(DbBackend::Postgres),
            [
                "CREATE TABLE \"inbox_message\" ( \"id\" bigint GENERATED BY DEFAULT AS IDENTITY NOT NULL PRIMARY KEY, \
                 \"message_id\" uuid NOT NULL, \"consumer\" varchar(200) COLLATE \"C\" NOT NULL, \
                 \"received_at\" timestamp with time zone NOT NULL, \"processed_at\" timestamp with time zone NULL, \
                 \"claim_token\" uuid NULL, \"claimed_until\" timestamp with time zone NULL, \
                 \"attempts\" integer NOT NULL, \"payload\" text NULL, \"last_error\" varchar(2000) NULL )",
                "CREATE UNIQUE INDEX \"idx-inbox_message-message_consumer\" ON \"inbox_message\" (\"message_id\", \"consumer\")",
                "CREATE INDEX \"idx-inbox_message-open\" ON \"inbox_message\" (\"claimed_until\") WHERE \"processed_at\" IS NULL",
            ]
        );
    }

    #[test]
    fn mysql_is_one_statement() {
        assert_eq!(
            create(DbBackend::MySql),
            ["CREATE TABLE `inbox_message` ( `id` bigint NOT NULL PRIMARY KEY AUTO_INCREMENT, \
              `message_id` binary(16) NOT NULL, \
              `consumer` varchar(200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, \
              `received_at` datetime(6) NOT NULL, `processed_at` datetime(6) NULL, `claim_token` binary(16) NULL, \
              `claimed_until` datetime(6) NULL, `attempts` int NOT NULL, `payload` longtext NULL, \
              `last_error` varchar(2000) NULL, \
              UNIQUE KEY `idx-inbox_message-message_consumer` (`message_id`, `consumer`), \
              KEY `idx-inbox_message-open` (`processed_at`, `claimed_until`) ) \
              ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"]
        );
    }

    #[test]
    fn sqlite() {
        assert_eq!(
            create(DbBackend::Sqlite),
            [
                "CREATE TABLE \"inbox_message\" ( \"id\" integer NOT NULL PRIMARY KEY AUTOINCREMENT, \
                 \"message_id\" uuid_text NOT NULL, \"consumer\" varchar(200) NOT NULL, \
                 \"received_at\" timestamp_with_timezone_text NOT NULL, \"processed_at\" timestamp_with_timezone_text NULL, \
                 \"claim_token\" uuid_text NULL, \"claimed_until\" timestamp_with_timezone_text NULL, \
                 \"attempts\" integer NOT NULL, \"payload\" text NULL, \"last_error\" varchar(2000) NULL )",
                "CREATE UNIQUE INDEX \"idx-inbox_message-message_consumer\" ON \"inbox_message\" (\"message_id\", \"consumer\")",
                "CREATE INDEX \"idx-inbox_message-open\" ON \"inbox_message\" (\"claimed_until\") WHERE \"processed_at\" IS NULL",
            ]
        );
    }

    #[test]
    fn history() {
        assert_eq!(
            create_history(DbBackend::MySql),
            "CREATE TABLE IF NOT EXISTS `inbox_migrations` ( `version` varchar(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL \
             PRIMARY KEY, `applied_at` bigint NOT NULL ) ENGINE=InnoDB"
        );
        assert_eq!(
            create_history(DbBackend::Postgres),
            "CREATE TABLE IF NOT EXISTS \"inbox_migrations\" ( \"version\" varchar(255) NOT NULL PRIMARY KEY, \
             \"applied_at\" bigint NOT NULL )"
        );
    }

    #[test]
    fn records() {
        assert_eq!(
            record(DbBackend::Postgres, "m1"),
            "INSERT INTO inbox_migrations (version, applied_at) VALUES ('m1', CAST(extract(epoch FROM statement_timestamp()) AS bigint))"
        );
        assert_eq!(forget("m1"), "DELETE FROM inbox_migrations WHERE version = 'm1'");
        // They are written into the text as they are.
        for migration in crate::migrations() {
            assert!(migration.name().chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{}", migration.name());
        }
    }

    #[test]
    fn what_mends() {
        assert_eq!(drop_index(DbBackend::MySql, OPEN_INDEX), "DROP INDEX `idx-inbox_message-open` ON `inbox_message`");
        assert_eq!(drop_index(DbBackend::Postgres, OPEN_INDEX), "DROP INDEX \"idx-inbox_message-open\"");
        assert_eq!(drop(DbBackend::Postgres), "DROP TABLE IF EXISTS \"inbox_message\"");
        assert_eq!(
            create_open_index(DbBackend::MySql),
            "CREATE INDEX `idx-inbox_message-open` ON `inbox_message` (`processed_at`, `claimed_until`)"
        );
    }
}
