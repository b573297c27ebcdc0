//! Everything that SeaORM takes a connection for takes the guard: with generics, in a `Send` future, under `tokio::spawn`.
//! The stream is in `streams.rs`.

use inbox_core::{InboxTransaction, process};
use inbox_tests::{
    TestDb, backends,
    ledger::{self, acct},
};
use sea_orm::{
    ActiveModelTrait as _, ActiveValue::Set, ColumnTrait as _, ConnectionTrait, DatabaseConnection, DbErr, EntityTrait as _,
    ExprTrait as _, IntoActiveModel as _, LoaderTrait as _, ModelTrait as _, PaginatorTrait as _, QueryFilter as _, QueryOrder as _,
    Schema, TransactionSession as _, TransactionTrait, sea_query::Expr,
};

use super::support::{Bench, Failed, key};

#[allow(unreachable_pub)]
mod author {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "author")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub name: String,
        #[sea_orm(has_many)]
        pub books: HasMany<super::book::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

#[allow(unreachable_pub)]
mod book {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "book")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i32,
        pub author_id: i32,
        #[sea_orm(unique)]
        pub title: String,
        #[sea_orm(belongs_to, from = "author_id", to = "id")]
        pub author: HasOne<super::author::Entity>,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

async fn bench(db: &TestDb) -> Bench {
    let bench = Bench::new(db).await;
    let schema = Schema::new(db.backend().db_backend());
    for table in [schema.create_table_from_entity(author::Entity), schema.create_table_from_entity(book::Entity)] {
        db.observer().execute(&table).await.unwrap();
    }
    bench
}

fn ann() -> author::ActiveModelEx {
    author::ActiveModel::builder()
        .set_name("Ann")
        .add_book(book::ActiveModel::builder().set_title("One"))
        .add_book(book::ActiveModel::builder().set_title("Two"))
}

backends! {
    async fn nested_active_models(db: TestDb) {
        let bench = bench(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                let saved = ann().save(tx).await?;
                // The second one breaks the title's key in a transaction of SeaORM's own, which is rolled back.
                ann().save(tx).await.unwrap_err();
                let loaded = author::Entity::load().with(book::Entity).all(tx).await?;
                assert_eq!((loaded.len(), loaded[0].books.len()), (1, 2));
                saved.delete(tx).await?;
                ann().insert(tx).await?;
                ledger::credit(tx, 1, 1).await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!((db.count("author").await, db.count("book").await, bench.ledger.balance(1).await), (1, 2, 1));
        bench.serves().await;
    }

    /// And with the delivery they go.
    async fn a_failed_delivery_takes_them_back(db: TestDb) {
        let bench = bench(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                ann().save(tx).await?;
                Err::<(), _>(Failed::Own)
            })
            .await;
        assert!(matches!(outcome, Err(Failed::Own)), "{outcome:?}");
        assert_eq!((db.count("author").await, db.count("book").await), (0, 0));
        bench.unharmed().await;
    }

    async fn queries_of_every_kind(db: TestDb) {
        let bench = bench(&db).await;
        let outcome = bench
            .deliver(async |tx| {
                acct::Entity::update_many()
                    .col_expr(acct::Column::Bal, Expr::col(acct::Column::Bal).add(5))
                    .filter(acct::Column::Id.eq(1))
                    .exec(tx)
                    .await?;
                acct::Entity::insert_many((10..20).map(|id| acct::ActiveModel { id: Set(id), bal: Set(id) })).exec(tx).await?;
                let mut pages = acct::Entity::find().order_by_asc(acct::Column::Id).paginate(tx, 5);
                let mut seen = 0;
                while let Some(page) = pages.fetch_and_next().await? {
                    seen += page.len();
                }
                assert_eq!((seen, pages.num_pages().await?), (12, 3));

                let authors = ["Ann", "Bob"].map(|name| author::ActiveModel { name: Set(name.into()), ..Default::default() });
                for author in authors {
                    let author = author.insert(tx).await?;
                    book::ActiveModel { author_id: Set(author.id), title: Set(author.name), ..Default::default() }.insert(tx).await?;
                }
                let authors = author::Entity::find().all(tx).await?;
                let books = authors.load_many(book::Entity, tx).await?;
                assert_eq!(books.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
                let both = author::Entity::find().find_with_related(book::Entity).all(tx).await?;
                assert_eq!(both.len(), 2);

                let account = acct::Entity::find_by_id(10).one(tx).await?.expect("account 10");
                let mut active = account.into_active_model();
                active.bal = Set(7);
                active.update(tx).await?.delete(tx).await?;
                Ok(acct::Entity::find().count(tx).await?)
            })
            .await;
        assert_eq!(outcome.unwrap().processed(), Some(11));
        assert_eq!((bench.ledger.balance(1).await, db.count("acct").await, db.count("book").await), (5, 11, 2));
        bench.serves().await;
    }

    /// Generic helpers, on the delivery's handle and on a nested one.
    async fn generics(db: TestDb) {
        async fn twice(db: &(impl ConnectionTrait + TransactionTrait)) -> Result<(), DbErr> {
            ledger::credit(db, 1, 1).await?;
            let nested = db.begin().await?;
            ledger::credit(&nested, 1, 1).await?;
            nested.commit().await
        }
        fn is_send<T: Send + Sync + 'static>(_: &T) {}

        let bench = bench(&db).await;
        let outcome = bench
            .deliver(async |tx: &InboxTransaction| {
                is_send(tx);
                twice(tx).await?;
                let nested = tx.begin().await?;
                is_send(&nested);
                twice(&nested).await?;
                nested.commit().await?;
                Ok(())
            })
            .await;
        assert!(!outcome.unwrap().is_duplicate());
        assert_eq!(bench.ledger.balance(1).await, 4);
    }

    async fn in_a_spawned_task(db: TestDb) {
        async fn handle(pool: DatabaseConnection, n: usize) -> Result<(), Failed> {
            let outcome = process(&pool, key(&format!("spawned-{n}")), async |tx| {
                ann().save(tx).await?.delete(tx).await?;
                let accounts = acct::Entity::find().paginate(tx, 1).fetch().await?;
                assert_eq!(accounts.len(), 1);
                Ok::<_, Failed>(ledger::credit(tx, 1, 1).await?)
            })
            .await?;
            assert!(!outcome.is_duplicate());
            Ok(())
        }
        let bench = bench(&db).await;
        for n in 0..3 {
            tokio::spawn(handle(bench.pool.clone(), n)).await.unwrap().unwrap();
        }
        assert_eq!((bench.ledger.balance(1).await, bench.ledger.markers().await, db.count("author").await), (3, 3, 0));
    }
}
