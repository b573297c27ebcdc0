use sea_orm::DatabaseBackend::{MySql, Postgres, Sqlite};
use sea_orm::sqlx::Error as SqlxError;
use sea_orm::{DbErr, RuntimeErr};

use super::Verdict::{Duplicate, Other, Unreadable};
use super::{marker, mssql, mysql, postgres, sqlite};
use crate::entity::UNIQUE_INDEX;
use crate::fake::{Fake, statement};

#[test]
fn postgres_by_code_and_constraint() {
    for (code, constraint, expected) in [
        ("23505", Some(UNIQUE_INDEX), Duplicate),
        // A partition's index, another index, and the engines that do not name it: the table decides.
        ("23505", Some("inbox_credit_message_id_consumer_idx"), Unreadable),
        ("23505", Some("inbox_message_pkey"), Unreadable),
        ("23505", Some("idx-inbox_message-message_consumer "), Unreadable),
        ("23505", Some("x-idx-inbox_message-message_consumer"), Unreadable),
        ("23505", Some(""), Unreadable),
        ("23505", None, Unreadable),
        // Our name, another trouble: a lock timeout, a cancelled statement, a row that is too large for the index.
        ("55P03", Some(UNIQUE_INDEX), Other),
        ("57014", Some(UNIQUE_INDEX), Other),
        ("54000", Some(UNIQUE_INDEX), Other),
        ("40001", Some(UNIQUE_INDEX), Other),
        ("40P01", None, Other),
        ("23503", Some(UNIQUE_INDEX), Other),
        ("23502", None, Other),
        ("23514", None, Other),
        ("23P01", Some(UNIQUE_INDEX), Other),
        ("25P02", None, Other),
        ("", Some(UNIQUE_INDEX), Other),
    ] {
        assert_eq!(postgres(code, constraint), expected, "{code} {constraint:?}");
    }
}

/// The words around the name do not count, nor does what stands before it.
#[test]
fn mysql_by_the_last_quoted_name() {
    for (text, expected) in [
        // 5.7, MariaDB.
        ("Duplicate entry '\\x01\\xAB-credit' for key 'idx-inbox_message-message_consumer'", Duplicate),
        // 8.0.19 and later.
        ("Duplicate entry 'a-credit' for key 'inbox_message.idx-inbox_message-message_consumer'", Duplicate),
        ("Duplicate entry 'a-credit' for key 'shop.inbox_message.idx-inbox_message-message_consumer'", Duplicate),
        ("Duplicate entry 'a-credit' for key 'my.shop.inbox_message.idx-inbox_message-message_consumer'", Duplicate),
        // MariaDB shortens what is long.
        ("Duplicate entry 'aaaaaaaaaaaaaaa...' for key 'idx-inbox_message-message_consumer'", Duplicate),
        // Its German, French, Hungarian and Japanese.
        ("Doppelter Eintrag 'a-credit' für Schlüssel 'idx-inbox_message-message_consumer'", Duplicate),
        ("Duplicata du champ 'a-credit' pour la clef 'idx-inbox_message-message_consumer'", Duplicate),
        ("Duplikalt bejegyzes 'a-credit' a 'idx-inbox_message-message_consumer' kulcs szerint.", Duplicate),
        ("重複エントリ 'a-credit' は索引 'idx-inbox_message-message_consumer' で使用されています", Duplicate),
        // Values with quotes, line ends, nothing.
        ("Duplicate entry 'it's-credit' for key 'idx-inbox_message-message_consumer'", Duplicate),
        ("Duplicate entry 'a\nb-credit' for key 'idx-inbox_message-message_consumer'", Duplicate),
        ("Duplicate entry '' for key 'idx-inbox_message-message_consumer'", Duplicate),
        ("Duplicate entry ''' for key 'idx-inbox_message-message_consumer'", Duplicate),
        // The number in place of the name, as 5.0 had it: the value is quoted last.
        ("Duplicate entry 'a-credit' for key 2", Unreadable),
        ("Duplicate entry 'it's' for key 2", Unreadable),
        ("Duplicate entry for some key", Unreadable),
        ("", Unreadable),
        ("Eintrag doppelt: `idx-inbox_message-message_consumer`", Unreadable),
        // Other indexes.
        ("Duplicate entry '1' for key 'PRIMARY'", Other),
        ("Duplicate entry '1' for key 'inbox_message.PRIMARY'", Other),
        ("Duplicate entry 'a' for key 'biz_k'", Other),
        ("Duplicate entry 'a' for key 'x-idx-inbox_message-message_consumer'", Other),
        ("Duplicate entry 'a' for key 'idx-inbox_message-message_consumer-x'", Other),
        ("Duplicate entry 'a' for key 'x_inbox_message.idx-inbox_message-message_consumer'", Other),
        ("Duplicate entry 'a' for key 'shop.x_inbox_message.idx-inbox_message-message_consumer'", Other),
        ("Duplicate entry 'a' for key 'inbox_message_x.idx-inbox_message-message_consumer'", Other),
        ("Duplicate entry 'a' for key '.idx-inbox_message-message_consumer'", Other),
        ("Duplicate entry 'a' for key 'IDX-INBOX_MESSAGE-MESSAGE_CONSUMER'", Other),
        ("Duplicate entry 'a' for key ' idx-inbox_message-message_consumer'", Other),
        ("Duplicate entry 'a' for key ''", Other),
        // Values that imitate the name.
        ("Duplicate entry 'x' for key 'idx-inbox_message-message_consumer' for key 'biz_k'", Other),
        ("Duplicate entry 'inbox_message.idx-inbox_message-message_consumer' for key 'biz.biz_k'", Other),
        ("Doppelter Eintrag 'x' für Schlüssel 'idx-inbox_message-message_consumer' für Schlüssel 'biz_k'", Other),
    ] {
        assert_eq!(mysql(true, text), expected, "{text}");
        assert_eq!(mysql(false, text), Other, "without the code: {text}");
    }
}

