use inbox_core::{Message, MessageId};

#[derive(Message)]
struct Event {
    id: MessageId,
}

fn main() {}
