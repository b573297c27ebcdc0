//! The migration makes what the entity declares (rule 6), with the types of D10.

use inbox_core::entity::{self, Column, Entity};
use inbox_tests::{TestDb, backends};
use sea_orm::Iterable as _;
use sea_orm::entity::prelude::*;
use sea_orm::sea_query::StringLen;

use super::catalogue::{self, insert_marker};

backends! {
    /// Names, order and nullability from the entity itself.
    async fn the_columns_are_the_entitys(db: TestDb) {
        inbox_migration::up(&db.pool(1).await).await.unwrap();
        let found = catalogue::columns(&db, entity::TABLE).await;
        let found: Vec<_> = found.iter().map(|column| {
            (column.split(' ').next().unwrap().to_owned(), !column.contains("NOT NULL"))
        }).collect();
        let declared: Vec<_> = Column::iter().map(|column| (column.as_str().to_owned(), column.def().is_null())).collect();
        assert_eq!(found, declared);
    }

    /// The exact types, written out.
    async fn the_types_are_those_of_the_design(db: TestDb) {
        inbox_migration::up(&db.pool(1).await).await.unwrap();
        let wanted: [&str; 10] = db.backend().pick(
            [
                "id bigint NOT NULL identity d",
                "message_id uuid NOT NULL",
                "consumer character varying(200) NOT NULL C",
                "received_at timestamp with time zone NOT NULL",
                "processed_at timestamp with time zone",
                "claim_token uuid",
                "claimed_until timestamp with time zone",
                "attempts integer NOT NULL",
                "payload text",
                "last_error character varying(2000)",
            ],
            [
                "id bigint NOT NULL auto_increment",
                "message_id binary(16) NOT NULL",
                "consumer varchar(200) NOT NULL ascii_bin",
                "received_at datetime(6) NOT NULL",
                "processed_at datetime(6)",
                "claim_token binary(16)",
                "claimed_until datetime(6)",
                "attempts int NOT NULL",
                "payload longtext utf8mb4_bin",
                "last_error varchar(2000) utf8mb4_bin",
            ],
            [
                "id INTEGER NOT NULL",
                "message_id uuid_text NOT NULL",
                "consumer varchar(200) NOT NULL",
                "received_at timestamp_with_timezone_text NOT NULL",
                "processed_at timestamp_with_timezone_text",
                "claim_token uuid_text",
                "claimed_until timestamp_with_timezone_text",
                "attempts INTEGER NOT NULL",
                "payload TEXT",
                "last_error varchar(2000)",
            ],
        );
        let found = catalogue::columns(&db, entity::TABLE).await;
        // MariaDB still shows a display width that MySQL 8 dropped; it means nothing.
        let found: Vec<_> = found.iter().map(|column| column.replace("bigint(20)", "bigint").replace("int(11)", "int")).collect();
        if db.backend() == inbox_tests::Backend::Sqlite {
            let upper = |columns: &[&str]| columns.iter().map(|column| column.to_ascii_uppercase()).collect::<Vec<_>>();
            assert_eq!(upper(&found.iter().map(String::as_str).collect::<Vec<_>>()), upper(&wanted));
        } else {
            assert_eq!(found, wanted);
        }
    }

    /// Every column through SeaORM and back, to the microsecond and the last character.
    async fn a_full_row_comes_back_as_it_was(db: TestDb) {
        let pool = db.pool(1).await;
        inbox_migration::up(&pool).await.unwrap();
        let at = |micros| chrono::DateTime::from_timestamp_micros(micros).unwrap();
        let model = entity::Model {
            id: 9_000_000_000_000_000_000,
            message_id: Uuid::new_v4(),
            consumer: "~".repeat(entity::CONSUMER_LENGTH as usize),
            received_at: at(1_700_000_000_123_456),
            processed_at: Some(at(1_700_000_000_654_321)),
            claim_token: Some(Uuid::new_v4()),
            claimed_until: Some(at(1)),
            attempts: i32::MAX,
            // Past MySQL's `text`, and outside of its three-byte utf8.
            payload: Some("🦀".repeat(30_000)),
            last_error: Some("🦀".repeat(entity::LAST_ERROR_LENGTH as usize)),
        };
        entity::ActiveModel::from(model.clone()).reset_all().insert(&pool).await.unwrap();
        // Not `assert_eq`: it would print the crabs.
        assert!(Entity::find().one(&pool).await.unwrap() == Some(model));
    }

    /// MySQL's `timestamp` ends in 2038. (Written as text: MariaDB makes NULL of a bound instant after 2038, whatever the column.)
    async fn times_go_on_after_2038(db: TestDb) {
        let pool = db.pool(1).await;
        inbox_migration::up(&pool).await.unwrap();
        insert_marker(&db, 1, "credit").await.unwrap();
        let later = db.backend().pick("2096-10-02 07:06:40.654321+00", "2096-10-02 07:06:40.654321", "2096-10-02T07:06:40.654321+00:00");
        db.exec(&format!("UPDATE inbox_message SET received_at = '{later}', processed_at = '{later}', claimed_until = '{later}'")).await;
        let model = Entity::find().one(&pool).await.unwrap().unwrap();
        let later = chrono::DateTime::from_timestamp_micros(4_000_000_000_654_321).unwrap();
        assert_eq!((model.received_at, model.processed_at, model.claimed_until), (later, Some(later), Some(later)));
    }

    /// The database counts on past 32 bits.
    async fn ids_have_64_bits(db: TestDb) {
        let pool = db.pool(1).await;
        inbox_migration::up(&pool).await.unwrap();
        db.exec(db.backend().pick(
            "SELECT setval(pg_get_serial_sequence('inbox_message', 'id'), 2147483647)",
            "ALTER TABLE inbox_message AUTO_INCREMENT = 2147483648",
            "INSERT INTO sqlite_sequence (name, seq) VALUES ('inbox_message', 2147483647)",
        )).await;
        insert_marker(&db, 1, "credit").await.unwrap();
        assert_eq!(Entity::find().one(&pool).await.unwrap().unwrap().id, 2_147_483_648);
        if db.backend() == inbox_tests::Backend::Postgres {
            // An identity column made of an integer would have a sequence that ends there.
            let last = db.scalar_i64("SELECT seqmax FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence('inbox_message', 'id')::regclass");
            assert_eq!(last.await, i64::MAX);
        }
    }

    /// An id is never given out twice, not even that of the last row, which a purge removed.
    async fn ids_are_not_reused(db: TestDb) {
        let pool = db.pool(1).await;
        inbox_migration::up(&pool).await.unwrap();
        insert_marker(&db, 1, "credit").await.unwrap();
        let first = Entity::find().one(&pool).await.unwrap().unwrap().id;
        db.exec("DELETE FROM inbox_message").await;
        insert_marker(&db, 1, "credit").await.unwrap();
        assert!(Entity::find().one(&pool).await.unwrap().unwrap().id > first);
    }

    /// What is required is required by the database.
    async fn required_columns_refuse_null(db: TestDb) {
        let pool = db.pool(1).await;
        inbox_migration::up(&pool).await.unwrap();
        for column in Column::iter().filter(|column| !column.def().is_null() && !matches!(column, Column::Id)) {
            insert_marker(&db, 1, "credit").await.unwrap();
            let set = db.try_exec(&format!("UPDATE inbox_message SET {} = NULL", column.as_str())).await;
            assert!(set.is_err(), "{} took NULL", column.as_str());
            db.exec("DELETE FROM inbox_message").await;
        }
    }
}

/// The lengths are said twice in the entity, because an attribute cannot name a constant.
#[test]
fn the_entitys_lengths_are_its_constants() {
    let length = |column: Column| match column.def().get_column_type() {
        ColumnType::String(StringLen::N(length)) => *length,
        other => panic!("{other:?}"),
    };
    assert_eq!(length(Column::Consumer), entity::CONSUMER_LENGTH);
    assert_eq!(length(Column::LastError), entity::LAST_ERROR_LENGTH);
}
