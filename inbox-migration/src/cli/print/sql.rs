//! `inbox sql`: what the migration runs, for hands.

use sea_orm::DbBackend;

use super::Backend;
use super::script::Script;
use crate::ddl;
use crate::m20261130_000001_create_inbox_message::Migration;

const UNIQUE: &str = "The unique index: it decides whether a delivery is a duplicate. Without it every duplicate is processed.";
const OPEN: &str = "Finds what is claimed and unfinished.";
const TABLE: &str = "One row for each message and consumer.";

/// The whole schema, and the record of it.
pub(super) fn up(backend: Backend) -> Script {
    let mut script = Script::default();
    script.comment(&format!("The inbox of inbox-migration {}, for {backend}, to be run by hand, once.", env!("CARGO_PKG_VERSION")));
    script.comment(run_it(backend));
    match backend.driver() {
        Some(driver) => create(&mut script, driver),
        None => create_mssql(&mut script),
    }
    script
}

/// What takes it away again.
pub(super) fn down(backend: Backend) -> Script {
    let mut script = Script::default();
    script.comment(&format!(
        "Drops the inbox on {backend}, with every marker in it: a message that is redelivered afterwards is processed again.\n\
         Stop the consumers and let the brokers run dry first. Unlike inbox down, this text does not look for markers."
    ));
    let Some(driver) = backend.driver() else {
        script.part("SeaORM 2.0 has no driver for SQL Server: this text was never run.", [ddl::mssql::drop()]);
        return script;
    };
    let (begin, commit) = transaction(driver);
    script.part("", begin);
    script.part("The table and its indexes, and nothing else.", [ddl::drop(driver)]);
    script.part("The record of it. The history itself stays, as inbox down leaves it.", [ddl::forget(Migration::NAME)]);
    script.part("", commit);
    script
}

/// In the order of `up`, so that what is there after a failure is what `up` would have left.
fn create(script: &mut Script, driver: DbBackend) {
    let (begin, commit) = transaction(driver);
    script.part("", begin);
    script.part("The history of inbox up: which migrations were applied.", [ddl::create_history(driver)]);
    if driver == DbBackend::MySql {
        let all = format!("{TABLE} One statement, so that it is never without its indexes.\n{UNIQUE}\nThe other one serves claims.");
        script.part(&all, ddl::create(driver));
    } else {
        for (comment, sql) in [TABLE, UNIQUE, OPEN].into_iter().zip(ddl::create(driver)) {
            script.part(comment, [sql]);
        }
    }
    script.part(
        "The record: inbox status and inbox up find the migration applied, and a service that calls up when it starts needs no\n\
         rights on the schema. Where the application has a migrator of its own that holds inbox_migration::migrations(), leave the\n\
         history and this statement out, and record the same version in the table of that migrator, seaql_migrations.",
        [ddl::record(driver, Migration::NAME)],
    );
    script.part("", commit);
}

fn create_mssql(script: &mut Script) {
    let begin = ["SET XACT_ABORT ON"].into_iter().chain(ddl::mssql::SETTINGS).chain(["BEGIN TRANSACTION"]);
    script.part("All or nothing. Sessions that write to a table with a filtered index need the same settings.", begin);
    for (comment, sql) in [TABLE, UNIQUE, OPEN].into_iter().zip(ddl::mssql::create()) {
        script.part(comment, [sql]);
    }
    script.part("", ["COMMIT TRANSACTION"]);
}

/// MySQL commits at every DDL statement, so there a transaction would be a lie.
fn transaction(driver: DbBackend) -> (Option<String>, Option<String>) {
    match driver {
        DbBackend::MySql => (None, None),
        _ => (Some("BEGIN".to_owned()), Some("COMMIT".to_owned())),
    }
}

fn run_it(backend: Backend) -> &'static str {
    match backend {
        Backend::Postgres => {
            "    psql -v ON_ERROR_STOP=1 -f inbox.sql shop\n\
             It is what inbox up runs, all of it or nothing, and goes into the first schema of the search_path.\n\
             inbox grants prints the rights that roles need on it."
        }
        Backend::Mysql => {
            "    mariadb shop < inbox.sql\n\
             It is what inbox up runs. MySQL commits after every statement: where it stopped in between, inbox status says what\n\
             is missing. inbox grants prints the rights that accounts need on it."
        }
        Backend::Sqlite => {
            "    sqlite3 -bail shop.sqlite < inbox.sql\n\
             It is what inbox up runs, all of it or nothing."
        }
        Backend::Mssql => {
            "SeaORM 2.0 has no driver for SQL Server: inbox-core cannot use the table yet, and this text was never run.\n\
             There is no history, since there is no inbox up that would read it."
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::super::script::assert_plain_comments;
    use super::*;

    /// A second migration has to be printed as well.
    #[test]
    fn there_is_one_migration() {
        assert_eq!(crate::migrations().len(), 1);
    }

    fn statements(script: &Script) -> Vec<String> {
        let lines: Vec<&str> = script.text().lines().filter(|line| !line.is_empty() && !line.starts_with("--")).collect();
        lines.iter().map(|line| line.strip_suffix(';').unwrap().to_owned()).collect()
    }

    #[test]
    fn what_the_migration_runs() {
        for (backend, driver) in
            [(Backend::Postgres, DbBackend::Postgres), (Backend::Mysql, DbBackend::MySql), (Backend::Sqlite, DbBackend::Sqlite)]
        {
            let mut expected = vec![ddl::create_history(driver)];
            expected.extend(ddl::create(driver));
            expected.push(ddl::record(driver, Migration::NAME));
            let mut undone = vec![ddl::drop(driver), ddl::forget(Migration::NAME)];
            if driver != DbBackend::MySql {
                for statements in [&mut expected, &mut undone] {
                    statements.insert(0, "BEGIN".to_owned());
                    statements.push("COMMIT".to_owned());
                }
            }
            assert_eq!(statements(&up(backend)), expected);
            assert_eq!(statements(&down(backend)), undone);
        }
    }

    #[test]
    fn sql_server() {
        let printed = statements(&up(Backend::Mssql));
        assert_eq!(printed[3], "BEGIN TRANSACTION");
        assert_eq!(printed[4..7], ddl::mssql::create());
        assert_eq!(printed[7..], ["COMMIT TRANSACTION"]);
        assert_eq!(statements(&down(Backend::Mssql)), ["DROP TABLE IF EXISTS [inbox_message]"]);
    }

    #[test]
    fn comments() {
        for backend in Backend::value_variants() {
            assert_plain_comments(up(*backend).text());
            assert_plain_comments(down(*backend).text());
        }
    }
}
