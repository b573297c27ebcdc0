use inbox_core::{Message, MessageId};

#[derive(Message)]
struct Event {
    #[message(id, domain = "orders")]
    id: MessageId,
}

fn main() {}
