//! Statements and bytes: the network does not see which of the two it was.

use inbox_tests::{Backend, Ledger, TestDb, backends};

use crate::{BOTH, deliver, warm, wire::Wire};

backends! {
    async fn the_same_statements_as_by_hand(db: TestDb) {
        let _ledger = Ledger::new(&db).await;
        let (wire, pool) = Wire::new(&db).await;
        warm(&pool).await;
        wire.took();
        let mut taken = Vec::new();
        for way in BOTH {
            deliver(way, &pool).await;
            taken.push(wire.took());
        }
        assert_eq!(taken[0], taken[1]);
        assert_eq!(taken[0].len(), if db.backend() == Backend::Sqlite { 3 } else { 4 }, "{taken:?}");
    }

    /// SQLite has no wire.
    [postgres, mysql]
    async fn the_same_bytes_as_by_hand(db: TestDb) {
        const ROUNDS: u64 = 10;
        let _ledger = Ledger::new(&db).await;
        let (wire, pool) = Wire::new(&db).await;
        warm(&pool).await;
        let Wire::Network(proxy) = &wire else { unreachable!("both have a network") };
        let mut bytes = Vec::new();
        for way in BOTH {
            proxy.take_bytes();
            for _ in 0..ROUNDS {
                deliver(way, &pool).await;
            }
            bytes.push(proxy.take_bytes());
        }
        assert_eq!(bytes[0], bytes[1], "{bytes:?}");
        // BEGIN, the marker's INSERT, the UPDATE, COMMIT, and their answers: it counts something.
        assert!(bytes[0] > ROUNDS * 100, "{bytes:?}");
    }
}
