//! The judgement and the remedies, as tables. What the servers' catalogues really show is in `tests/tests/verify.rs`.

use sea_orm::DatabaseBackend::{MySql, Postgres, Sqlite};
use sea_orm::{DbBackend, DbErr, RuntimeErr};

use super::SchemaError;
use super::judge::{Catalogue, Column, Fault, Index, Owner, Shown, Table, Wanted, fits, judge};
use super::meaning::{Meaning, meaning, of_code};
use super::remedy::{Mend, quoted};
use crate::entity::UNIQUE_INDEX;

const WANTED: &[Wanted] =
    &[Wanted { name: "consumer", kinds: &["varchar(200)", "text"], nullable: false, definition: "varchar(200) COLLATE x_bin" }];

fn column(kind: &str) -> Column {
    Column { name: "consumer".to_owned(), kind: kind.to_owned(), nullable: false, folds: None }
}

fn index(name: &str, keys: &[&str]) -> Index {
    Index { name: name.to_owned(), keys: keys.iter().map(|key| Some((*key).to_owned())).collect(), unique: true, ..Index::default() }
}

fn right() -> Table {
    Table {
        storage: None,
        wanted: WANTED,
        columns: vec![column("varchar(200)")],
        indexes: vec![index(UNIQUE_INDEX, &["message_id", "consumer"]), index("PRIMARY", &["id"])],
    }
}

fn refusal(backend: DbBackend, shown: Shown) -> SchemaError {
    match judge(backend, shown) {
        Catalogue::Wrong(faults) => SchemaError::of(backend, faults),
        other => panic!("{other:?}"),
    }
}

/// Every type that a catalogue was seen to show, or may.
#[test]
fn types() {
    for (backend, wanted, kind, expected) in [
        (Postgres, "timestamp(6) with time zone", "timestamp with time zone", true),
        (Postgres, "timestamp(6) with time zone", "timestamp(6) with time zone", true),
        (Postgres, "timestamp(6) with time zone", "timestamp(3) with time zone", false),
        (Postgres, "timestamp(6) with time zone", "timestamp without time zone", false),
        (Postgres, "timestamp(6) with time zone", "timestamp(6) without time zone", false),
        (Postgres, "character varying(200)", "character varying", true),
        (Postgres, "character varying(200)", "character varying(255)", true),
        (Postgres, "character varying(200)", "character varying(199)", false),
        (Postgres, "character varying(200)", "character(200)", false),
        (Postgres, "text", "citext", false),
        (Postgres, "integer", "bigint", false),
        (Postgres, "uuid", "uuid[]", false),
        (MySql, "datetime(6)", "datetime(6)", true),
        (MySql, "datetime(6)", "datetime", false),
        (MySql, "datetime(6)", "datetime(3)", false),
        (MySql, "datetime(6)", "timestamp(6)", false),
        (MySql, "binary(16)", "binary(16)", true),
        (MySql, "binary(16)", "binary(20)", false),
        (MySql, "binary(16)", "varbinary(16)", false),
        (MySql, "bigint", "bigint", true),
        (MySql, "bigint", "bigint(20)", true),
        (MySql, "bigint", "bigint(20) unsigned", false),
        (MySql, "int", "int(11)", true),
        (MySql, "int", "integer", false),
        (Sqlite, "varchar(200)", "varchar(200)", true),
        (Sqlite, "varchar(200)", "varchar", true),
        (Sqlite, "varchar(200)", "varchar(20)", false),
        (Sqlite, "text", "", false),
        (Sqlite, "integer", "int", false),
        (Sqlite, "varchar(200)", "varchar(many)", false),
        (Sqlite, "varchar(200)", "varchar(200", false),
    ] {
        assert_eq!(fits(backend, wanted, kind), expected, "{backend:?}: {kind} for {wanted}");
    }
}

#[test]
fn the_right_table_is_proven() {
    for backend in [Postgres, MySql, Sqlite] {
        assert!(matches!(judge(backend, Shown::Table(right())), Catalogue::Proven));
    }
    assert!(matches!(judge(MySql, Shown::Hidden), Catalogue::Unreadable(None)));
}

