use inbox_core::idempotent;

struct Service;

#[idempotent(consumer = "credit")]
impl Service {}

fn main() {}
