//! PostgreSQL's search path: an inbox further back in it is in use, and a second one in front of it would double what was done.

use inbox_core::{Consumer, InboxKey, MessageId, process};
use inbox_migration::{Error, Rows, Status, down, status, up};
use inbox_tests::{Ledger, TestDb, backends, ledger};
use sea_orm::{Database, DatabaseConnection};

backends! {
    /// A schema of the role's own name comes first in the default path, as soon as it exists.
    [postgres]
    async fn a_schema_that_comes_first_gets_no_second_inbox(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let key = InboxKey::new(Consumer::from_static("schema"), MessageId::from_text("tests", "m").unwrap());
        let pool = db.pool(2).await;
        assert!(!process(&pool, key.clone(), async |tx| ledger::credit(tx, 1, 100).await).await.unwrap().is_duplicate());

        db.exec("CREATE SCHEMA AUTHORIZATION CURRENT_USER").await;
        let pool = db.pool(2).await;
        let refused = up(&pool).await.unwrap_err();
        assert!(matches!(&refused, Error::Elsewhere { here, there } if here == "postgres" && there == "public"), "{refused:?}");
        assert!(refused.to_string().contains("Nothing was changed") && refused.to_string().contains("search_path%3Dpublic"), "{refused}");
        assert!(matches!(status(&pool).await, Err(Error::Elsewhere { .. })));
        assert!(matches!(down(&pool, Rows::Lose).await, Err(Error::Elsewhere { .. })));
        assert_eq!(db.count("pg_class WHERE relname IN ('inbox_message', 'inbox_migrations')").await, 2);

        inbox_core::verify(&pool).await.unwrap();
        assert!(process(&pool, key, async |tx| ledger::credit(tx, 1, 100).await).await.unwrap().is_duplicate());
        assert_eq!(ledger.balance(1).await, 100);

        // What the text says: the other one first.
        let public = path(&db, "public").await;
        assert_eq!((up(&public).await.unwrap(), status(&public).await.unwrap()), (vec![], Status::Applied));
    }

    /// Two services, each with an inbox of its own and with the other's out of its path.
    [postgres]
    async fn one_each_where_the_paths_do_not_meet(db: TestDb) {
        for schema in ["a", "b"] {
            db.exec(&format!("CREATE SCHEMA {schema}")).await;
            let own = path(&db, schema).await;
            assert_eq!(up(&own).await.unwrap().len(), 1);
            assert_eq!(status(&own).await.unwrap(), Status::Applied);
        }
        // Both are there: the first is the one, for everybody.
        assert_eq!(status(&path(&db, "b,a").await).await.unwrap(), Status::Applied);
        assert_eq!(down(&path(&db, "a").await, Rows::Keep).await.unwrap().len(), 1);
        assert!(matches!(up(&path(&db, "a,b").await).await, Err(Error::Elsewhere { .. })));
    }
}

async fn path(db: &TestDb, schemas: &str) -> DatabaseConnection {
    let and = if db.url().contains('?') { '&' } else { '?' };
    Database::connect(format!("{}{and}options=-csearch_path%3D{}", db.url(), schemas.replace(',', "%2C"))).await.unwrap()
}