#[test]
fn no_table() {
    let error = refusal(Postgres, Shown::Nothing(" in {public}".to_owned()));
    assert_eq!(
        error.to_string(),
        "the inbox table is not what this version needs: there is no table `inbox_message` in {public}. Take no message before it is \
         mended: run `inbox up` (or your own migrator with `inbox_migration::migrations()` in it)"
    );
    let error = refusal(Sqlite, Shown::NoTable("a view".to_owned()));
    assert_eq!(error.problems(), ["`inbox_message` is a view and must be a table"]);
    assert!(error.remedy().contains("`inbox down --force`"), "{error}");
}

/// The SQL stands in the order in which it works: what is in the way goes first, our index comes last.
#[test]
fn a_remedy_is_in_order() {
    let table = Table {
        columns: vec![Column { nullable: true, ..column("varchar(20)") }],
        indexes: vec![
            Index { owner: Owner::Constraint, faults: vec!["is deferrable"], ..index(UNIQUE_INDEX, &["message_id", "consumer"]) },
            index("a\"b", &["message_id"]),
        ],
        ..right()
    };
    let error = refusal(Postgres, Shown::Table(table));
    assert_eq!(
        error.problems(),
        [
            "`inbox_message.consumer` is `varchar(20)` and should be `varchar(200)` or `text`",
            "`inbox_message.consumer` takes NULL, and NULL equals nothing, so it repeats",
            "index `idx-inbox_message-message_consumer` is deferrable",
            "`inbox_message` has another unique index, `a\"b` on (message_id): it refuses markers that are no duplicates, or hides those \
             that are",
        ]
    );
    assert_eq!(
        error.remedy(),
        "stop the consumers and run `ALTER TABLE inbox_message DROP CONSTRAINT \"idx-inbox_message-message_consumer\"`; `DROP INDEX \
         \"a\"\"b\"`; `ALTER TABLE inbox_message ALTER COLUMN consumer SET NOT NULL`; `ALTER TABLE inbox_message ALTER COLUMN consumer \
         TYPE varchar(200) COLLATE x_bin USING consumer::varchar(200)`; `CREATE UNIQUE INDEX \"idx-inbox_message-message_consumer\" ON \
         inbox_message (message_id, consumer)` (where it says that rows repeat a key: their messages took effect more than once; \
         look at them and delete the surplus first)"
    );
}

#[test]
fn mysql_has_backticks_of_its_own() {
    let table = Table {
        columns: vec![Column { nullable: true, folds: Some("is compared by x_ci".to_owned()), ..column("varchar(200)") }],
        indexes: vec![index("a`b", &["consumer"])],
        ..right()
    };
    let error = refusal(MySql, Shown::Table(table));
    assert_eq!(
        error.remedy(),
        "stop the consumers and run `` DROP INDEX `a``b` ON inbox_message ``; `ALTER TABLE inbox_message MODIFY consumer varchar(200) \
         COLLATE x_bin NOT NULL`; `` CREATE UNIQUE INDEX `idx-inbox_message-message_consumer` ON inbox_message (message_id, consumer) \
         `` (where it says that rows repeat a key: their messages took effect more than once; look at them and delete the surplus \
         first)"
    );
}

/// Where one line of SQL does not do, the remedy does not pretend so.
#[test]
fn what_no_sql_mends() {
    let binary: &[Wanted] = &[Wanted { name: "consumer", kinds: &["binary(16)"], nullable: false, definition: "binary(16)" }];
    let cases = [
        (Sqlite, Table { columns: vec![column("integer")], ..right() }),
        (Postgres, Table { columns: Vec::new(), ..right() }),
        (MySql, Table { wanted: binary, columns: vec![column("char(36)")], ..right() }),
        (MySql, Table { indexes: vec![Index { owner: Owner::Table, ..index("PRIMARY", &["message_id"]) }], ..right() }),
    ];
    for (backend, table) in cases {
        let error = refusal(backend, Shown::Table(table));
        assert!(error.remedy().contains("`inbox down --force` and `inbox up`"), "{error}");
        assert!(!error.remedy().contains("ALTER"), "{error}");
    }
}

