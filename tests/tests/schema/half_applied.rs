//! A schema that is neither there nor not there is an error that says so, and nothing is changed.

use inbox_core::entity::{OPEN_INDEX, UNIQUE_INDEX};
use inbox_migration::{Error, HISTORY_TABLE, HalfApplied, Rows, Status, adopt, down, status, up};
use inbox_tests::{TestDb, backends};
use sea_orm::{ConnectionTrait as _, DatabaseConnection};

use super::catalogue::{self, insert_marker};
use super::up_down::NAME;

/// `up` and `status` say the same, and `up` changes nothing.
async fn half_applied(db: &TestDb, pool: &DatabaseConnection) -> HalfApplied {
    let tables = catalogue::tables(db).await;
    let half = match up(pool).await {
        Err(Error::HalfApplied(half)) => half,
        other => panic!("{other:?}"),
    };
    assert_eq!(status(pool).await.unwrap(), Status::HalfApplied(half.clone()));
    assert_eq!(catalogue::tables(db).await, tables);
    half
}

fn drop_index(db: &TestDb, name: &str) -> String {
    db.backend().pick(format!("DROP INDEX \"{name}\""), format!("DROP INDEX `{name}` ON inbox_message"), format!("DROP INDEX \"{name}\""))
}

/// Runs the SQL of the remedy, as an operator would: the whole of it on one connection.
async fn run_sql(db: &TestDb, half: &HalfApplied) {
    assert!(half.remedy().contains("the SQL below"), "{half}");
    let operator = db.pool(1).await;
    for statement in half.sql() {
        assert!(half.to_string().contains(&format!("\n    {statement};")), "{half}");
        operator.execute_unprepared(statement).await.unwrap();
    }
}

