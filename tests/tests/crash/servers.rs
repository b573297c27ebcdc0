//! Over the network: the proxy holds the connection when it sees the message go by, and the process is killed meanwhile.

use inbox_tests::{
    Ledger, TestDb, backends,
    proxy::{Action, Moment, Passing, Proxy},
};

use crate::{
    delivery::fresh,
    process::{all_or_nothing, and_the_next_messages, forget, start},
};

/// What becomes of the message that was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It goes on to where it was sent.
    Arrives,
    /// It is lost with the connection.
    Lost,
}

backends! {
    [postgres, mysql]
    async fn killed_at_begin(db: TestDb) {
        nothing_stays(&db, &Passing::Begin).await;
    }

    [postgres, mysql]
    async fn killed_at_the_marker(db: TestDb) {
        nothing_stays(&db, &Passing::Marker).await;
    }

    [postgres, mysql]
    async fn killed_in_the_body(db: TestDb) {
        // The effect's second statement.
        nothing_stays(&db, &Passing::Statement("biz".to_owned())).await;
    }

    /// It left the process, and reaches the server or does not.
    [postgres, mysql]
    async fn killed_when_commit_was_sent(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        assert!(killed(&ledger, &Passing::Commit, Moment::BeforeRequest, Then::Arrives).await, "it was committed");
        assert!(!killed(&ledger, &Passing::Commit, Moment::BeforeRequest, Then::Lost).await, "it was not");
        and_the_next_messages(&ledger).await;
    }

    /// Whether the process heard of it or not.
    [postgres, mysql]
    async fn killed_when_commit_was_answered(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        for (moment, then) in
            [(Moment::BeforeAnswer, Then::Lost), (Moment::BeforeAnswer, Then::Arrives), (Moment::AfterAnswer, Then::Arrives)]
        {
            assert!(killed(&ledger, &Passing::Commit, moment, then).await, "{moment:?}, {then:?}");
        }
        and_the_next_messages(&ledger).await;
    }
}

/// Neither the marker nor the effect.
async fn nothing_stays(db: &TestDb, passing: &Passing) {
    let ledger = Ledger::new(db).await;
    for then in [Then::Arrives, Then::Lost] {
        for moment in [Moment::BeforeRequest, Moment::BeforeAnswer, Moment::AfterAnswer] {
            let effective = killed(&ledger, passing, moment, then).await;
            // The answer went out, and the process may have gone on to COMMIT before it was killed.
            assert!(!effective || moment == Moment::AfterAnswer, "{moment:?}, {then:?}");
        }
    }
    and_the_next_messages(&ledger).await;
}

/// Kills a process whose connection is held there. Returns whether its delivery took effect.
async fn killed(ledger: &Ledger, passing: &Passing, moment: Moment, then: Then) -> bool {
    let proxy = Proxy::start(ledger.db()).await;
    let held = proxy.on(passing.clone(), moment, Action::Hold);
    let key = fresh();
    let child = start(&proxy.url(), &key, "from outside");
    held.reached().await;
    child.kill();
    match then {
        Then::Arrives => held.release(),
        Then::Lost => held.cut(),
    }
    assert!(child.wait().await.killed());
    if then == Then::Arrives && (passing, moment) == (&Passing::Commit, Moment::BeforeRequest) {
        // Until it has arrived there is nothing that the server could be asked to wait for.
        while ledger.records_of("crashed").await == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
    let effective = all_or_nothing(ledger, key, &format!("at {passing:?}, {moment:?}, {then:?}")).await;
    forget(ledger).await;
    effective
}
