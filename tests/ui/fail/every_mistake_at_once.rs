use inbox_core::idempotent;
use sea_orm::DatabaseConnection;

#[idempotent(consumer = "two words", retries = 0, fast_path = true, isolation = serializable, claim(lease = "60s"))]
async unsafe fn credit(mut db: &DatabaseConnection, (id, amount): (u64, i64)) -> bool {
    true
}

fn main() {}
