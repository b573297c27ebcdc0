//! The two indexes, fact by fact.

use inbox_core::entity::{OPEN_INDEX, UNIQUE_INDEX};
use inbox_tests::{Backend, TestDb, backends};

use super::catalogue::{self, insert_marker};

/// `(name, unique, [columns], predicate, kind)` of every index but the primary key's.
async fn indexes(db: &TestDb) -> Vec<(String, bool, Vec<String>, String)> {
    let sql = db.backend().pick(
        "SELECT i.relname::text, x.indisunique::int::bigint, a.attname::text, \
         concat_ws(' ', m.amname, pg_get_expr(x.indpred, x.indrelid), \
           CASE WHEN NOT (x.indisvalid AND x.indisready AND x.indimmediate) THEN 'BROKEN' END, \
           CASE WHEN x.indnatts <> x.indnkeyatts THEN 'INCLUDE' END) \
         FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_am m ON m.oid = i.relam \
         CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY k (number, place) \
         LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number \
         WHERE x.indrelid = 'inbox_message'::regclass AND NOT x.indisprimary ORDER BY 1, k.place",
        "SELECT CAST(INDEX_NAME AS CHAR), CAST(NON_UNIQUE = 0 AS SIGNED), CAST(COLUMN_NAME AS CHAR), \
         CAST(CONCAT_WS(' ', INDEX_TYPE, CONCAT('Sub_part ', SUB_PART)) AS CHAR) FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'inbox_message' AND INDEX_NAME <> 'PRIMARY' \
         ORDER BY INDEX_NAME, SEQ_IN_INDEX",
        "SELECT l.name, l.\"unique\", i.name, coalesce(substr(m.sql, nullif(instr(m.sql, 'WHERE'), 0)), '') \
         FROM pragma_index_list('inbox_message') l JOIN pragma_index_info(l.name) i JOIN sqlite_master m ON m.name = l.name \
         ORDER BY l.name, i.seqno",
    );
    let mut found: Vec<(String, bool, Vec<String>, String)> = Vec::new();
    for row in catalogue::rows(db, sql).await {
        let name: String = row.try_get_by_index(0).unwrap();
        let column: String = row.try_get_by_index(2).unwrap();
        match found.last_mut() {
            Some(last) if last.0 == name => last.2.push(column),
            _ => found.push((name, row.try_get_by_index::<i64>(1).unwrap() != 0, vec![column], row.try_get_by_index(3).unwrap())),
        }
    }
    found
}

backends! {
    /// Exactly two, each as D10 says: names, uniqueness, order, no prefix, no hash, the predicate.
    async fn facts(db: TestDb) {
        inbox_migration::up(&db.pool(1).await).await.unwrap();
        let key = vec!["message_id".to_owned(), "consumer".to_owned()];
        let until = "claimed_until".to_owned();
        let (unique, open, columns) = db.backend().pick(
            ("btree", "btree (processed_at IS NULL)", vec![until.clone()]),
            ("BTREE", "BTREE", vec!["processed_at".to_owned(), until.clone()]),
            ("", "WHERE \"processed_at\" IS NULL", vec![until]),
        );
        assert_eq!(indexes(&db).await, [
            (UNIQUE_INDEX.to_owned(), true, key, unique.to_owned()),
            (OPEN_INDEX.to_owned(), false, columns, open.to_owned()),
        ]);
    }

    /// Case 43: names that differ in case only are two consumers, and a repeated one is refused by our index.
    async fn consumers_are_compared_byte_by_byte(db: TestDb) {
        inbox_migration::up(&db.pool(1).await).await.unwrap();
        for consumer in ["credit", "Credit", "CREDIT", "credit.", "cred-it"] {
            insert_marker(&db, 1, consumer).await.unwrap();
            insert_marker(&db, 2, consumer).await.unwrap();
        }
        let error = insert_marker(&db, 1, "Credit").await.unwrap_err().to_string();
        let named = db.backend().pick(UNIQUE_INDEX, UNIQUE_INDEX, "inbox_message.message_id, inbox_message.consumer");
        assert!(error.contains(named), "{error}");
        assert_eq!(db.count("inbox_message").await, 10);
        assert_eq!(db.count("inbox_message WHERE consumer = 'credit'").await, 2);
    }

    /// A finished message has no entry in the open index where there are partial ones.
    async fn the_open_index_holds_what_is_open(db: TestDb) {
        inbox_migration::up(&db.pool(1).await).await.unwrap();
        let sql = match db.backend() {
            Backend::Postgres => "EXPLAIN SELECT 1 FROM inbox_message WHERE processed_at IS NULL AND claimed_until <= now()",
            Backend::MySql => {
                "EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM inbox_message WHERE processed_at IS NULL AND claimed_until <= UTC_TIMESTAMP(6)"
            },
            Backend::Sqlite => "EXPLAIN QUERY PLAN SELECT 1 FROM inbox_message WHERE processed_at IS NULL AND claimed_until <= 'x'",
        };
        let pool = db.pool(1).await;
        if db.backend() == Backend::Postgres {
            sea_orm::ConnectionTrait::execute_unprepared(&pool, "SET enable_seqscan = off").await.unwrap();
        }
        let statement = sea_orm::Statement::from_string(db.backend().db_backend(), sql);
        let plan = sea_orm::ConnectionTrait::query_all_raw(&pool, statement).await.unwrap();
        let column = db.backend().pick("QUERY PLAN", "key", "detail");
        let plan: Vec<String> = plan.iter().map(|row| row.try_get::<Option<String>>("", column).unwrap().unwrap_or_default()).collect();
        assert!(plan.join("\n").contains(OPEN_INDEX), "{plan:?}");
    }
}
