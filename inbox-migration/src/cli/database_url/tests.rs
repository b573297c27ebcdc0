use super::*;

const ALL: Drivers = Drivers { postgres: true, mysql: true, sqlite: true };

fn parse(text: &str) -> Result<DatabaseUrl, Failure> {
    DatabaseUrl::parse_for(text, ALL)
}

fn refused(text: &str, drivers: Drivers) -> (Exit, String) {
    match DatabaseUrl::parse_for(text, drivers) {
        Ok(url) => panic!("{text} is taken for {url}"),
        Err(failure) => (failure.exit, failure.message),
    }
}

#[test]
fn a_database_is_named_without_its_secrets() {
    for (url, shown) in [
        ("postgres://u:hunter2@db.example:5433/app?sslmode=require", "PostgreSQL at db.example:5433, database app"),
        ("postgresql://u:hunter2@[::1]/app", "PostgreSQL at [::1]:5432, database app"),
        ("postgres:///?host=/run/pg&dbname=app&password=hunter2", "PostgreSQL at /run/pg, database app"),
        ("postgres://h", "PostgreSQL at h:5432"),
        ("MYSQL://u:hunter2@h:7/my%20app", "MySQL at h:7, database my app"),
        ("mysql://u:hunter2@h/app?socket=%2Frun%2Fmy.sock", "MySQL at /run/my.sock, database app"),
        ("sqlite:inbox.sqlite?mode=rwc", "SQLite inbox.sqlite"),
        ("sqlite:///var/lib/a%20b.sqlite", "SQLite /var/lib/a b.sqlite"),
        ("sqlite::memory:", "SQLite :memory:"),
        // The last @ ends the user's part, as for the driver.
        ("mysql://u:hunter2@home@h/app", "MySQL at h:3306, database app"),
    ] {
        let parsed = parse(url).unwrap_or_else(|failure| panic!("{url}: {}", failure.message));
        assert_eq!(parsed.to_string(), shown);
        let debug = format!("{parsed:?}");
        assert!(!debug.contains("hunter2") && !debug.contains("u:"), "{debug}");
    }
}

#[test]
fn secrets_are_known_in_every_form() {
    for url in [
        "postgres://u:hunter2@h/d",
        "postgres://u:hun%74er2@h/d",
        "postgres://u@h/d?password=hunter2",
        "postgres://u@h/d?pasword=hun%74er2",
        "mysql://u:x@h/d?PassWord=hunter2",
    ] {
        let scrub = parse(url).unwrap_or_else(|failure| panic!("{url}: {}", failure.message)).scrub();
        assert_eq!(scrub.clean("it is hunter2."), "it is ***.", "{url}");
        assert!(!scrub.clean(url).contains("er2"), "{url}");
    }
    let scrub = parse("postgres://u:p%40ss%2Fword@h/d").unwrap_or_else(|_| unreachable!()).scrub();
    assert_eq!(scrub.clean("p@ss/word p%40ss%2Fword"), "*** ***");
}

#[test]
fn what_cannot_be_used_is_refused_without_being_repeated() {
    for url in [
        "",
        "u:hunter2@h/d",
        "hunter2://h/d",
        "http://u:hunter2@h/d",
        "postgres:u:hunter2@h/d",
        "postgres://u:hunter2/x@h/d",
        "postgres://u:hunter2?x@h/d",
        "postgres://u:hunter2#x@h/d",
        "postgres://u:7/hunter2@h/d",
        "mariadb://u:hunter2@h/d",
        "mysql://u:hunter2@h",
        "mysql://u:hunter2@h/",
        "mysql://u:hunter2@h/?ssl-mode=disabled",
    ] {
        let (exit, message) = refused(url, ALL);
        assert_eq!(exit, Exit::BadUrl, "{url}");
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn a_missing_driver_is_another_thing_than_a_wrong_scheme() {
    let none = Drivers { postgres: false, mysql: false, sqlite: false };
    for (url, feature) in
        [("postgresql://u:hunter2@h/d", "sqlx-postgres"), ("mysql://u:hunter2@h/d", "sqlx-mysql"), ("sqlite:x", "sqlx-sqlite")]
    {
        let (exit, message) = refused(url, none);
        assert_eq!(exit, Exit::NoDriver, "{url}");
        assert!(message.ends_with(feature) && !message.contains("hunter2"), "{message}");
    }
    for url in ["mssql://sa:hunter2@h/d", "sqlserver://h"] {
        assert_eq!(refused(url, ALL).0, Exit::NoDriver);
    }
}

#[test]
fn percent_decoding() {
    assert_eq!(decoded("a%20b%2fc%"), "a b/c%");
    assert_eq!(decoded("%zz%C3%A4"), "%zzä");
}
