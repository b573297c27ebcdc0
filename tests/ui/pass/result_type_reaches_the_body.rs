//! The compiler infers what an async closure returns from its body alone, so without the written type in it `Box::new(Refused)`
//! would not become a `Box<dyn Error>`, and the closure's argument would have no type.

use std::error::Error;
use std::fmt;

use inbox_core::{MessageId, Outcome, idempotent};
use sea_orm::DatabaseConnection;

#[derive(Debug)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused")
    }
}

impl Error for Refused {}

type Callback = Box<dyn Fn(u8) -> u8 + Send>;

#[idempotent(consumer = "first", key = *id)]
async fn first(_db: &DatabaseConnection, id: &MessageId) -> Result<Outcome<Callback>, Box<dyn Error + Send + Sync>> {
    if id.to_string().is_empty() {
        return Err(Box::new(Refused));
    }
    Ok(Outcome::Processed(Box::new(|n| n.wrapping_add(1))))
}

#[idempotent(consumer = "replayed", key = *id, retries = 1)]
async fn replayed(_db: &DatabaseConnection, id: &MessageId) -> Result<Outcome<Callback>, Box<dyn Error + Send + Sync>> {
    Ok(Outcome::Processed(Box::new(|n| n.wrapping_add(1))))
}

fn main() {}
