//! Case 102: SeaORM's schema sync drops a unique index that an entity does not declare.

use inbox_core::verify;
use inbox_tests::{Backend, TestDb, backends};

use crate::fixture::{accepts, mend, refusal, start_afresh};

/// Somebody's own entity on our table, without the unique key.
#[allow(unreachable_pub, reason = "the macro wants it")]
mod without_the_key {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, DeriveEntityModel)]
    #[sea_orm(table_name = "inbox_message")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub message_id: Uuid,
        pub consumer: String,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

backends! {
    async fn an_entity_without_the_unique_key(db: TestDb) {
        start_afresh(&db).await;
        let pool = db.pool(2).await;
        let synced = pool.get_schema_builder().register(without_the_key::Entity).sync(&pool).await;
        if db.backend() == Backend::Postgres {
            // There the index is taken for a constraint, and stays.
            assert!(synced.is_err(), "the test tests what it says");
            verify(&pool).await.unwrap();
            return;
        }
        synced.unwrap();
        let error = refusal(&db, &["`inbox_message` has no index `idx-inbox_message-message_consumer`"]).await;
        mend(&db, &error).await;
        accepts(&db).await;
    }
}
