//! `inbox grants`: the least rights, each with what needs it.
//!
//! `tests/cli/grants.rs` takes every single one away, and sees something fail.

use inbox_core::entity::TABLE;

use super::names::{quoted, role, whole_database};
use super::script::Script;
use super::{Backend, Kind};
use crate::HISTORY_TABLE;
use crate::cli::args::GrantsArgs;

/// The script, or what is wrong with the command line.
pub(super) fn script(args: &GrantsArgs) -> Result<Script, String> {
    let mut script = Script::default();
    if args.backend == Backend::Sqlite {
        script.comment(SQLITE);
        return Ok(script);
    }
    let Some(name) = &args.role else {
        return Err("--role is missing: name the role (on MySQL and MariaDB the account, user@host) that is to get the rights".to_owned());
    };
    let to = role(args.backend, name)?;
    script.comment(&format!("{}, on {}: the least rights.", who(args.kind), args.backend));
    match args.backend {
        Backend::Postgres => postgres(&mut script, args, &to)?,
        Backend::Mysql => mysql(&mut script, args, &to)?,
        Backend::Mssql | Backend::Sqlite => mssql(&mut script, args, &to)?,
    }
    Ok(script)
}

fn who(kind: Kind) -> &'static str {
    match kind {
        Kind::Application => "A service that delivers through the inbox",
        Kind::Operator => "Who migrates the inbox, purges it and frees parked messages",
    }
}

const SQLITE: &str = "\
SQLite has no roles and no rights: who may write to the file may do everything.
The user of the process needs to read and write the file, and to write to its folder, where SQLite puts the journal.
Who is only to look opens it with ?mode=ro in the URL.";

const WHEN: &str = "\
Run it as the owner of what it names, or as a superuser, once the tables are there (inbox up, or inbox sql). The grants on
a table are dropped with it: run it again after inbox down and inbox up.";

const DELIVERIES: &str = "Deliveries and inbox verify: INSERT writes the marker, SELECT finds what a duplicate repeats.";

const HISTORY: &str = "inbox status, and up, which a service calls when it starts: they read what was applied.";

const CLAIMS: &str = "\
Claims, of handlers with effects outside of the database, move on by UPDATE. This version has none yet: leave it out until
you use them.";

const PURGE: &str = "A service that purges old markers itself needs DELETE on this table as well.";

fn postgres(script: &mut Script, args: &GrantsArgs, to: &str) -> Result<(), String> {
    let schema = quoted(args.backend, "--schema", args.schema.as_deref().unwrap_or("public"))?;
    let (inbox, history) = (format!("{schema}.\"{TABLE}\""), format!("{schema}.\"{HISTORY_TABLE}\""));
    let connect = match &args.database {
        Some(database) => Some(format!("GRANT CONNECT ON DATABASE {} TO {to}", quoted(args.backend, "--database", database)?)),
        None => None,
    };
    match args.kind {
        Kind::Application => {
            script.comment(WHEN);
            let reach = connect.into_iter().chain([format!("GRANT USAGE ON SCHEMA {schema} TO {to}")]);
            script.part("The way to the tables.", reach);
            script.part(
                &format!("{DELIVERIES}\nThe identity column needs no right on its sequence.\n{PURGE}"),
                [format!("GRANT SELECT, INSERT ON {inbox} TO {to}")],
            );
            script.part(HISTORY, [format!("GRANT SELECT ON {history} TO {to}")]);
            script.part(CLAIMS, [format!("GRANT UPDATE ON {inbox} TO {to}")]);
        }
        Kind::Operator => {
            script.comment(
                "inbox up creates the tables as this role, which then owns them: to drop, to purge and to grant needs no right more.\n\
                 Tables that another role created have to be handed over first, by ALTER TABLE with OWNER TO.",
            );
            script.part(
                "inbox up: USAGE finds the schema, CREATE creates in it.",
                connect.into_iter().chain([format!("GRANT USAGE, CREATE ON SCHEMA {schema} TO {to}")]),
            );
        }
    }
    Ok(())
}

fn mysql(script: &mut Script, args: &GrantsArgs, to: &str) -> Result<(), String> {
    if args.schema.is_some() {
        return Err("--schema is for PostgreSQL and SQL Server: on MySQL and MariaDB name the --database".to_owned());
    }
    let Some(database) = &args.database else {
        return Err("--database is missing: on MySQL and MariaDB rights are on the tables of a database".to_owned());
    };
    let name = quoted(args.backend, "--database", database)?;
    let (inbox, history) = (format!("{name}.`{TABLE}`"), format!("{name}.`{HISTORY_TABLE}`"));
    match args.kind {
        Kind::Application => {
            script.comment("Run it once the tables are there (inbox up, or inbox sql).");
            script.part(
                &format!(
                    "{DELIVERIES}\nDELETE takes back a marker that a handler committed, by a CALL for instance, before it failed. A service\n\
                     that purges old markers itself needs it for that as well."
                ),
                [format!("GRANT SELECT, INSERT, DELETE ON {inbox} TO {to}")],
            );
            script.part(HISTORY, [format!("GRANT SELECT ON {history} TO {to}")]);
            script.part(CLAIMS, [format!("GRANT UPDATE ON {inbox} TO {to}")]);
        }
        Kind::Operator => {
            script.comment("Run it before inbox up: the tables need not be there.");
            script.part(
                // UPDATE is in here because MySQL gives rights on a table that is not there only together with CREATE.
                "inbox up creates, inbox down counts the markers and drops, inbox verify writes and takes back, a purge deletes.\n\
                 UPDATE frees parked messages, which come with claims: leave it out until you use them.",
                [format!("GRANT CREATE, DROP, SELECT, INSERT, UPDATE, DELETE ON {inbox} TO {to}")],
            );
            script.part(
                "The history: inbox up records, inbox down takes the record back.",
                [format!("GRANT CREATE, SELECT, INSERT, DELETE ON {history} TO {to}")],
            );
            script.part(
                "inbox down keeps writers away between the count and the drop. This right is not for single tables.",
                [format!("GRANT LOCK TABLES ON {}.* TO {to}", whole_database(database)?)],
            );
        }
    }
    Ok(())
}

