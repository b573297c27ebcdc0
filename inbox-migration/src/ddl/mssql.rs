//! SQL Server's DDL. SeaORM 2.0 has no driver for it and sea-query no text, so this one is written by hand and nothing here runs it.

use inbox_core::entity::{CONSUMER_LENGTH, Column, LAST_ERROR_LENGTH, OPEN_INDEX, TABLE, UNIQUE_INDEX};
use sea_orm::IdenStatic as _;

use super::{COLUMNS, UNIQUE_COLUMNS};

/// What a session must have on where there is a filtered index: without them every INSERT fails with 1934. `sqlcmd` has
/// `QUOTED_IDENTIFIER` off.
pub(crate) const SETTINGS: [&str; 2] = [
    "SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON",
    "SET NUMERIC_ROUNDABORT OFF",
];

/// The table, its unique index, its open index. The classic shape: rows are kept in the order of a key that grows, so that
/// inserts append, and the random ids are in an index beside it.
pub(crate) fn create() -> [String; 3] {
    let columns: Vec<String> = COLUMNS.iter().map(|column| format!("[{}] {}", column.as_str(), definition(*column))).collect();
    let [message_id, consumer] = UNIQUE_COLUMNS.map(|column| column.as_str());
    let (until, processed) = (Column::ClaimedUntil.as_str(), Column::ProcessedAt.as_str());
    [
        format!("CREATE TABLE [{TABLE}] ( {} )", columns.join(", ")),
        format!("CREATE UNIQUE NONCLUSTERED INDEX [{UNIQUE_INDEX}] ON [{TABLE}] ([{message_id}], [{consumer}])"),
        format!("CREATE NONCLUSTERED INDEX [{OPEN_INDEX}] ON [{TABLE}] ([{until}]) WHERE [{processed}] IS NULL"),
    ]
}

/// What drops it.
pub(crate) fn drop() -> String {
    format!("DROP TABLE IF EXISTS [{TABLE}]")
}

/// Times are UTC, in microseconds as everywhere. `consumer` is compared byte by byte (D9).
fn definition(column: Column) -> String {
    match column {
        Column::Id => format!("bigint IDENTITY(1,1) NOT NULL CONSTRAINT [pk-{TABLE}] PRIMARY KEY CLUSTERED"),
        Column::MessageId => "uniqueidentifier NOT NULL".to_owned(),
        Column::Consumer => format!("varchar({CONSUMER_LENGTH}) COLLATE Latin1_General_BIN2 NOT NULL"),
        Column::ReceivedAt => "datetime2(6) NOT NULL".to_owned(),
        Column::ProcessedAt | Column::ClaimedUntil => "datetime2(6) NULL".to_owned(),
        Column::ClaimToken => "uniqueidentifier NULL".to_owned(),
        Column::Attempts => "int NOT NULL".to_owned(),
        Column::Payload => "nvarchar(max) NULL".to_owned(),
        Column::LastError => format!("nvarchar({LAST_ERROR_LENGTH}) NULL"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classic_shape() {
        assert_eq!(
            create(),
            [
                "CREATE TABLE [inbox_message] ( [id] bigint IDENTITY(1,1) NOT NULL CONSTRAINT [pk-inbox_message] PRIMARY KEY CLUSTERED, \
                 [message_id] uniqueidentifier NOT NULL, [consumer] varchar(200) COLLATE Latin1_General_BIN2 NOT NULL, \
                 [received_at] datetime2(6) NOT NULL, [processed_at] datetime2(6) NULL, [claim_token] uniqueidentifier NULL, \
                 [claimed_until] datetime2(6) NULL, [attempts] int NOT NULL, [payload] nvarchar(max) NULL, \
                 [last_error] nvarchar(2000) NULL )",
                "CREATE UNIQUE NONCLUSTERED INDEX [idx-inbox_message-message_consumer] ON [inbox_message] ([message_id], [consumer])",
                "CREATE NONCLUSTERED INDEX [idx-inbox_message-open] ON [inbox_message] ([claimed_until]) WHERE [processed_at] IS NULL",
            ]
        );
        assert_eq!(drop(), "DROP TABLE IF EXISTS [inbox_message]");
    }
}
