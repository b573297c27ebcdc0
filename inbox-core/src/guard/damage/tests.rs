use std::io;

use sea_orm::sqlx::Error as SqlxError;
use sea_orm::{ConnAcquireErr, DbBackend, DbErr, RuntimeErr};

use super::{Damage, of};
use crate::fake::{Fake, statement};

const BACKENDS: [DbBackend; 3] = [DbBackend::Postgres, DbBackend::MySql, DbBackend::Sqlite];

#[test]
fn postgres_rolls_back_to_a_savepoint_or_not_at_all() {
    for code in
        ["23505", "23503", "22012", "42601", "42P01", "55P03", "57014", "P0001", "54000", "53200", "25006", "26000", "XX000", "2D000"]
    {
        assert_eq!(of(DbBackend::Postgres, &Fake::postgres(code, "x", None).statement()), Damage::Savepoint, "{code}");
    }
    for code in ["40001", "40P01", "40002", "40003", "08006", "08P01", "57P01", "57P02", "57P03", "57P05", "25P02", "25P03", "25P04"] {
        assert_eq!(of(DbBackend::Postgres, &Fake::postgres(code, "x", None).statement()), Damage::Transaction, "{code}");
    }
}

#[test]
fn mysql_rolls_back_the_statement_or_everything() {
    for (number, state) in
        [(1062, "23000"), (1452, "23000"), (1364, "HY000"), (1064, "42000"), (1146, "42S02"), (1242, "21000"), (1305, "42000")]
    {
        assert_eq!(of(DbBackend::MySql, &Fake::mysql(number, Some(state), "1213 (40001): x").statement()), Damage::None, "{number}");
    }
    for (number, state) in [
        (1213, "40001"),
        (1205, "HY000"),
        (1020, "HY000"),
        (1047, "08S01"),
        (1053, "08S01"),
        (1180, "HY000"),
        (1206, "HY000"),
        (1402, "XA100"),
        (1613, "XA106"),
        (1614, "XA102"),
        (1927, "70100"),
        (3101, "40000"),
        // Numbers of another server, by their class.
        (9007, "40001"),
        (9001, "08004"),
    ] {
        assert_eq!(of(DbBackend::MySql, &Fake::mysql(number, Some(state), "x").statement()), Damage::Transaction, "{number}");
    }
    assert_eq!(of(DbBackend::MySql, &Fake::mysql(1205, None, "x").statement()), Damage::Transaction);
    // Whose number cannot be read may be any.
    assert_eq!(of(DbBackend::MySql, &Fake::postgres("HY000", "x", None).statement()), Damage::Transaction);
}

#[test]
fn sqlite_is_asked() {
    for code in ["1", "5", "13", "787", "1555", "1811", "2067"] {
        assert_eq!(of(DbBackend::Sqlite, &Fake::sqlite(code, "x").statement()), Damage::AskSqlite, "{code}");
    }
}

#[test]
fn what_this_side_found_out_is_no_damage() {
    for backend in BACKENDS {
        for error in [
            statement(SqlxError::RowNotFound),
            statement(SqlxError::ColumnNotFound("x".into())),
            statement(SqlxError::ColumnIndexOutOfBounds { index: 1, len: 0 }),
            statement(SqlxError::Decode("x".into())),
            statement(SqlxError::Encode("x".into())),
            statement(SqlxError::ColumnDecode { index: "x".into(), source: "x".into() }),
            statement(SqlxError::TypeNotFound { type_name: "x".into() }),
            DbErr::RecordNotFound("x".into()),
            DbErr::RecordNotInserted,
            DbErr::RecordNotUpdated,
            DbErr::Custom("x".into()),
            DbErr::Type("x".into()),
            DbErr::Json("x".into()),
            DbErr::UnpackInsertId,
        ] {
            assert_eq!(of(backend, &error), Damage::None, "{backend:?}: {error:?}");
        }
    }
}

#[test]
fn a_connection_that_is_gone_or_in_doubt_is_final() {
    let io = || SqlxError::Io(io::Error::new(io::ErrorKind::ConnectionReset, "x"));
    for backend in BACKENDS {
        for error in [
            statement(io()),
            DbErr::Query(RuntimeErr::SqlxError(io().into())),
            statement(SqlxError::Protocol("x".into())),
            statement(SqlxError::WorkerCrashed),
            statement(SqlxError::PoolClosed),
            statement(SqlxError::PoolTimedOut),
            statement(SqlxError::BeginFailed),
            DbErr::Conn(RuntimeErr::Internal("x".into())),
            DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed),
        ] {
            assert_eq!(of(backend, &error), Damage::Transaction, "{backend:?}: {error:?}");
        }
    }
}

/// SeaORM's mock, and SeaORM itself.
#[test]
fn an_internal_error_is_as_bad_as_a_statements() {
    let error = DbErr::Exec(RuntimeErr::Internal("x".into()));
    assert_eq!(BACKENDS.map(|backend| of(backend, &error)), [Damage::Savepoint, Damage::None, Damage::None]);
}
