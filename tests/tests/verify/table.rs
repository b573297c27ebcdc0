//! The table as a whole.

use inbox_tests::{TestDb, backends};

use crate::fixture::{accepts, is_mariadb, mend, migrated_and, refusal, refused};

backends! {
    /// A new database: the first thing that a service without a migration meets.
    async fn missing(db: TestDb) {
        // MySQL does not tell a table that is not there from one that the role may not see.
        let says = db.backend().pick(
            "there is no table `inbox_message` in the schemas that this connection searches, {public}",
            "`inbox_message` is not there",
            "there is no table `inbox_message`",
        );
        let error = refusal(&db, &[says, "run `inbox up`"]).await;
        mend(&db, &error).await;
        accepts(&db).await;
    }

    async fn a_view(db: TestDb) {
        migrated_and(&db, &["ALTER TABLE inbox_message RENAME TO behind", "CREATE VIEW inbox_message AS SELECT * FROM behind"]).await;
        refusal(&db, &["`inbox_message` is a view and must be a table"]).await;
    }

    /// MyISAM and its like keep the row of a transaction that was rolled back.
    [mysql]
    async fn without_transactions(db: TestDb) {
        let engines: &[_] = if is_mariadb(&db).await { &["MyISAM", "Aria"] } else { &["MyISAM"] };
        for engine in engines {
            let change = [format!("ALTER TABLE inbox_message ENGINE = {engine}")];
            refused(&db, &change, &[&format!("is stored by {engine}"), "must be InnoDB"]).await;
        }
        // It knows no long texts either.
        let change = ["ALTER TABLE inbox_message MODIFY payload varchar(100) NULL", "ALTER TABLE inbox_message ENGINE = MEMORY"];
        refused(&db, &change, &["is stored by MEMORY", "must be InnoDB", "`inbox_message.payload` is `varchar(100)`"]).await;
    }

    /// A crash empties it, and every redelivery takes effect again.
    [postgres]
    async fn unlogged(db: TestDb) {
        refused(&db, &["ALTER TABLE inbox_message SET UNLOGGED"], &["`inbox_message` is not logged"]).await;
    }
}
