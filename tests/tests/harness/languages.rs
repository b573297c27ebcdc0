//! The servers really answer in other languages, or the tests of the classifier would prove nothing.

use std::collections::BTreeSet;

use inbox_tests::{Ledger, TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, SqlErr};

backends! {
    [postgres, mysql]
    async fn a_unique_violation_is_translated(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(1).await;
        ledger::record(&pool, "a", 1).await.unwrap();
        let mut texts = BTreeSet::new();
        for language in db.backend().languages() {
            pool.execute_unprepared(&format!("SET lc_messages = '{language}'")).await.unwrap();
            let error = ledger::record(&pool, "a", 1).await.expect_err("a unique violation");
            assert!(matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))), "{error}");
            let text = error.to_string();
            assert!(!text.to_ascii_lowercase().contains("duplicate"), "{language} is English: {text}");
            texts.insert(text);
        }
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert_eq!(ledger.records().await, 1);
    }
}
