use inbox_core::{Message, MessageId};

#[derive(Message)]
#[message(domain = "orders")]
#[message(consumer = "credit")]
struct Event {
    #[message(id)]
    id: MessageId,
}

fn main() {}
