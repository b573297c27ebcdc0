//! A migrated table, made wrong, refused, mended as the refusal says, and accepted.

use inbox_core::{Error, SchemaError, verify};
use inbox_migration::{Rows, down, up};
use inbox_tests::{Backend, TestDb};
use sea_orm::{ConnectionTrait as _, DatabaseConnection};

/// The index as this backend quotes it.
pub(crate) fn idx(db: &TestDb) -> &'static str {
    db.backend().pick(
        "\"idx-inbox_message-message_consumer\"",
        "`idx-inbox_message-message_consumer`",
        "\"idx-inbox_message-message_consumer\"",
    )
}

/// Drops our index.
pub(crate) fn drop_idx(db: &TestDb) -> String {
    format!("DROP INDEX {}{}", idx(db), db.backend().pick("", " ON inbox_message", ""))
}

/// Puts another index in its place, under its name.
pub(crate) fn instead(db: &TestDb, unique: &str, on: &str) -> Vec<String> {
    vec![drop_idx(db), format!("CREATE {unique} INDEX {} ON inbox_message {on}", idx(db))]
}

/// One wrong schema: from the migrated one by `change`, refused with a text that has all of `says` in it; then mended.
pub(crate) async fn refused(db: &TestDb, change: &[impl AsRef<str>], says: &[&str]) {
    migrated_and(db, change).await;
    let error = refusal(db, says).await;
    mend(db, &error).await;
    accepts(db).await;
}

/// The migrated schema, changed.
pub(crate) async fn migrated_and(db: &TestDb, change: &[impl AsRef<str>]) {
    start_afresh(db).await;
    execute(db, change).await;
}

/// The same on SQLite, which alters no columns: the table is created anew from its own text, with `from` replaced.
pub(crate) async fn refused_with(db: &TestDb, from: &str, to: &str, says: &[&str]) {
    start_afresh(db).await;
    let anew = anew_with(db, from, to).await;
    execute(db, &anew).await;
    let error = refusal(db, says).await;
    mend(db, &error).await;
    accepts(db).await;
}

/// What creates SQLite's table anew.
pub(crate) async fn anew_with(db: &TestDb, from: &str, to: &str) -> Vec<String> {
    assert_eq!(db.backend(), Backend::Sqlite);
    let texts = "SELECT group_concat(sql, ';') FROM \
                 (SELECT sql FROM sqlite_master WHERE tbl_name = 'inbox_message' AND sql IS NOT NULL ORDER BY rowid)";
    let texts = db.scalar_text(texts).await.unwrap();
    assert!(texts.contains(from), "{from} is not in {texts}");
    std::iter::once("DROP TABLE inbox_message").chain(texts.split(';')).map(|sql| sql.replace(from, to)).collect()
}

/// On one connection: SQLite's others do not know at once that an index is gone.
pub(crate) async fn execute(db: &TestDb, statements: &[impl AsRef<str>]) {
    let session = db.pool(1).await;
    for sql in statements {
        let sql = sql.as_ref();
        session.execute_unprepared(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Nothing but the migrated table, whatever there was.
pub(crate) async fn start_afresh(db: &TestDb) {
    let drop = |table| format!("DROP TABLE IF EXISTS {table}{}", db.backend().pick(" CASCADE", "", ""));
    execute(db, &[drop("inbox_message"), drop("inbox_migrations")]).await;
    up(&db.pool(1).await).await.unwrap();
}

/// The refusal, which has to say all this and to leave no row.
pub(crate) async fn refusal(db: &TestDb, says: &[&str]) -> SchemaError {
    refusal_of(db, &db.pool(2).await, says).await
}

pub(crate) async fn refusal_of(db: &TestDb, pool: &DatabaseConnection, says: &[&str]) -> SchemaError {
    let rows = db.try_exec("SELECT 1 FROM inbox_message").await.is_ok();
    let before = if rows { db.count("inbox_message").await } else { 0 };
    let error = match verify(pool).await {
        Err(Error::Schema(error)) => error,
        other => panic!("{says:?} got {other:?}"),
    };
    let text = error.to_string();
    for said in says {
        assert!(text.contains(said), "{said:?} is not said: {text}");
    }
    if rows {
        assert_eq!(db.count("inbox_message").await, before, "{text}");
    }
    error
}

/// Runs what stands in backticks, in its order, as an operator would.
pub(crate) async fn mend(db: &TestDb, error: &SchemaError) {
    // A session of its own, as in a client: `SET time_zone` is for what follows.
    let session = db.pool(1).await;
    let commands = commands(error.remedy());
    assert!(!commands.is_empty(), "{error}");
    for command in commands {
        match command.as_str() {
            "inbox up" => drop(up(&session).await.unwrap_or_else(|failed| panic!("{failed}, after {error}"))),
            "inbox down --force" => drop(down(&session, Rows::Lose).await.unwrap_or_else(|failed| panic!("{failed}, after {error}"))),
            sql => drop(session.execute_unprepared(sql).await.unwrap_or_else(|failed| panic!("{sql}: {failed}, after {error}"))),
        }
    }
}

/// Commands in one backtick, or in two where they have backticks of their own; names of code are none.
pub(crate) fn commands(remedy: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut rest = remedy;
    while let Some(at) = rest.find('`') {
        let fence = if rest[at..].starts_with("``") { "``" } else { "`" };
        let body = &rest[at + fence.len()..];
        let end = body.find(fence).expect("a closed backtick");
        // Inside of two, a quoted name may end the command: ``… `name` ``.
        commands.push(body[..end].trim().to_owned());
        rest = &body[end + fence.len()..];
    }
    commands.retain(|command| command.contains(' '));
    commands
}

/// Whether this server of the MySQL kind is MariaDB.
pub(crate) async fn is_mariadb(db: &TestDb) -> bool {
    db.scalar_text("SELECT CAST(VERSION() AS CHAR)").await.unwrap().contains("MariaDB")
}

/// Accepted, without a trace.
pub(crate) async fn accepts(db: &TestDb) {
    let before = db.count("inbox_message").await;
    verify(&db.pool(2).await).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(db.count("inbox_message").await, before);
}