/// The number in place of the name, behind a value that imitates it, cannot be told from a language that goes on behind the
/// name. The marker's value is 16 bytes and a literal, nobody's choice; and the look at the table has the last word.
#[test]
fn mysql_where_the_value_is_quoted_last() {
    for text in [
        "Duplicate entry 'idx-inbox_message-message_consumer' for key 2",
        "Duplicate entry 'x' for key 'idx-inbox_message-message_consumer' for key 2",
    ] {
        assert_eq!(mysql(true, text), Duplicate);
    }
}

#[test]
fn sqlite_by_the_exact_list() {
    for (code, text, expected) in [
        ("2067", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer", Duplicate),
        // An index on expressions is named.
        ("2067", "UNIQUE constraint failed: index 'idx-inbox_message-message_consumer'", Duplicate),
        ("2067", "UNIQUE constraint failed: index 'x-idx-inbox_message-message_consumer'", Other),
        ("2067", "UNIQUE constraint failed: index 'idx-inbox_message-message_consumer' x", Other),
        ("2067", "UNIQUE constraint failed: index idx-inbox_message-message_consumer", Other),
        // Other tables, other columns, wider and narrower keys, another order.
        ("2067", "UNIQUE constraint failed: x_inbox_message.message_id, x_inbox_message.consumer", Other),
        ("2067", "UNIQUE constraint failed: inbox_message_x.message_id, inbox_message_x.consumer", Other),
        ("2067", "UNIQUE constraint failed: inbox_message.message_id", Other),
        ("2067", "UNIQUE constraint failed: inbox_message.consumer", Other),
        ("2067", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer, inbox_message.attempts", Other),
        ("2067", "UNIQUE constraint failed: inbox_message.message_id_x, inbox_message.consumer", Other),
        ("2067", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumers", Other),
        ("2067", "UNIQUE constraint failed: biz.message_id, biz.consumer", Other),
        ("2067", "UNIQUE constraint failed: inbox_message.message_id, x.consumer", Other),
        ("2067", "UNIQUE constraint failed: inbox_message.consumer, inbox_message.message_id", Other),
        ("2067", "UNIQUE constraint failed: ", Other),
        // Other words.
        ("2067", "columns message_id, consumer are not unique", Unreadable),
        ("2067", "", Unreadable),
        // Other codes with our words: a primary key, a rowid, not null, a trigger, busy.
        ("1555", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer", Other),
        ("2579", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer", Other),
        ("1299", "NOT NULL constraint failed: inbox_message.message_id", Other),
        ("1811", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer", Other),
        ("19", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer", Other),
        ("5", "database is locked", Other),
        ("", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer", Other),
    ] {
        assert_eq!(sqlite(code, text), expected, "{code}: {text}");
    }
}

/// No server for it here: the texts are the documented ones.
#[test]
fn mssql_by_the_name_at_its_place() {
    for (number, text, expected) in [
        (
            2601,
            "Cannot insert duplicate key row in object 'dbo.inbox_message' with unique index 'idx-inbox_message-message_consumer'. The \
             duplicate key value is (0191, credit).",
            Duplicate,
        ),
        (
            2627,
            "Violation of UNIQUE KEY constraint 'idx-inbox_message-message_consumer'. Cannot insert duplicate key in object \
             'dbo.inbox_message'. The duplicate key value is (0191, credit).",
            Duplicate,
        ),
        (2627, "Violation of PRIMARY KEY constraint 'PK_inbox_message'. Cannot insert duplicate key in object 'dbo.inbox_message'.", Other),
        (2601, "Cannot insert duplicate key row in object 'dbo.biz' with unique index 'biz_k'. The duplicate key value is (a).", Other),
        // The value stands last and may say anything.
        (
            2601,
            "Cannot insert duplicate key row in object 'dbo.biz' with unique index 'biz_k'. The duplicate key value is (x' with unique \
             index 'idx-inbox_message-message_consumer').",
            Other,
        ),
        (
            2627,
            "Violation of UNIQUE KEY constraint 'biz_k'. Cannot insert duplicate key in object 'dbo.biz'. The duplicate key value is \
             ('idx-inbox_message-message_consumer').",
            Other,
        ),
        // A table of that name is not the index.
        (2601, "… in object 'idx-inbox_message-message_consumer' with unique index 'biz_k'. …", Other),
        (2627, "Violation of UNIQUE KEY constraint 'x-idx-inbox_message-message_consumer'. …", Other),
        // Another language: the same order of the names.
        (
            2601,
            "Eine Zeile mit doppeltem Schlüssel kann in das 'dbo.inbox_message'-Objekt mit dem eindeutigen \
             'idx-inbox_message-message_consumer'-Index nicht eingefügt werden. Der doppelte Schlüsselwert ist (0191, credit).",
            Duplicate,
        ),
        (2601, "Cannot insert duplicate key row", Unreadable),
        (2627, "", Unreadable),
        // Deadlock, lock timeout, not null, and our words under another number.
        (1205, "Transaction was deadlocked on lock resources 'idx-inbox_message-message_consumer'", Other),
        (1222, "Lock request time out period exceeded.", Other),
        (515, "Cannot insert the value NULL into column 'message_id'", Other),
        (547, "Violation of UNIQUE KEY constraint 'idx-inbox_message-message_consumer'.", Other),
    ] {
        assert_eq!(mssql(number, text), expected, "{number}: {text}");
    }
}

#[test]
fn a_marker_insert_through_sea_orm() {
    let duplicate = [
        (Postgres, Fake::postgres("23505", "doppelter Schlüsselwert", Some(UNIQUE_INDEX))),
        (MySql, Fake::mysql(1062, Some("23000"), "Duplicate entry 'a' for key 'idx-inbox_message-message_consumer'")),
        (MySql, Fake::mysql(1586, Some("23000"), "Duplicate entry 'a' for key 'idx-inbox_message-message_consumer'")),
        (Sqlite, Fake::sqlite("2067", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer")),
    ];
    for (backend, error) in duplicate {
        let error = SqlxError::Database(Box::new(error)).into();
        let error = RuntimeErr::SqlxError(error);
        // The variant depends on whether the statement returned rows.
        for error in [DbErr::Exec(error.clone()), DbErr::Query(error.clone())] {
            assert_eq!(marker(backend, &error), Duplicate, "{error}");
        }
        assert_eq!(marker(backend, &DbErr::Conn(error)), Other);
    }
    for (backend, error) in [
        // The words alone.
        (MySql, Fake::mysql(1452, Some("23000"), "x 'idx-inbox_message-message_consumer'")),
        (MySql, Fake::mysql(1644, Some("23000"), "Duplicate entry 'a' for key 'idx-inbox_message-message_consumer'")),
        (Postgres, Fake::postgres("P0001", "duplicate key value violates unique constraint", Some(UNIQUE_INDEX))),
        (Sqlite, Fake::sqlite("1811", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer")),
        // Another backend's.
        (Sqlite, Fake::postgres("23505", "x", Some(UNIQUE_INDEX))),
        (Postgres, Fake::sqlite("2067", "UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer")),
    ] {
        assert_eq!(marker(backend, &error.statement()), Other, "{backend:?}");
    }
    for error in [
        statement(SqlxError::RowNotFound),
        DbErr::Exec(RuntimeErr::Internal("23505 idx-inbox_message-message_consumer".into())),
        DbErr::Custom("UNIQUE constraint failed: inbox_message.message_id, inbox_message.consumer".into()),
    ] {
        assert_eq!([Postgres, MySql, Sqlite].map(|backend| marker(backend, &error)), [Other; 3], "{error}");
    }
}