/// An index that holds the surrogate key never refuses a marker, so it is nobody's business.
#[test]
fn an_index_with_the_surrogate_key_is_harmless() {
    let mut table = right();
    table.indexes.push(index("partitioned_pk", &["received_at", "id"]));
    assert!(matches!(judge(Postgres, Shown::Table(table)), Catalogue::Proven));

    let mut table = right();
    table.indexes.push(Index { keys: vec![None], ..index("on_lower", &[]) });
    let error = refusal(Postgres, Shown::Table(table));
    assert!(error.problems()[0].contains("`on_lower` on (an expression or a part of a column)"), "{error}");
}

#[test]
fn rights() {
    let error = |backend, mend| SchemaError::of(backend, vec![Fault::new("refused", [mend])]);
    assert!(error(Postgres, Mend::Grant).remedy().starts_with("`GRANT SELECT, INSERT, UPDATE, DELETE ON inbox_message`"));
    assert!(error(Sqlite, Mend::Grant).remedy().contains("mode=rwc"));
    assert!(error(Postgres, Mend::Ask).remedy().contains("`inbox verify` as the table's owner"));
}

#[test]
fn names_are_quoted_with_their_own_quotes() {
    assert_eq!(quoted(Postgres, "a\"b"), "\"a\"\"b\"");
    assert_eq!(quoted(MySql, "a`b"), "`a``b`");
}

/// What speaks of something else gets no remedy for the schema: the cure would lose the markers.
#[test]
fn what_an_error_speaks_of() {
    use Meaning::{NoRight, NoTable, Nothing, WrongTable};
    for (backend, code, number, expected) in [
        (Postgres, "42P01", None, NoTable),
        (Postgres, "42703", None, WrongTable),
        (Postgres, "23505", None, WrongTable),
        (Postgres, "23502", None, WrongTable),
        (Postgres, "22001", None, WrongTable),
        (Postgres, "P0001", None, WrongTable),
        (Postgres, "42501", None, NoRight),
        (Postgres, "57014", None, Nothing),
        (Postgres, "53100", None, Nothing),
        (Postgres, "53200", None, Nothing),
        (Postgres, "58030", None, Nothing),
        (Postgres, "XX001", None, Nothing),
        (Postgres, "25P02", None, Nothing),
        (MySql, "42S02", Some(1146), NoTable),
        (MySql, "42S22", Some(1054), WrongTable),
        (MySql, "HY000", Some(1364), WrongTable),
        (MySql, "23000", Some(1062), WrongTable),
        (MySql, "45000", Some(1644), WrongTable),
        (MySql, "42000", Some(1142), NoRight),
        (MySql, "42000", Some(1143), NoRight),
        (MySql, "HY000", Some(1114), Nothing),
        (MySql, "HY000", Some(1021), Nothing),
        (MySql, "70100", Some(3024), Nothing),
        (Sqlite, "1", None, WrongTable),
        (Sqlite, "2067", None, WrongTable),
        (Sqlite, "1299", None, WrongTable),
        (Sqlite, "8", None, NoRight),
        (Sqlite, "1032", None, NoRight),
        (Sqlite, "10", None, Nothing),
        (Sqlite, "11", None, Nothing),
        (Sqlite, "13", None, Nothing),
        (Sqlite, "26", None, Nothing),
        (Sqlite, "", None, Nothing),
    ] {
        assert_eq!(of_code(backend, code, number), expected, "{backend:?} {code} {number:?}");
    }
    assert_eq!(meaning(Sqlite, &DbErr::Type("a text where a number should be".to_owned())), WrongTable);
    assert_eq!(meaning(Sqlite, &DbErr::Conn(RuntimeErr::Internal("gone".to_owned()))), Nothing);
}

/// It travels in `Result`s of the hot path.
#[test]
fn an_error_is_small() {
    assert!(size_of::<crate::Error>() <= 128, "{}", size_of::<crate::Error>());
}
