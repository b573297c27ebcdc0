use inbox_core::{Message, MessageId};

#[derive(Message)]
struct Event {
    #[message(id)]
    id: MessageId,
    #[message(id)]
    cause: MessageId,
}

fn main() {}
