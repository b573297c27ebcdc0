//! What no catalogue shows, found by trying.

use inbox_tests::{TestDb, backends};

use crate::fixture::{anew_with, execute, instead, migrated_and, refusal, refused_with, start_afresh};

/// Makes the migrated table wrong and wants it refused with these words.
async fn found_out(db: &TestDb, change: &[&str], says: &[&str]) {
    migrated_and(db, change).await;
    refusal(db, says).await;
}

backends! {
    /// A trigger that swallows the marker, or changes it: `Ok`, and no marker.
    async fn a_trigger(db: TestDb) {
        let change = db.backend().pick(
            vec![
                "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
                "CREATE TRIGGER swallow BEFORE INSERT ON inbox_message FOR EACH ROW EXECUTE FUNCTION swallow()",
            ],
            vec!["CREATE TRIGGER swallow BEFORE INSERT ON inbox_message FOR EACH ROW SET NEW.consumer = LOWER(NEW.consumer)"],
            vec!["CREATE TRIGGER swallow BEFORE INSERT ON inbox_message BEGIN SELECT RAISE(IGNORE); END"],
        );
        let says = db.backend().pick("stored no row", "does not show the marker that was written", "stored no row");
        found_out(&db, &change, &["`inbox_message`", says]).await;
    }

    /// One that changes what a claim writes.
    async fn a_trigger_that_changes_a_value(db: TestDb) {
        let change = db.backend().pick(
            vec![
                "CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.attempts = 7; RETURN NEW; END $$",
                "CREATE TRIGGER change BEFORE INSERT ON inbox_message FOR EACH ROW EXECUTE FUNCTION change()",
            ],
            vec!["CREATE TRIGGER change_it BEFORE INSERT ON inbox_message FOR EACH ROW SET NEW.attempts = 7"],
            vec!["CREATE TRIGGER change AFTER INSERT ON inbox_message BEGIN UPDATE inbox_message SET attempts = 7 WHERE id = NEW.id; END"],
        );
        found_out(&db, &change, &["`inbox_message` does not give back what was written", "attempts: 7"]).await;
    }

    /// A column that our INSERT does not know.
    async fn a_column_without_a_default(db: TestDb) {
        let refused = "`inbox_message` refuses a first marker (";
        if db.backend() == inbox_tests::Backend::Sqlite {
            let payload = "\"payload\" text NULL";
            refused_with(&db, payload, &format!("{payload}, \"tenant\" text NOT NULL"), &[refused, "tenant"]).await;
        } else {
            found_out(&db, &["ALTER TABLE inbox_message ADD COLUMN tenant integer NOT NULL"], &[refused, "tenant"]).await;
        }
    }

    /// A surrogate key that nobody makes.
    [postgres, mysql]
    async fn an_id_that_is_not_generated(db: TestDb) {
        let change = db.backend().pick(
            "ALTER TABLE inbox_message ALTER COLUMN id DROP IDENTITY",
            "ALTER TABLE inbox_message MODIFY id bigint NOT NULL",
            "",
        );
        // MySQL without strict mode would write 0, once.
        found_out(&db, &[change], &["`inbox_message` refuses a first marker (", "id"]).await;
    }

    /// Row-level security: the marker is written, and nobody sees it again.
    [postgres]
    async fn a_policy_that_hides_rows(db: TestDb) {
        let change = [
            "ALTER TABLE inbox_message ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE inbox_message FORCE ROW LEVEL SECURITY",
            "CREATE POLICY writes ON inbox_message FOR INSERT WITH CHECK (true)",
            "CREATE POLICY reads ON inbox_message FOR SELECT USING (consumer = 'credit')",
        ];
        migrated_and(&db, &change).await;
        crate::rights::Role::new(&db, "SELECT, INSERT").await.refused(&["`inbox_message` does not show the marker that was written"]).await;
    }

    /// The index is binary, the column is not: a look by key finds the other consumer's marker.
    [sqlite]
    async fn a_column_that_folds_under_a_binary_index(db: TestDb) {
        let (binary, folding) = ("\"consumer\" varchar(200) NOT NULL", "\"consumer\" varchar(200) COLLATE NOCASE NOT NULL");
        start_afresh(&db).await;
        let mut anew = anew_with(&db, binary, folding).await;
        anew.extend(instead(&db, "UNIQUE", "(message_id, consumer COLLATE BINARY)"));
        execute(&db, &anew).await;
        refusal(&db, &["`inbox_message` shows the marker of another consumer"]).await;
        // An index that takes the column's collation over: no new index helps, and the remedy does not say so.
        refused_with(&db, binary, folding, &["compares by a collation that is not BINARY", "`inbox down --force`"]).await;
    }
}
