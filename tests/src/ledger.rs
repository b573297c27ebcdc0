//! The business tables beside the inbox: what a handler changes, and what can refuse a change.
//!
//! Two halves. Handlers under test take a connection: [`credit`], [`record`], [`Violation::provoke`], or SeaORM's own
//! ways through the entities [`acct`] and [`biz`]. Assertions ask the [`Ledger`], which reads through a pool that is never
//! the one under test, and so sees committed rows only.

pub mod acct;
pub mod biz;

use inbox_core::entity::{Column, Entity};
use sea_orm::{ColumnTrait as _, ConnectionTrait, DbErr, EntityTrait as _, PaginatorTrait as _, QueryFilter as _, Statement};
use uuid::Uuid;

use crate::{Backend, TestDb};

/// A database with the inbox table and the business tables.
#[derive(Clone, Debug)]
pub struct Ledger {
    db: TestDb,
}

impl Ledger {
    /// Migrates the inbox, creates the business tables, and opens account 1 with balance 0.
    pub async fn new(db: &TestDb) -> Self {
        db.migrated().await;
        Self::without_inbox(db).await
    }

    /// The business tables alone.
    pub async fn without_inbox(db: &TestDb) -> Self {
        for table in tables(db.backend()) {
            db.exec(&table).await;
        }
        let ledger = Self { db: db.clone() };
        ledger.open(1, 0).await;
        ledger
    }

    /// Opens an account.
    pub async fn open(&self, id: i64, balance: i64) {
        self.db.exec(&format!("INSERT INTO acct (id, bal) VALUES ({id}, {balance})")).await;
    }

    /// What is in account `id`.
    pub async fn balance(&self, id: i64) -> i64 {
        self.db.scalar_i64(&format!("SELECT bal FROM acct WHERE id = {id}")).await
    }

    /// Rows of `biz`.
    pub async fn records(&self) -> i64 {
        self.db.count("biz").await
    }

    /// Rows of `biz` with this value; `k` is compared byte by byte on every backend.
    pub async fn records_of(&self, k: &str) -> i64 {
        count(biz::Entity::find().filter(biz::Column::K.eq(k)).count(self.db.observer()).await)
    }

    /// Markers of this message, whoever consumed it.
    pub async fn markers_of(&self, message: impl Into<Uuid>) -> i64 {
        let markers = Entity::find().filter(Column::MessageId.eq(message.into()));
        count(markers.count(self.db.observer()).await)
    }

    /// All markers.
    pub async fn markers(&self) -> i64 {
        self.db.count("inbox_message").await
    }

    /// The database.
    pub fn db(&self) -> &TestDb {
        &self.db
    }
}

fn count(rows: Result<u64, DbErr>) -> i64 {
    i64::try_from(rows.unwrap()).unwrap()
}

/// Adds to an account, in the database: `bal = bal + amount`, so that a lost or doubled effect shows.
pub async fn credit(db: &impl ConnectionTrait, id: i64, amount: i64) -> Result<(), DbErr> {
    let sql = "UPDATE acct SET bal = bal + ? WHERE id = ?";
    let changed = db.execute_raw(statement(db, sql, [amount.into(), id.into()])).await?;
    if changed.rows_affected() == 1 { Ok(()) } else { Err(DbErr::RecordNotUpdated) }
}

/// Inserts a row into `biz`; the same `k` twice is a unique violation.
pub async fn record(db: &impl ConnectionTrait, k: &str, v: i64) -> Result<(), DbErr> {
    let sql = "INSERT INTO biz (k, v) VALUES (?, ?)";
    db.execute_raw(statement(db, sql, [k.into(), v.into()])).await?;
    Ok(())
}

/// Writes the placeholders as the backend wants them.
fn statement<const N: usize>(db: &impl ConnectionTrait, sql: &str, values: [sea_orm::Value; N]) -> Statement {
    let backend = db.get_database_backend();
    let mut text = String::new();
    for (n, part) in sql.split('?').enumerate() {
        if n > 0 {
            text += &match backend {
                sea_orm::DbBackend::Postgres => format!("${n}"),
                _ => "?".to_owned(),
            };
        }
        text += part;
    }
    Statement::from_sql_and_values(backend, text, values)
}

/// A constraint of a business table that a handler can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// `biz_k`.
    Unique,
    /// The primary key of `acct`.
    PrimaryKey,
    /// `entry_acct`.
    ForeignKey,
    /// `entry.qty`.
    NotNull,
    /// `entry_qty`.
    Check,
}

impl Violation {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Unique, Self::PrimaryKey, Self::ForeignKey, Self::NotNull, Self::Check];

    /// Breaks it.
    ///
    /// # Errors
    /// Always, on a [`Ledger`]: the database's own refusal.
    pub async fn provoke(self, db: &impl ConnectionTrait) -> Result<(), DbErr> {
        let statements: &[&str] = match self {
            Self::Unique => &["INSERT INTO biz (k, v) VALUES ('twice', 1)", "INSERT INTO biz (k, v) VALUES ('twice', 2)"],
            Self::PrimaryKey => &["INSERT INTO acct (id, bal) VALUES (1, 0)"],
            Self::ForeignKey => &["INSERT INTO entry (acct_id, qty) VALUES (404, 1)"],
            Self::NotNull => &["INSERT INTO entry (acct_id, qty) VALUES (1, NULL)"],
            Self::Check => &["INSERT INTO entry (acct_id, qty) VALUES (1, -1)"],
        };
        for sql in statements {
            db.execute_unprepared(sql).await?;
        }
        Ok(())
    }
}

fn tables(backend: Backend) -> [String; 3] {
    let id = backend.pick(
        "id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "id bigint AUTO_INCREMENT PRIMARY KEY",
        "id integer PRIMARY KEY AUTOINCREMENT",
    );
    let binary = backend.pick("", " COLLATE utf8mb4_bin", "");
    [
        "CREATE TABLE acct (id bigint NOT NULL PRIMARY KEY, bal bigint NOT NULL)".to_owned(),
        format!("CREATE TABLE biz ({id}, k varchar(200){binary} NOT NULL, v bigint NOT NULL, CONSTRAINT biz_k UNIQUE (k))"),
        format!(
            "CREATE TABLE entry ({id}, acct_id bigint NOT NULL, qty bigint NOT NULL, \
             CONSTRAINT entry_acct FOREIGN KEY (acct_id) REFERENCES acct (id), CONSTRAINT entry_qty CHECK (qty > 0))"
        ),
    ]
}