backends! {
    /// The history says applied, the table is gone: not created again in silence, since its markers are lost.
    async fn the_table_was_dropped(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        db.exec("DROP TABLE inbox_message").await;
        let half = half_applied(&db, &pool).await;
        assert_eq!(half.missing(), ["table inbox_message"]);
        // The remedy, as it is said.
        assert!(half.remedy().contains("`inbox down`"), "{half}");
        assert_eq!(down(&pool, Rows::Keep).await.unwrap(), [NAME]);
        assert_eq!(up(&pool).await.unwrap(), [NAME]);
        inbox_core::verify(&pool).await.unwrap();
    }

    /// The table is whole and no history knows it: what MySQL keeps of an `up` that was killed in between.
    async fn the_record_is_missing(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        db.exec(&format!("DELETE FROM {HISTORY_TABLE}")).await;
        insert_marker(&db, 1, "credit").await.unwrap();
        let half = half_applied(&db, &pool).await;
        assert_eq!(half.missing(), [format!("the record of {NAME} in {HISTORY_TABLE}")]);
        assert!(matches!(down(&pool, Rows::Lose).await, Err(Error::HalfApplied(_))), "not recorded, so not ours to drop");
        assert_eq!(db.count("inbox_message").await, 1);

        assert!(half.remedy().contains("--adopt"), "{half}");
        assert_eq!(adopt(&pool).await.unwrap(), [NAME]);
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);
        assert_eq!(db.count("inbox_message").await, 1);
    }

    /// The same with the history table gone altogether.
    async fn the_history_is_missing(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        db.exec(&format!("DROP TABLE {HISTORY_TABLE}")).await;
        half_applied(&db, &pool).await;
        assert_eq!(adopt(&pool).await.unwrap(), [NAME]);
        assert_eq!(status(&pool).await.unwrap(), Status::Applied);
    }

    /// Table there, unique index not: the worst failure mode. IF NOT EXISTS would have said that all is well.
    async fn an_index_is_missing(db: TestDb) {
        for index in [UNIQUE_INDEX, OPEN_INDEX] {
            let pool = db.pool(1).await;
            up(&pool).await.unwrap();
            db.exec(&drop_index(&db, index)).await;
            let half = half_applied(&db, &pool).await;
            assert!(half.missing()[0].ends_with(index), "{half}");
            assert!(half.there()[0].contains("10 of its 10 columns"), "{half}");
            run_sql(&db, &half).await;
            assert_eq!(status(&pool).await.unwrap(), Status::Applied, "the remedy mends it");
            inbox_core::verify(&pool).await.unwrap();
        }
    }

    /// Case 103: duplicates got in while the index was away, and the error names them.
    async fn duplicates_got_in(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        db.exec(&drop_index(&db, UNIQUE_INDEX)).await;
        for message in [7, 7, 7, 8] {
            insert_marker(&db, message, "credit").await.unwrap();
        }
        let text = half_applied(&db, &pool).await.to_string().replace('-', "");
        assert!(text.contains("00000000000000000000000000000007, credit) 3 times"), "{text}");
        assert!(!text.contains("00000000000000000000000000000008, credit)"), "{text}");
    }

    /// An index of the right name that does not do the job.
    async fn the_index_is_a_wrong_one(db: TestDb) {
        let quoted = db.backend().pick("\"idx-inbox_message-message_consumer\"", "`idx-inbox_message-message_consumer`",
            "\"idx-inbox_message-message_consumer\"");
        for (create, fault) in [
            (format!("CREATE INDEX {quoted} ON inbox_message (message_id, consumer)"), "is not unique"),
            (format!("CREATE UNIQUE INDEX {quoted} ON inbox_message (consumer, message_id)"), "not on the columns"),
            (format!("CREATE UNIQUE INDEX {quoted} ON inbox_message (message_id)"), "not on the columns"),
            (format!("CREATE UNIQUE INDEX {quoted} ON inbox_message (message_id, consumer, id)"), "not on the columns"),
        ] {
            let pool = db.pool(1).await;
            up(&pool).await.unwrap();
            // On one connection: another one of SQLite's would still know the old index.
            pool.execute_unprepared(&drop_index(&db, UNIQUE_INDEX)).await.unwrap();
            pool.execute_unprepared(&create).await.unwrap();
            let half = half_applied(&db, &pool).await;
            assert!(half.missing()[0].contains(fault), "{half}");
            run_sql(&db, &half).await;
            assert_eq!(status(&pool).await.unwrap(), Status::Applied, "{create}");
        }
    }

    /// Somebody else's table of that name.
    async fn a_table_that_is_not_ours(db: TestDb) {
        let pool = db.pool(1).await;
        db.exec("CREATE TABLE inbox_message (id INTEGER PRIMARY KEY, body VARCHAR(100))").await;
        db.exec("INSERT INTO inbox_message VALUES (1, 'mail')").await;
        let half = half_applied(&db, &pool).await;
        assert!(half.missing().contains(&"column consumer".to_owned()), "{half}");
        assert!(matches!(adopt(&pool).await, Err(Error::HalfApplied(_))));
        assert!(matches!(down(&pool, Rows::Lose).await, Err(Error::HalfApplied(_))));
        assert_eq!(db.count("inbox_message WHERE body = 'mail'").await, 1);
    }

    /// Or a view.
    async fn a_view_that_is_not_ours(db: TestDb) {
        let pool = db.pool(1).await;
        db.exec("CREATE VIEW inbox_message AS SELECT 1 AS id").await;
        half_applied(&db, &pool).await;
    }

    /// PostgreSQL only: the wreck of a concurrent build keeps the name (case 103).
    [postgres]
    async fn a_failed_concurrent_build(db: TestDb) {
        let pool = db.pool(1).await;
        up(&pool).await.unwrap();
        db.exec(&drop_index(&db, UNIQUE_INDEX)).await;
        insert_marker(&db, 1, "credit").await.unwrap();
        insert_marker(&db, 1, "credit").await.unwrap();
        let build = format!("CREATE UNIQUE INDEX CONCURRENTLY \"{UNIQUE_INDEX}\" ON inbox_message (message_id, consumer)");
        db.try_exec(&build).await.unwrap_err();
        let half = half_applied(&db, &pool).await;
        assert!(half.missing()[0].contains("is invalid"), "{half}");
        assert!(half.remedy().contains("(00000000-0000-0000-0000-000000000001, credit) 2 times"), "{half}");
        db.exec("DELETE FROM inbox_message WHERE id = (SELECT max(id) FROM inbox_message)").await;
        run_sql(&db, &half).await;
        inbox_core::verify(&pool).await.unwrap();
    }

    /// PostgreSQL and SQLite: what fails half-way leaves nothing behind, not even the history. (MySQL commits every DDL
    /// statement at once.)
    [postgres, sqlite]
    async fn a_failed_up_leaves_nothing(db: TestDb) {
        let pool = db.pool(1).await;
        db.exec("CREATE TABLE other (claimed_until INTEGER)").await;
        // The last of the three statements finds its name taken.
        db.exec(&format!("CREATE INDEX \"{OPEN_INDEX}\" ON other (claimed_until)")).await;
        let error = up(&pool).await.unwrap_err();
        assert!(matches!(&error, Error::Database { .. }), "{error:?}");
        assert_eq!(catalogue::tables(&db).await, ["other"]);
        db.exec(&format!("DROP INDEX \"{OPEN_INDEX}\"")).await;
        up(&pool).await.unwrap();
    }
}