fn mssql(script: &mut Script, args: &GrantsArgs, to: &str) -> Result<(), String> {
    if args.database.is_some() {
        return Err("--database is not for SQL Server: run the text in the database itself".to_owned());
    }
    let schema = quoted(args.backend, "--schema", args.schema.as_deref().unwrap_or("dbo"))?;
    let inbox = format!("OBJECT::{schema}.[{TABLE}]");
    script.comment("SeaORM 2.0 has no driver for SQL Server: this text was never run.");
    match args.kind {
        Kind::Application => {
            script.comment(WHEN);
            script.part(&format!("{DELIVERIES}\n{PURGE}"), [format!("GRANT SELECT, INSERT ON {inbox} TO {to}")]);
            script.part(CLAIMS, [format!("GRANT UPDATE ON {inbox} TO {to}")]);
        }
        Kind::Operator => {
            script.part(
                "The text of inbox sql, and of inbox sql --down: CREATE TABLE is of the database, ALTER of the schema to put it in.",
                [format!("GRANT CREATE TABLE TO {to}"), format!("GRANT ALTER ON SCHEMA::{schema} TO {to}")],
            );
            script.part(
                "When the table is there: a purge looks and deletes, parked messages are freed by UPDATE.",
                [format!("GRANT SELECT, UPDATE, DELETE ON {inbox} TO {to}")],
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::super::script::assert_plain_comments;
    use super::*;

    fn args(backend: Backend, kind: Kind) -> GrantsArgs {
        let database = (backend == Backend::Mysql).then(|| "my_shop".to_owned());
        GrantsArgs { backend, role: Some("app".to_owned()), kind, database, schema: None }
    }

    fn grants(args: &GrantsArgs) -> Vec<String> {
        script(args).unwrap().text().lines().filter(|line| line.starts_with("GRANT")).map(str::to_owned).collect()
    }

    #[test]
    fn comments() {
        for backend in Backend::value_variants() {
            for kind in Kind::value_variants() {
                assert_plain_comments(script(&args(*backend, *kind)).unwrap().text());
            }
        }
    }

    /// What no server here has run. The others' are in `tests/cli/grants.rs`.
    #[test]
    fn sql_server() {
        assert_eq!(
            grants(&args(Backend::Mssql, Kind::Application)),
            ["GRANT SELECT, INSERT ON OBJECT::[dbo].[inbox_message] TO [app];", "GRANT UPDATE ON OBJECT::[dbo].[inbox_message] TO [app];",]
        );
        assert_eq!(
            grants(&args(Backend::Mssql, Kind::Operator)),
            [
                "GRANT CREATE TABLE TO [app];",
                "GRANT ALTER ON SCHEMA::[dbo] TO [app];",
                "GRANT SELECT, UPDATE, DELETE ON OBJECT::[dbo].[inbox_message] TO [app];",
            ]
        );
    }

    #[test]
    fn sqlite_has_none() {
        let nobody = GrantsArgs { role: None, ..args(Backend::Sqlite, Kind::Application) };
        assert!(script(&nobody).unwrap().text().lines().all(|line| line.starts_with("--")));
    }

    #[test]
    fn what_is_missing_or_too_much() {
        let of = |backend| args(backend, Kind::Operator);
        for (args, says) in [
            (GrantsArgs { role: None, ..of(Backend::Postgres) }, "--role is missing"),
            (GrantsArgs { database: None, ..of(Backend::Mysql) }, "--database is missing"),
            (GrantsArgs { schema: Some("s".to_owned()), ..of(Backend::Mysql) }, "name the --database"),
            (GrantsArgs { database: Some("d".to_owned()), ..of(Backend::Mssql) }, "in the database itself"),
            (GrantsArgs { schema: Some("a\nb".to_owned()), ..of(Backend::Postgres) }, "--schema holds a line break"),
            (GrantsArgs { database: Some(String::new()), ..of(Backend::Mysql) }, "--database is empty"),
        ] {
            let refusal = script(&args).unwrap_err();
            assert!(refusal.contains(says), "{refusal}");
        }
    }
}
