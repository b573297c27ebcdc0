use inbox_core::{Message, MessageId};

#[derive(Message)]
enum Event {
    Credit(#[message(id)] MessageId),
}

fn main() {}
