//! The process that is killed, and what has to be true afterwards.

use std::{thread, time::Duration};

use inbox_core::{InboxKey, MessageId, Options};
use inbox_tests::{
    Ledger,
    child::{self, Child},
    hooks::{self, Hooks},
    race::Count,
};
use sea_orm::{ConnectOptions, Database};
use uuid::Uuid;

use crate::delivery::{CREDIT, assert_clean, assert_effects, assert_settled, deliver, duplicate, fresh, processed};

/// Starts a process that delivers this message once; it dies by itself where `dies` says so, or is killed from here.
pub(crate) fn start(url: &str, key: &InboxKey, dies: &str) -> Child {
    child::spawn("process::delivers", &[("url", url), ("message", &key.message_id().to_string()), ("dies", dies)])
}

#[tokio::test]
#[ignore = "runs only as the child process of crash tests"]
async fn delivers() {
    let mut options = ConnectOptions::new(child::argument("url"));
    options.max_connections(1).test_before_acquire(false).sqlx_logging(false);
    let dies = child::argument("dies");
    let (when, number) = dies.rsplit_once(char::is_whitespace).filter(|(_, number)| number.parse::<u64>().is_ok()).unwrap_or((&dies, "0"));
    let number: u64 = number.parse().unwrap();
    match when {
        "at the marker" => hooks::sqlite(&mut options, Hooks::new().on_insert(|table| dies_if(table == "inbox_message"))),
        "in the body" => hooks::sqlite(&mut options, Hooks::new().on_insert(|table| dies_if(table == "biz"))),
        "at commit" => hooks::sqlite(&mut options, Hooks::new().on_commit(|_| child::die())),
        "around commit, after µs" => {
            let later = move |_| {
                thread::spawn(move || {
                    thread::sleep(Duration::from_micros(number));
                    child::die();
                });
                true
            };
            hooks::sqlite(&mut options, Hooks::new().on_commit(later));
        }
        "at instruction" => dies_at_instruction(&mut options, number),
        "afterwards" | "from outside" => {}
        other => panic!("nobody dies {other}"),
    }
    let db = Database::connect(options).await.unwrap();
    let message = MessageId::from(child::argument("message").parse::<Uuid>().unwrap());
    let answer = deliver(&db, InboxKey::new(CREDIT, message), Options::new(), &Count::new(), "crashed").await;
    assert!(processed(&answer), "{answer:?}");
    dies_if(when == "afterwards");
    if when == "from outside" {
        // The parent kills it before it comes here, or now.
        thread::sleep(Duration::from_mins(1));
    }
}

fn dies_if(yes: bool) {
    if yes {
        child::die();
    }
}

/// At so many instructions of SQLite's virtual machine: inside BEGIN, inside the INSERT, or wherever that is.
fn dies_at_instruction(options: &mut ConnectOptions, number: u64) {
    options.map_sqlx_sqlite_pool_opts(move |pool| {
        pool.after_connect(move |connection, _| {
            Box::pin(async move {
                let mut left = number;
                connection.lock_handle().await?.set_progress_handler(1, move || {
                    left = left.saturating_sub(1);
                    dies_if(left == 0);
                    true
                });
                Ok(())
            })
        })
    });
}

/// What the dead process left is all or nothing, and the next delivery is right. Returns whether it was all.
pub(crate) async fn all_or_nothing(ledger: &Ledger, key: InboxKey, what: &str) -> bool {
    assert_settled(ledger).await;
    let (markers, rows) = (ledger.markers_of(*key.message_id().as_uuid()).await, ledger.records_of("crashed").await);
    assert_eq!(markers, rows, "killed {what}: {markers} markers and {rows} business rows");
    let before = ledger.markers().await;
    assert_effects(ledger, before).await;
    let pool = ledger.db().pool(1).await;
    let again = deliver(&pool, key, Options::new(), &Count::new(), "again").await;
    let right = if rows == 1 { duplicate(&again) } else { processed(&again) };
    assert!(right, "killed {what} with {rows} business rows, and the redelivery is {again:?}");
    assert_effects(ledger, before + 1 - rows).await;
    rows == 1
}

/// Makes room for the next crash on the same database.
pub(crate) async fn forget(ledger: &Ledger) {
    for table in ["inbox_message", "biz"] {
        ledger.db().exec(&format!("DELETE FROM {table}")).await;
    }
    ledger.db().exec("UPDATE acct SET bal = 0").await;
}

/// For the last crash of a test.
pub(crate) async fn and_the_next_messages(ledger: &Ledger) {
    forget(ledger).await;
    assert_clean(ledger, &ledger.db().pool(1).await).await;
    assert!(processed(&deliver(&ledger.db().pool(1).await, fresh(), Options::new(), &Count::new(), "last").await));
}
