use inbox_core::{Message, MessageId};

#[derive(Message)]
struct Event {
    #[message(key)]
    id: MessageId,
}

fn main() {}
