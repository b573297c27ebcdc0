//! Names that somebody else chose, as SQL writes them: no name can end its quotes.

use super::Backend;

/// The longest that PostgreSQL keeps; the rest it cuts off, and grants to whoever has the shorter name.
const POSTGRES_LENGTH: usize = 63;

/// A quoted name, or why it cannot be one. `what` says whose: "--role".
pub(super) fn quoted(backend: Backend, what: &str, name: &str) -> Result<String, String> {
    if name.trim().is_empty() {
        return Err(format!("{what} is empty"));
    }
    if name.chars().any(char::is_control) {
        return Err(format!("{what} holds a line break or another control character: no name that was meant has one"));
    }
    match backend {
        Backend::Postgres if name.len() > POSTGRES_LENGTH => {
            Err(format!("{what} is longer than {POSTGRES_LENGTH} bytes, which PostgreSQL would cut off: it would be another name"))
        }
        // sqlcmd replaces variables wherever they stand, by the environment.
        Backend::Mssql if name.contains("$(") => Err(format!("{what} holds $(, which sqlcmd takes for a variable")),
        Backend::Postgres | Backend::Sqlite => Ok(format!("\"{}\"", name.replace('"', "\"\""))),
        // Not '…': what a backslash means in there depends on the session's sql_mode.
        Backend::Mysql => Ok(format!("`{}`", name.replace('`', "``"))),
        Backend::Mssql => Ok(format!("[{}]", name.replace(']', "]]"))),
    }
}

/// Who gets the rights.
pub(super) fn role(backend: Backend, role: &str) -> Result<String, String> {
    let everybody = match backend {
        Backend::Postgres => role == "public",
        Backend::Mssql => role.eq_ignore_ascii_case("public"),
        Backend::Mysql | Backend::Sqlite => false,
    };
    if everybody {
        return Err(format!("--role {role} would give the rights to everybody, also in quotes: name the role of the service"));
    }
    if backend != Backend::Mysql {
        return quoted(backend, "--role", role);
    }
    // A host has no @, a user may.
    let (user, host) = role.rsplit_once('@').unwrap_or((role, "%"));
    if host.is_empty() || !host.chars().all(|c| c.is_ascii_alphanumeric() || ".:%_-/".contains(c)) {
        return Err(
            "--role is user@host on MySQL and MariaDB, without quotes, as in app@10.0.0.%; without a host it is app@%. What stands \
             behind the last @ is no host"
                .to_owned(),
        );
    }
    Ok(format!("{}@{}", quoted(backend, "--role", user)?, quoted(backend, "--role", host)?))
}

/// A MySQL database for rights on all of it, where `_` and `%` stand for others' names too.
pub(super) fn whole_database(name: &str) -> Result<String, String> {
    let escaped = name.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%");
    quoted(Backend::Mysql, "--database", &escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_its_quotes() {
        for (backend, name, expected) in [
            (Backend::Postgres, r#"a"; DROP TABLE x; --"#, r#""a""; DROP TABLE x; --""#),
            (Backend::Postgres, r"a'b\c", r#""a'b\c""#),
            (Backend::Mysql, r"a`b'c\d", r"`a``b'c\d`@`%`"),
            (Backend::Mysql, "app@10.0.0.%", "`app`@`10.0.0.%`"),
            (Backend::Mysql, "o@brien@db_1.lan", "`o@brien`@`db_1.lan`"),
            (Backend::Mysql, "app@::1", "`app`@`::1`"),
            (Backend::Mssql, "a]b[c", "[a]]b[c]"),
        ] {
            assert_eq!(role(backend, name).unwrap(), expected);
        }
    }

    #[test]
    fn refused() {
        let long = "r".repeat(64);
        for (backend, name, says) in [
            (Backend::Postgres, "", "is empty"),
            (Backend::Postgres, " ", "is empty"),
            (Backend::Postgres, "a\nb", "line break"),
            (Backend::Mysql, "a\0b", "control character"),
            (Backend::Postgres, long.as_str(), "63 bytes"),
            (Backend::Postgres, "public", "everybody"),
            (Backend::Mssql, "Public", "everybody"),
            (Backend::Mssql, "a$(USER)", "variable"),
            (Backend::Mysql, "@%", "is empty"),
            (Backend::Mysql, "app@", "without quotes"),
            (Backend::Mysql, "'app'@'%'", "without quotes"),
            (Backend::Mysql, "app@%`", "without quotes"),
        ] {
            let refusal = role(backend, name).unwrap_err();
            assert!(refusal.contains(says), "{name}: {refusal}");
        }
        assert!(role(Backend::Postgres, &long[1..]).is_ok());
        // Another role's name there.
        assert!(role(Backend::Postgres, "Public").is_ok());
    }

    #[test]
    fn a_database_stands_for_itself() {
        assert_eq!(whole_database("my_shop").unwrap(), r"`my\_shop`");
        assert_eq!(whole_database("a%`b").unwrap(), r"`a\%``b`");
    }
}
