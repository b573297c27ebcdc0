//! Columns that are missing, of another type, or take NULL.

use inbox_tests::{Backend, TestDb, backends};

use crate::fixture::{is_mariadb, refused, refused_with};

const COLUMNS: [&str; 10] =
    ["id", "message_id", "consumer", "received_at", "processed_at", "claim_token", "claimed_until", "attempts", "payload", "last_error"];

backends! {
    async fn each_one_missing(db: TestDb) {
        for column in COLUMNS {
            let says = format!("`inbox_message` has no column `{column}`");
            if db.backend() == Backend::Sqlite {
                refused_with(&db, &format!("\"{column}\""), "\"another\"", &[&says]).await;
            } else {
                let gone = format!("ALTER TABLE inbox_message RENAME COLUMN {column} TO another");
                refused(&db, &[gone], &[&says]).await;
            }
        }
    }

    /// NULL equals nothing, so a key with NULL in it repeats for ever.
    async fn keys_that_take_null(db: TestDb) {
        for (column, kind) in [("message_id", "binary(16)"), ("consumer", "varchar(200) CHARACTER SET ascii COLLATE ascii_bin")] {
            let says = format!("`inbox_message.{column}` takes NULL");
            match db.backend() {
                Backend::Postgres => {
                    refused(&db, &[format!("ALTER TABLE inbox_message ALTER COLUMN {column} DROP NOT NULL")], &[&says]).await;
                }
                Backend::MySql => {
                    refused(&db, &[format!("ALTER TABLE inbox_message MODIFY {column} {kind} NULL")], &[&says]).await;
                }
                Backend::Sqlite => {
                    let kind = if column == "message_id" { "uuid_text" } else { "varchar(200)" };
                    refused_with(&db, &format!("\"{column}\" {kind} NOT NULL"), &format!("\"{column}\" {kind}"), &[&says]).await;
                }
            }
        }
    }

    /// A claim is an unfinished row.
    async fn states_that_take_no_null(db: TestDb) {
        let says = "`inbox_message.processed_at` does not take NULL";
        match db.backend() {
            Backend::Postgres => refused(&db, &["ALTER TABLE inbox_message ALTER COLUMN processed_at SET NOT NULL"], &[says]).await,
            Backend::MySql => refused(&db, &["ALTER TABLE inbox_message MODIFY processed_at datetime(6) NOT NULL"], &[says]).await,
            Backend::Sqlite => {
                let null = "\"processed_at\" timestamp_with_timezone_text NULL";
                refused_with(&db, null, &null.replace("NULL", "NOT NULL"), &[says]).await;
            }
        }
    }

    [postgres]
    async fn types_on_postgres(db: TestDb) {
        // citext is an extension; a domain is as foreign a type.
        db.exec("CREATE DOMAIN folded AS varchar(200)").await;
        for (column, kind, says) in [
            ("id", "integer", "is `integer` and should be `bigint`"),
            ("message_id", "varchar(36)", "is `character varying(36)` and should be `uuid`"),
            ("message_id", "text", "is `text` and should be `uuid`"),
            ("consumer", "folded", "is `folded` and should be"),
            ("consumer", "varchar(50)", "is `character varying(50)` and should be"),
            ("consumer", "char(200)", "is `character(200)` and should be"),
            ("received_at", "timestamp", "is `timestamp without time zone` and should be"),
            ("received_at", "timestamptz(0)", "is `timestamp(0) with time zone` and should be"),
            ("processed_at", "timestamp", "is `timestamp without time zone` and should be"),
            ("claimed_until", "date", "is `date` and should be"),
            ("claim_token", "text", "is `text` and should be"),
            ("attempts", "smallint", "is `smallint` and should be"),
            ("attempts", "bigint", "is `bigint` and should be"),
            ("payload", "varchar(100)", "is `character varying(100)` and should be"),
            ("last_error", "varchar(255)", "is `character varying(255)` and should be"),
        ] {
            let says = format!("`inbox_message.{column}` {says}");
            let change = [
                // Its predicate and its type go together.
                "DROP INDEX \"idx-inbox_message-open\"".to_owned(),
                format!("ALTER TABLE inbox_message ALTER COLUMN {column} TYPE {kind}"),
            ];
            refused(&db, &change, &[&says]).await;
        }
    }

    /// `citext` folds case without any collation.
    [postgres]
    async fn citext(db: TestDb) {
        db.exec("CREATE EXTENSION citext").await;
        let change = "ALTER TABLE inbox_message ALTER COLUMN consumer TYPE citext";
        refused(&db, &[change], &["`inbox_message.consumer` is `citext` and should be"]).await;
    }

    [mysql]
    async fn types_on_mysql(db: TestDb) {
        let mariadb = is_mariadb(&db).await;
        for (column, kind, says) in [
            ("id", "int NOT NULL AUTO_INCREMENT", "is `int(11)` and should be `bigint`"),
            ("id", "bigint unsigned NOT NULL AUTO_INCREMENT", "is `bigint(20) unsigned` and should be `bigint`"),
            ("message_id", "char(36) NOT NULL", "is `char(36)` and should be `binary(16)`"),
            ("message_id", "varchar(36) NOT NULL", "is `varchar(36)` and should be `binary(16)`"),
            ("message_id", "binary(20) NOT NULL", "is `binary(20)` and should be `binary(16)`"),
            ("message_id", "varbinary(16) NOT NULL", "is `varbinary(16)` and should be `binary(16)`"),
            ("consumer", "varchar(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL", "is `varchar(50)` and should be"),
            ("consumer", "varbinary(200) NOT NULL", "is `varbinary(200)` and should be"),
            ("consumer", "char(200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL", "is `char(200)` and should be"),
            ("received_at", "datetime NOT NULL", "is `datetime` and should be `datetime(6)`"),
            ("received_at", "datetime(3) NOT NULL", "is `datetime(3)` and should be `datetime(6)`"),
            ("received_at", "timestamp(6) NOT NULL", "is `timestamp(6)` and should be `datetime(6)`"),
            ("processed_at", "timestamp(6) NULL", "is `timestamp(6)` and should be `datetime(6)`"),
            ("claimed_until", "date NULL", "is `date` and should be `datetime(6)`"),
            ("claim_token", "char(36) NULL", "is `char(36)` and should be `binary(16)`"),
            ("attempts", "smallint NOT NULL", "is `smallint(6)` and should be `int`"),
            ("attempts", "int unsigned NOT NULL", "is `int(10) unsigned` and should be `int`"),
            ("payload", "varchar(100) NULL", "is `varchar(100)` and should be"),
            ("last_error", "varchar(255) NULL", "is `varchar(255)` and should be"),
        ] {
            let mut says = format!("`inbox_message.{column}` {says}");
            if !mariadb {
                // MySQL 8.0.19 and later show no display widths.
                for (shown, hidden) in [("int(11)", "int"), ("bigint(20)", "bigint"), ("int(10)", "int"), ("smallint(6)", "smallint")] {
                    says = says.replace(shown, hidden);
                }
            }
            let change = [format!("ALTER TABLE inbox_message MODIFY {column} {kind}")];
            refused(&db, &change, &[&says]).await;
        }
    }

    /// The type gives the affinity; a number's takes `1e5` and `100000` for one.
    [sqlite]
    async fn types_on_sqlite(db: TestDb) {
        for (column, right, wrong, says) in [
            // Only INTEGER is the row's own number; any other spelling stays NULL.
            ("id", "integer NOT NULL PRIMARY KEY AUTOINCREMENT", "int NOT NULL PRIMARY KEY", "is `int` and should be `integer`"),
            ("message_id", "uuid_text", "varchar(36)", "is `varchar(36)` and should be `uuid_text` or `blob`"),
            ("message_id", "uuid_text", "", "has no type and should be"),
            ("consumer", "varchar(200)", "integer", "is `integer` and should be"),
            ("consumer", "varchar(200)", "numeric", "is `numeric` and should be"),
            ("consumer", "varchar(200)", "varchar(20)", "is `varchar(20)` and should be"),
            ("received_at", "timestamp_with_timezone_text", "datetime", "is `datetime` and should be"),
            ("processed_at", "timestamp_with_timezone_text", "real", "is `real` and should be"),
            ("claim_token", "uuid_text", "integer", "is `integer` and should be"),
            ("claimed_until", "timestamp_with_timezone_text", "numeric", "is `numeric` and should be"),
            ("attempts", "integer", "text", "is `text` and should be"),
            ("payload", "text", "blob", "is `blob` and should be"),
            ("last_error", "varchar(2000)", "varchar(255)", "is `varchar(255)` and should be"),
        ] {
            let says = format!("`inbox_message.{column}` {says}");
            refused_with(&db, &format!("\"{column}\" {right}"), &format!("\"{column}\" {wrong}"), &[&says]).await;
        }
    }
}
