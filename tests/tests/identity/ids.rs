//! Which message: ids that some database would take for one are two, and one id in several spellings is one.

use inbox_core::{Consumer, InboxKey, MessageId, Options, entity, idempotent};
use inbox_tests::{Ledger, TestDb, backends, ledger, race::Count};
use sea_orm::{ColumnTrait as _, ConnectionTrait as _, DatabaseConnection, DbErr, EntityTrait as _, PaginatorTrait as _, QueryFilter as _};
use uuid::Uuid;

use crate::delivery::{CREDIT, assert_effects, deliver, duplicate, processed};

/// Case, accents and their two spellings, width, blanks around it, control characters, zeros, numbers, quotes, scripts.
const ALIKE: [&str; 34] = [
    "order",
    "Order",
    "ORDER",
    "örder",
    "o\u{308}rder",
    "ｏrder",
    "order ",
    " order",
    "order\t",
    "order\n",
    "order\r\n",
    "order\0",
    "ord\0er",
    "\0order",
    "order\u{200b}",
    "1e5",
    "100000",
    "100000.0",
    "0100000",
    "+100000",
    "1E5",
    "0x186a0",
    "ss",
    "ß",
    "i",
    "ı",
    "I",
    "'order'",
    "\"order\"",
    "order%",
    "order_",
    "NULL",
    "order\u{1f600}",
    "order'; DROP TABLE inbox_message; --",
];

/// Delivers each of them three times: each is processed once.
async fn are_all_different(db: &TestDb, pool: &DatabaseConnection, ids: &[&str]) {
    let ledger = Ledger::new(db).await;
    for round in 0..3 {
        for id in ids {
            let key = InboxKey::new(CREDIT, MessageId::from_text("orders", id).unwrap());
            let answer = deliver(pool, key, Options::new(), &Count::new(), &Uuid::new_v4().to_string()).await;
            assert!(if round == 0 { processed(&answer) } else { duplicate(&answer) }, "{id:?}: {answer:?}");
        }
    }
    assert_effects(&ledger, i64::try_from(ids.len()).unwrap()).await;
}

#[idempotent(consumer = "credit", key = id.parse::<MessageId>())]
async fn credit_text(db: &DatabaseConnection, id: &str) -> Result<(), DbErr> {
    ledger::credit(db, 1, 1).await
}

#[idempotent(consumer = "credit", key = id)]
async fn credit_uuid(db: &DatabaseConnection, id: Uuid) -> Result<(), DbErr> {
    ledger::credit(db, 1, 1).await
}

backends! {
    async fn texts_that_look_alike(db: TestDb) {
        are_all_different(&db, &db.pool(2).await, &ALIKE).await;
    }

    /// Without strict mode MySQL cuts, pads and converts silently.
    [mysql]
    async fn texts_that_look_alike_without_strict_mode(db: TestDb) {
        let pool = db.pool(1).await;
        pool.execute_unprepared("SET SESSION sql_mode = ''").await.unwrap();
        are_all_different(&db, &pool, &ALIKE).await;
    }

    /// Case 79: a megabyte that differs in its last character only, and nothing but emoji.
    async fn long_texts(db: TestDb) {
        let long = "x".repeat(1 << 20);
        let (one, two, emoji) = (format!("{long}1"), format!("{long}2"), "😀".repeat(1 << 18));
        are_all_different(&db, &db.pool(2).await, &[&long, &one, &two, &emoji]).await;
    }

    /// A UUID is one id in every spelling, and a look by any of them finds one row.
    async fn one_uuid_in_all_its_spellings(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(2).await;
        let uuid = Uuid::from_u128(0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11);
        credit_uuid(&pool, uuid).await.unwrap();
        let spellings = [
            uuid.to_string(),
            uuid.to_string().to_uppercase(),
            uuid.simple().to_string(),
            uuid.braced().to_string(),
            uuid.urn().to_string(),
            uuid.urn().to_string().to_uppercase().replace("URN:UUID:", "urn:uuid:"),
        ];
        for text in &spellings {
            credit_text(&pool, text).await.unwrap();
            let id: MessageId = text.parse().unwrap();
            let key = InboxKey::new(Consumer::from_static("credit"), id);
            assert!(inbox_core::seen(&pool, &key).await.unwrap(), "{text}");
            let rows = entity::Entity::find().filter(entity::Column::MessageId.eq(*id.as_uuid())).count(&pool).await.unwrap();
            assert_eq!(rows, 1, "{text}");
        }
        assert_eq!(ledger.balance(1).await, 1);
        assert_eq!(ledger.markers().await, 1);
        // As an operator would look, on what the database itself shows.
        let by_hand = db.backend().pick(
            "message_id = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
            "message_id = UNHEX('A0EEBC999C0B4EF8BB6D6BB9BD380A11')",
            "message_id = x'A0EEBC999C0B4EF8BB6D6BB9BD380A11'",
        );
        assert_eq!(db.count(&format!("inbox_message WHERE {by_hand}")).await, 1);
    }

    /// All 16 bytes count, zeros and the sign bit among them.
    async fn neighbouring_uuids(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(2).await;
        let mut ids: Vec<u128> = (0..128).map(|bit| 1 << bit).collect();
        ids.extend([u128::MAX, u128::MAX - 1, u128::MAX >> 8, 0x2020 << 112]);
        for id in &ids {
            credit_uuid(&pool, Uuid::from_u128(*id)).await.unwrap();
        }
        for id in &ids {
            credit_uuid(&pool, Uuid::from_u128(*id)).await.unwrap();
        }
        assert_eq!(ledger.balance(1).await, i64::try_from(ids.len()).unwrap());
    }
}
