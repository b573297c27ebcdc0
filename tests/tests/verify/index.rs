//! Each way in which the unique index can be wrong (D12).

use inbox_tests::{Backend, TestDb, backends};

use crate::fixture::{accepts, commands, drop_idx, idx, instead, is_mariadb, mend, refusal, refused, start_afresh};

const NAME: &str = "idx-inbox_message-message_consumer";

backends! {
    async fn missing(db: TestDb) {
        refused(&db, &[drop_idx(&db)], &["`inbox_message` has no index", NAME, "CREATE UNIQUE INDEX"]).await;
    }

    async fn renamed(db: TestDb) {
        let idx = idx(&db);
        let rename = db.backend().pick(
            vec![format!("ALTER INDEX {idx} RENAME TO renamed")],
            vec![format!("ALTER TABLE inbox_message RENAME INDEX {idx} TO renamed")],
            vec![drop_idx(&db), "CREATE UNIQUE INDEX renamed ON inbox_message (message_id, consumer)".to_owned()],
        );
        refused(&db, &rename, &["`inbox_message` has no index", "another unique index, `renamed` on (message_id, consumer)"]).await;
    }

    async fn not_unique(db: TestDb) {
        refused(&db, &instead(&db, "", "(message_id, consumer)"), &[NAME, "is not unique"]).await;
    }

    async fn on_the_message_alone(db: TestDb) {
        let says = "is on (message_id) and must be on exactly (message_id, consumer)";
        refused(&db, &instead(&db, "UNIQUE", "(message_id)"), &[NAME, says]).await;
    }

    async fn on_the_consumer_alone(db: TestDb) {
        refused(&db, &instead(&db, "UNIQUE", "(consumer)"), &[NAME, "is on (consumer) and"]).await;
    }

    async fn in_the_wrong_order(db: TestDb) {
        refused(&db, &instead(&db, "UNIQUE", "(consumer, message_id)"), &[NAME, "is on (consumer, message_id) and"]).await;
    }

    /// With `received_at` in it, every redelivery is a new message.
    async fn too_wide(db: TestDb) {
        for wide in ["(message_id, consumer, received_at)", "(received_at, message_id, consumer)", "(message_id, consumer, id)"] {
            refused(&db, &instead(&db, "UNIQUE", wide), &[NAME, &format!("is on {wide} and")]).await;
        }
    }

    /// Also where the rows that `verify` tries satisfy the predicate.
    [postgres, sqlite]
    async fn with_a_predicate(db: TestDb) {
        for predicate in ["processed_at IS NULL", "processed_at IS NOT NULL", "consumer <> 'credit'"] {
            let on = format!("(message_id, consumer) WHERE {predicate}");
            refused(&db, &instead(&db, "UNIQUE", &on), &[NAME, "has a predicate, so rows outside of it repeat"]).await;
        }
    }

    async fn on_an_expression(db: TestDb) {
        if db.backend() == Backend::MySql {
            let on_lower = instead(&db, "UNIQUE", "(message_id, (lower(consumer)))");
            if is_mariadb(&db).await {
                start_afresh(&db).await;
                assert!(db.try_exec(&on_lower[1]).await.is_err(), "MariaDB has no indexes on expressions");
            } else {
                refused(&db, &on_lower, &[NAME, "is on (message_id, an expression"]).await;
            }
            return;
        }
        refused(&db, &instead(&db, "UNIQUE", "(message_id, lower(consumer))"), &[NAME, "is on (message_id, an expression"]).await;
        refused(&db, &instead(&db, "UNIQUE", "(message_id, (consumer || ''))"), &[NAME, "is on (message_id, an expression"]).await;
    }

    [mysql]
    async fn on_a_part_of_a_column(db: TestDb) {
        refused(&db, &instead(&db, "UNIQUE", "(message_id, consumer(10))"), &[NAME, "covers a part of a column only"]).await;
        refused(&db, &instead(&db, "UNIQUE", "(message_id(8), consumer)"), &[NAME, "covers a part of a column only"]).await;
    }

    /// Another unique index stops the second consumer, or the second message, or hides which index found a duplicate.
    async fn another_one_beside_it(db: TestDb) {
        for on in ["(message_id)", "(consumer)", "(received_at)", "(consumer, message_id)"] {
            let another = [format!("CREATE UNIQUE INDEX another ON inbox_message {on}")];
            refused(&db, &another, &[&format!("another unique index, `another` on {on}")]).await;
        }
    }

    /// The table's primary key must not be the pair: the server would report a duplicate as one of `PRIMARY`.
    [postgres, mysql]
    async fn a_primary_key_on_the_pair(db: TestDb) {
        let change = db.backend().pick(
            vec![
                "ALTER TABLE inbox_message DROP CONSTRAINT inbox_message_pkey",
                "ALTER TABLE inbox_message ADD PRIMARY KEY (message_id, consumer)",
            ],
            vec!["ALTER TABLE inbox_message DROP PRIMARY KEY, ADD PRIMARY KEY (message_id, consumer), ADD KEY (id)"],
            vec![],
        );
        let name = db.backend().pick("`inbox_message_pkey` on", "`PRIMARY` on", "");
        refused(&db, &change, &["another unique index", name]).await;
    }

    [postgres]
    async fn a_deferrable_constraint(db: TestDb) {
        for how in ["DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE INITIALLY IMMEDIATE"] {
            let change = [
                drop_idx(&db),
                format!("ALTER TABLE inbox_message ADD CONSTRAINT {} UNIQUE (message_id, consumer) {how}", idx(&db)),
            ];
            refused(&db, &change, &[NAME, "is deferrable", "DROP CONSTRAINT"]).await;
        }
    }

    /// Case 103: a concurrent build that failed leaves an index that is there and does nothing.
    [postgres]
    async fn invalid_after_a_failed_concurrent_build(db: TestDb) {
        start_afresh(&db).await;
        db.exec(&drop_idx(&db)).await;
        let twice = "INSERT INTO inbox_message (message_id, consumer, received_at, attempts) \
                     VALUES ('00000000-0000-4000-8000-000000000001', 'credit', now(), 0)";
        db.exec(twice).await;
        db.exec(twice).await;
        let build = format!("CREATE UNIQUE INDEX CONCURRENTLY {} ON inbox_message (message_id, consumer)", idx(&db));
        assert!(db.try_exec(&build).await.is_err(), "the build has to fail");
        // The index is there, and rows repeat all the same.
        db.exec(twice).await;
        assert_eq!(db.count("inbox_message").await, 3);

        let error = refusal(&db, &[NAME, "is not valid: its concurrent build failed", "rows repeat a key"]).await;
        let commands = commands(error.remedy());
        assert_eq!(commands.len(), 2, "{error}");
        db.exec(&commands[0]).await;
        assert!(db.try_exec(&commands[1]).await.unwrap_err().to_string().contains("could not create unique index"));
        db.exec("DELETE FROM inbox_message WHERE id > (SELECT min(id) FROM inbox_message)").await;
        mend(&db, &refusal(&db, &["has no index"]).await).await;
        accepts(&db).await;
    }

    /// A collation that takes two names for one: one consumer would suppress the other.
    async fn by_a_folding_collation(db: TestDb) {
        let cases = db.backend().pick(
            vec![
                instead(&db, "UNIQUE", "(message_id, consumer COLLATE folding)"),
                vec!["ALTER TABLE inbox_message ALTER COLUMN consumer TYPE varchar(200) COLLATE folding".to_owned()],
                // Punctuation is nothing to it, case is something: `verify`'s own three names are told apart.
                instead(&db, "UNIQUE", "(message_id, consumer COLLATE shifted)"),
            ],
            [
                "utf8mb4 COLLATE utf8mb4_general_ci",
                "ascii COLLATE ascii_general_ci",
                "latin1 COLLATE latin1_general_cs",
                "utf8mb4 COLLATE utf8mb4_unicode_ci",
            ]
            .map(|collation| vec![format!("ALTER TABLE inbox_message MODIFY consumer varchar(200) CHARACTER SET {collation} NOT NULL")])
            .to_vec(),
            vec![
                instead(&db, "UNIQUE", "(message_id, consumer COLLATE NOCASE)"),
                instead(&db, "UNIQUE", "(message_id, consumer COLLATE RTRIM)"),
            ],
        );
        for change in cases {
            if db.backend() == Backend::Postgres {
                for (name, locale) in [("folding", "und-u-ks-level2"), ("shifted", "und-u-ka-shifted")] {
                    let icu = format!("(provider = icu, locale = '{locale}', deterministic = false)");
                    db.exec(&format!("CREATE COLLATION IF NOT EXISTS {name} {icu}")).await;
                }
            }
            refused(&db, &change, &["which takes different names for one"]).await;
        }
    }
}
