//! The inbox table of `inbox-core`: migrations for an application's code, and the `inbox` command line.
//!
//! | you have | use |
//! | --- | --- |
//! | a service that creates what it needs when it starts | [`up`] and then `inbox_core::verify` |
//! | a deployment step, an operator | the [`inbox`](cli) command line |
//! | a DBA who runs all SQL by hand | what [`inbox sql` and `inbox grants`](cli) print |
//! | a SeaORM migrator of your own, and want one history | append [`migrations`] to yours |
//! | a SeaORM migrator of your own, and want ours beside it | [`Migrator`]: own history table, [`HISTORY_TABLE`] |
//!
//! # At start-up
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = sea_orm::Database::connect("sqlite::memory:").await?;
//!
//! inbox_migration::up(&db).await?;        // creates the table, or finds it there
//! inbox_core::verify(&db).await?;         // refuses to start on a table that does not deduplicate
//! # Ok(())
//! # }
//! ```
//!
//! Where the schema is there already, [`up`] only reads, so it can run with rights that stop at SELECT. A table that is not
//! what the history promises is an error that says what is missing and what to do ([`HalfApplied`]); it is never taken for
//! ours because of its name.
//!
//! # By hand
//!
//! `inbox sql --backend postgres` prints what [`up`] runs, with the record of it: `inbox_core::verify` accepts the table, and
//! a service that calls [`up`] when it starts finds nothing to do. `inbox grants --backend postgres --role app` prints the least
//! rights that such a service needs, `--for operator` those of who migrates and purges. Neither asks a database. For SQL Server
//! (`--backend mssql`) there is a text, but SeaORM has no driver: nothing here has run it.
//!
//! # In the application's own migrator
//!
//! ```
//! use sea_orm_migration::prelude::*;
//!
//! struct Migrator;
//!
//! #[async_trait::async_trait]
//! impl MigratorTrait for Migrator {
//!     fn migrations() -> Vec<Box<dyn MigrationTrait>> {
//!         let mut all: Vec<Box<dyn MigrationTrait>> = vec![Box::new(CreateCustomers)];
//!         all.extend(inbox_migration::migrations());
//!         all
//!     }
//! }
//! # struct CreateCustomers;
//! # impl MigrationName for CreateCustomers {
//! #     fn name(&self) -> &str { "m20260101_000001_create_customers" }
//! # }
//! # #[async_trait::async_trait]
//! # impl MigrationTrait for CreateCustomers {
//! #     async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
//! #         manager.create_table(Table::create().table("customers").col(ColumnDef::new("id").big_integer().primary_key()).take()).await
//! #     }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let db = sea_orm::Database::connect("sqlite::memory:").await?;
//! Migrator::up(&db, None).await?;
//! inbox_core::verify(&db).await?;
//! # assert_eq!(Migrator::get_applied_migrations(&db).await?.len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! Then the history is yours alone: do not run [`up`], [`Migrator`] or `inbox up` on that database too. SeaORM's migrator
//! takes no lock and ours cannot be held for you: let one process migrate. Your migrator's `down`, `refresh`, `reset` and
//! `fresh` drop the markers without asking.
//!
//! # Beside the application's own migrator
//!
//! ```
//! # use sea_orm_migration::prelude::*;
//! # struct Migrator;
//! # impl MigratorTrait for Migrator { fn migrations() -> Vec<Box<dyn MigrationTrait>> { Vec::new() } }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let db = sea_orm::Database::connect("sqlite::memory:").await?;
//! Migrator::up(&db, None).await?;         // yours, in any order
//! inbox_migration::up(&db).await?;        // ours: it does not touch `seaql_migrations`
//! # inbox_core::verify(&db).await?;
//! # assert_eq!(inbox_migration::status(&db).await?, inbox_migration::Status::Applied);
//! # Ok(())
//! # }
//! ```
//!
//! # One at a time
//!
//! [`up`] and [`down`] hold a lock, since SeaORM's migrator takes none, and do all their work on the connection that holds
//! it: a transaction-level advisory lock on PostgreSQL, `GET_LOCK` on MySQL and MariaDB, `BEGIN IMMEDIATE` on SQLite. They
//! want one connection of the pool, for as long as it takes; another process is waited for, for at most a minute. Limits:
//!
//! * On MySQL and MariaDB `GET_LOCK` belongs to the session: give a direct URL, not one of a proxy that hands a session's
//!   statements to several servers. It also belongs to one node: in a Galera cluster or group replication two nodes can be asked
//!   at once, and who then finds the table created by the other is content. Only [`down`] on one node against [`up`] on another is
//!   nobody's to order.
//! * On PostgreSQL the table is created in the first schema of the connection's `search_path`; choose it in the URL:
//!   `postgres://…/app?options=-c%20search_path%3Dinbox`. Where the path leads to an inbox further back, that one is in use, and
//!   another in front of it is refused.
//!
//! # Features
//!
//! | name | what | default |
//! | --- | --- | --- |
//! | `cli` | the `inbox` command line, with all three drivers and `runtime-tokio-rustls` | yes |
//! | `sqlx-postgres`, `sqlx-mysql`, `sqlx-sqlite`, `runtime-tokio-rustls` | SeaORM's, handed on | in `cli` |
//!
//! An application takes `default-features = false`: its own SeaORM chooses the drivers.

mod catalog;
#[cfg(feature = "cli")]
pub mod cli;
mod ddl;
mod error;
mod half_applied;
mod history;
mod lock;
mod m20261130_000001_create_inbox_message;
mod migrator;
mod run;
mod state;

pub use error::Error;
pub use half_applied::HalfApplied;
pub use migrator::{Migrator, migrations};
pub use run::{Rows, adopt, down, status, up};
pub use state::Status;

/// The history table of [`Migrator`]. SeaORM's own, `seaql_migrations`, belongs to the application: two migrators on one
/// history refuse each other's migrations.
pub const HISTORY_TABLE: &str = "inbox_migrations";

/// SeaORM's command line shows the progress of its own crate only.
const PROGRESS: &str = "sea_orm_migration::migrator";
