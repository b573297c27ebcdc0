//! Whoever can choose another sender's id can suppress its message: so the domain is the *authenticated* sender (D8).

use inbox_core::{InvalidMessageId, Message, MessageId, Outcome, idempotent};
use inbox_tests::{Ledger, TestDb, backends, ledger};
use sea_orm::{DatabaseConnection, DbErr};

/// As it comes from the broker: `tenant` is what the broker authenticated, everything else is the sender's own word.
struct Order {
    tenant: &'static str,
    source: &'static str,
    id: &'static str,
    account: i64,
}

impl Message for Order {
    fn message_id(&self) -> Result<MessageId, InvalidMessageId> {
        MessageId::from_parts(self.tenant, &[self.source, self.id])
    }
}

#[idempotent(consumer = "credit")]
async fn credit(db: &DatabaseConnection, order: &Order) -> Result<Outcome<()>, DbErr> {
    ledger::credit(db, order.account, 100).await?;
    Ok(Outcome::Processed(()))
}

backends! {
    /// The attacker is first, and knows the victim's source and id.
    async fn a_tenant_cannot_suppress_anothers_message(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        ledger.open(2, 0).await;
        let pool = db.pool(2).await;
        let victim = Order { tenant: "victim", source: "/shop", id: "order-17", account: 1 };
        let attacks = [
            ("attacker", "/shop", "order-17"),
            ("Victim", "/shop", "order-17"),
            ("victim ", "/shop", "order-17"),
            ("attacker", "victim/shop", "order-17"),
            // The parts of the victim's identity, cut elsewhere.
            ("vic", "tim/shop", "order-17"),
            ("victim/", "shop", "order-17"),
            ("victim/shop", "order-", "17"),
        ];
        for (tenant, source, id) in attacks {
            let attack = Order { tenant, source, id, account: 2 };
            assert_eq!(credit(&pool, &attack).await.unwrap(), Outcome::Processed(()));
        }
        assert_eq!(credit(&pool, &victim).await.unwrap(), Outcome::Processed(()), "the victim's message was suppressed");
        assert_eq!(credit(&pool, &victim).await.unwrap(), Outcome::Duplicate);
        assert_eq!((ledger.balance(1).await, ledger.balance(2).await), (100, 700));
    }

    /// What happens without: the id alone decides, and the first sender wins. This is the limit that the documents state.
    async fn without_the_tenant_the_first_sender_wins(db: TestDb) {
        let ledger = Ledger::new(&db).await;
        let pool = db.pool(2).await;
        #[idempotent(consumer = "credit", key = MessageId::cloud_event(order.source, order.id))]
        async fn trusting(db: &DatabaseConnection, order: &Order) -> Result<Outcome<()>, DbErr> {
            ledger::credit(db, order.account, 100).await?;
            Ok(Outcome::Processed(()))
        }
        ledger.open(2, 0).await;
        let order = |tenant, account| Order { tenant, source: "/shop", id: "order-17", account };
        assert_eq!(trusting(&pool, &order("attacker", 2)).await.unwrap(), Outcome::Processed(()));
        assert_eq!(trusting(&pool, &order("victim", 1)).await.unwrap(), Outcome::Duplicate);
        assert_eq!((ledger.balance(1).await, ledger.balance(2).await), (0, 100));
    }
}
