//! Replicas that start together, each in a process of its own.

use inbox_tests::{Backend, TestDb, backends};
use sea_orm::ConnectionTrait as _;

use super::process::Inbox;

backends! {
    /// Five at once on an empty database, five rounds: one does it, all succeed. The history table is raced for too.
    async fn five_processes(db: TestDb) {
        for round in 0..5 {
            let runs: Vec<_> = (0..5).map(|_| tokio::spawn(Inbox::on(&db, &["up"]).ends(0))).collect();
            let mut applied = 0;
            for run in runs {
                applied += usize::from(run.await.unwrap().out.starts_with("applied"));
            }
            assert_eq!(applied, 1, "round {round}");
            assert_eq!(db.count("inbox_migrations").await, 1);
            Inbox::on(&db, &["verify"]).ends(0).await;
            for table in ["inbox_message", "inbox_migrations"] {
                db.exec(&format!("DROP TABLE {table}")).await;
            }
        }
    }

    /// Up and down at once: whatever the order, each ends well, and what remains is whole.
    async fn up_and_down_at_once(db: TestDb) {
        for _ in 0..5 {
            let runs: Vec<_> = ["up", "down", "up", "down"].map(|command| tokio::spawn(Inbox::on(&db, &[command]).ends(0))).into();
            for run in runs {
                run.await.unwrap();
            }
            let status = Inbox::on(&db, &["status"]).ends(0).await.out;
            assert!(status.contains("applied") || status.contains("pending"), "{status}");
        }
    }

    /// Who waits too long says so, with a code of its own.
    async fn another_one_does_not_end(db: TestDb) {
        let holder = db.pool(1).await;
        holder.execute_unprepared(db.backend().pick(
            "SELECT pg_advisory_lock(7597117852321017193)",
            "SELECT GET_LOCK(CONCAT('inbox_migrations:', LEFT(SHA2(LOWER(DATABASE()), 256), 40)), 0)",
            "BEGIN IMMEDIATE",
        )).await.unwrap();
        for command in [["up", "--wait", "1"], ["down", "--wait", "1"]] {
            let locked = Inbox::on(&db, &command).ends(10).await;
            assert!(locked.err.contains("another process holds"), "{}", locked.err);
        }
        // Looking needs no lock.
        Inbox::on(&db, &["status"]).ends(0).await;
        if db.backend() != Backend::Sqlite {
            // The holder dies, and with it its lock.
            let waiting = tokio::spawn(Inbox::on(&db, &["up"]).ends(0));
            holder.close().await.unwrap();
            assert!(waiting.await.unwrap().out.starts_with("applied"));
        }
    }
}
