use inbox_core::{Message, MessageId};

#[derive(Message)]
union Event {
    #[message(id)]
    id: MessageId,
}

fn main() {}
