use inbox_core::{Message, MessageId};

#[derive(Message)]
struct Event {
    #[message]
    id: MessageId,
}

fn main() {}
