//! What a rollback may have to do on MySQL: delete the marker that a body had committed, by the number that the server gave it.

use inbox_core::verify;
use inbox_tests::{TestDb, backends};

backends! {
    /// MariaDB's sequences; `uuid_short` is MySQL's, too.
    [mysql]
    async fn a_number_that_the_server_does_not_tell(db: TestDb) {
        for default in ["NEXT VALUE FOR ids", "uuid_short()"] {
            let db = TestDb::new(db.backend()).await;
            db.migrated().await;
            if default.starts_with("NEXT") && db.try_exec("CREATE SEQUENCE ids").await.is_err() {
                continue;
            }
            db.exec(&format!("ALTER TABLE inbox_message MODIFY id bigint NOT NULL DEFAULT ({default})")).await;
            let error = verify(db.observer()).await.unwrap_err().to_string();
            assert!(error.contains("AUTO_INCREMENT"), "{default}: {error}");
            assert_eq!(db.count("inbox_message").await, 0);
        }
    }
}
