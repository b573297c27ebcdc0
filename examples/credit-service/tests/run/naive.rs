//! Check, then insert: the total is wrong, and it is said why.

use inbox_tests::{TestDb, backends};

use crate::databases::balances;
use crate::program::run;
use crate::recount::{Recount, SAMPLE, assert_table, money};

backends! {
    async fn a_wrong_total_and_the_right_one(db: TestDb) {
        let file = Recount::of(SAMPLE);
        let wrong = run(Some(db.url()), &["--naive"]);
        wrong.assert_bad("the accounts are wrong");
        assert!(wrong.out.contains("check then insert"), "{wrong:?}");
        assert!(wrong.out.contains("two replicas had looked for the same event before either had written it"), "{wrong:?}");
        assert!(wrong.count("processed") > file.amounts.len(), "{wrong:?}");
        assert_eq!(wrong.row("expected total"), money(file.total()));
        // What the table says is what the database holds, and it is too much.
        let held: i64 = balances(&db).await.values().sum();
        assert_eq!(wrong.row("total"), money(held));
        assert!(held > file.total(), "{wrong:?}");
        // Its own table, and ours was not touched.
        assert_eq!(db.count("naive_inbox").await, i64::try_from(wrong.count("processed")).unwrap());
        assert!(db.try_exec("SELECT 1 FROM inbox_message").await.is_err());

        let other = TestDb::new(db.backend()).await;
        assert_table(&run(Some(other.url()), &[]), &file, file.amounts.len());
    }
}
