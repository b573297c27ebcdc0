//! Servers that do not answer in English. `harness::languages` asserts that the texts really are translated.

use inbox_core::{Error, process};
use inbox_tests::{Backend, TestDb, backends, ledger};
use sea_orm::{ConnectionTrait as _, SqlErr};

use super::support::{Bench, Failed, is_mariadb, key};

/// All of MariaDB's catalogues; a server without one of them says so.
const MARIADB: [&str; 25] = [
    "bg_BG", "cs_CZ", "da_DK", "de_DE", "el_GR", "en_US", "es_ES", "et_EE", "fr_FR", "hi_IN", "hu_HU", "it_IT", "ja_JP", "ka_GE", "ko_KR",
    "nl_NL", "no_NO", "pl_PL", "pt_PT", "ro_RO", "ru_RU", "sk_SK", "sr_RS", "sv_SE", "uk_UA",
];

backends! {
    [postgres, mysql]
    async fn a_duplicate_is_one_in_every_language(db: TestDb) {
        let bench = Bench::new(&db).await;
        let mut languages = db.backend().languages().to_vec();
        assert_eq!(languages.len(), 3);
        if db.backend() == Backend::MySql && is_mariadb(&db).await {
            languages.extend(MARIADB);
        }
        for (n, language) in languages.into_iter().enumerate() {
            bench.pool.execute_unprepared(&format!("SET lc_messages = '{language}'")).await.unwrap();
            let key = key(&format!("in-{n}"));
            for delivery in 1..=2 {
                let outcome = process(&bench.pool, key.clone(), async |tx| Ok::<_, Failed>(ledger::credit(tx, 1, 1).await?)).await;
                assert_eq!(outcome.unwrap().is_duplicate(), delivery == 2, "{language}");
            }
            assert_eq!(bench.ledger.balance(1).await, i64::try_from(n).unwrap() + 1);
        }
    }

    /// And what is none is none, though it imitates one.
    [postgres, mysql]
    async fn a_violation_of_the_bodys_is_none_in_every_language(db: TestDb) {
        let bench = Bench::new(&db).await;
        for language in db.backend().languages() {
            bench.pool.execute_unprepared(&format!("SET lc_messages = '{language}'")).await.unwrap();
            let outcome = bench
                .deliver(async |tx| {
                    for v in 1..=2 {
                        ledger::record(tx, "x' for key 'idx-inbox_message-message_consumer", v).await?;
                    }
                    Ok(())
                })
                .await;
            match outcome {
                Err(Failed::Db(error)) => {
                    assert!(matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))));
                    assert!(!error.to_string().to_ascii_lowercase().contains("duplicate"), "{language} is English: {error}");
                }
                other => panic!("{other:?}"),
            }
            bench.nothing_stored().await;
        }
        bench.unharmed().await;
    }

    /// The marker's INSERT breaks another index of the inbox, in words that the classifier cannot know.
    [postgres, mysql]
    async fn another_index_of_the_inbox_in_every_language(db: TestDb) {
        let bench = Bench::new(&db).await;
        assert!(!process(&bench.pool, key("first"), async |_| Ok::<_, Failed>(())).await.unwrap().is_duplicate());
        db.exec("CREATE UNIQUE INDEX one_message_per_consumer ON inbox_message (consumer)").await;
        for language in db.backend().languages() {
            bench.pool.execute_unprepared(&format!("SET lc_messages = '{language}'")).await.unwrap();
            let outcome = bench.deliver(async |tx| Ok(ledger::credit(tx, 1, 1).await?)).await;
            assert!(matches!(outcome, Err(Failed::Inbox(Error::Marker(_)))), "{language}: {outcome:?}");
        }
        db.exec(db.backend().pick("DROP INDEX one_message_per_consumer", "DROP INDEX one_message_per_consumer ON inbox_message", "")).await;
        bench.unharmed().await;
    }
}
