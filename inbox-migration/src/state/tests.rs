use super::*;
use crate::catalog::Index;

const BACKENDS: [DbBackend; 3] = [DbBackend::Postgres, DbBackend::MySql, DbBackend::Sqlite];

fn whole(backend: DbBackend) -> Table {
    let columns = |of: &[inbox_core::entity::Column]| of.iter().map(|column| Some(column.as_str().to_owned())).collect();
    let index = |name: &str, unique: bool, of: &[inbox_core::entity::Column]| Index {
        name: name.to_owned(),
        unique,
        valid: true,
        partial: !unique && backend != DbBackend::MySql,
        columns: columns(of),
    };
    Table {
        columns: ddl::COLUMNS.iter().map(|column| column.as_str().to_owned()).collect(),
        indexes: vec![index(UNIQUE_INDEX, true, &ddl::UNIQUE_COLUMNS), index(OPEN_INDEX, false, ddl::open_columns(backend))],
    }
}

fn facts(backend: DbBackend, recorded: bool, table: Option<Table>) -> Facts {
    let history = if recorded { vec![Migration::NAME.to_owned()] } else { Vec::new() };
    Facts { backend, history, table, collisions: Vec::new() }
}

fn half_applied(facts: &Facts) -> HalfApplied {
    match facts.status() {
        Status::HalfApplied(half) => half,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_and_everything_are_fine() {
    for backend in BACKENDS {
        assert!(matches!(facts(backend, false, None).status(), Status::Pending));
        let whole = facts(backend, true, Some(whole(backend)));
        assert!(matches!(whole.status(), Status::Applied));
    }
}

#[test]
fn a_record_without_a_table() {
    for backend in BACKENDS {
        let half = half_applied(&facts(backend, true, None));
        assert_eq!(half.missing(), ["table inbox_message"]);
        assert!(half.remedy().contains("`inbox down`"), "{half}");
    }
}

#[test]
fn a_table_without_a_record() {
    for backend in BACKENDS {
        let half = half_applied(&facts(backend, false, Some(whole(backend))));
        assert!(half.can_be_adopted());
        assert!(half.remedy().contains("`inbox up --adopt`"), "{half}");
        assert!(half.missing()[0].contains(HISTORY_TABLE), "{half}");
    }
}

/// Takes one thing away from a whole table.
type Break = fn(&mut Table);

#[test]
fn every_missing_piece_is_named() {
    let cases: [(Break, &str, &str); 9] = [
        (|t| t.indexes.remove(0).columns.clear(), "unique index idx-inbox_message-message_consumer", "CREATE UNIQUE INDEX"),
        (|t| t.indexes.remove(1).columns.clear(), "index idx-inbox_message-open", "CREATE INDEX"),
        (|t| t.indexes[0].unique = false, "is not unique", "DROP INDEX"),
        (|t| t.indexes[0].valid = false, "is invalid", "DROP INDEX"),
        (|t| t.indexes[0].partial = true, "is partial", "DROP INDEX"),
        (|t| t.indexes[0].columns.reverse(), "not on the columns", "DROP INDEX"),
        (|t| t.indexes[0].columns.push(Some("id".to_owned())), "not on the columns", "DROP INDEX"),
        // A prefix, or an expression.
        (|t| t.indexes[0].columns[1] = None, "not on the columns", "DROP INDEX"),
        (|t| t.indexes[1].unique = true, "is unique", "DROP INDEX"),
    ];
    for backend in BACKENDS {
        for recorded in [true, false] {
            for (spoil, missing, remedy) in cases {
                let mut table = whole(backend);
                spoil(&mut table);
                let half = half_applied(&facts(backend, recorded, Some(table)));
                assert!(half.missing()[0].contains(missing), "{half}");
                assert!(half.sql()[0].starts_with(remedy), "{half}");
                assert!(half.to_string().ends_with(&format!("\n    {};", half.sql().last().unwrap())), "{half}");
                assert_eq!(half.remedy().contains("--adopt"), !recorded, "{half}");
                assert!(!half.can_be_adopted());
            }
        }
    }
}

#[test]
fn a_table_that_is_not_ours() {
    for backend in BACKENDS {
        let table = Table { columns: vec!["id".to_owned(), "body".to_owned()], indexes: Vec::new() };
        let half = half_applied(&facts(backend, false, Some(table)));
        assert_eq!(half.there(), ["table inbox_message with 1 of its 10 columns"]);
        assert!(half.missing().contains(&"column message_id".to_owned()), "{half}");
        assert!(half.remedy().starts_with("this is not the table"), "{half}");
    }
}

#[test]
fn colliding_keys_are_shown() {
    let mut table = whole(DbBackend::Postgres);
    table.indexes.remove(0);
    let mut facts = facts(DbBackend::Postgres, true, Some(table));
    facts.collisions = vec![Collision { message_id: "0b5d".to_owned(), consumer: "credit".to_owned(), copies: 2 }];
    let text = half_applied(&facts).to_string();
    assert!(text.contains("(0b5d, credit) 2 times"), "{text}");
}

#[test]
fn only_a_table_without_the_guarantee_is_searched_for_collisions() {
    let mut table = whole(DbBackend::Postgres);
    assert!(!keys_can_collide(&table));
    table.indexes.remove(1);
    assert!(!keys_can_collide(&table));
    table.indexes[0].valid = false;
    assert!(keys_can_collide(&table));
    table.columns.retain(|column| column != "consumer");
    assert!(!keys_can_collide(&table));
}

#[test]
fn newer_migrations_are_known_as_such() {
    let mut facts = facts(DbBackend::Sqlite, true, Some(whole(DbBackend::Sqlite)));
    facts.history.push("m20270101_000001_inbox_of_the_future".to_owned());
    assert_eq!(facts.unknown(), ["m20270101_000001_inbox_of_the_future"]);
    assert!(matches!(facts.status(), Status::Applied));
}
