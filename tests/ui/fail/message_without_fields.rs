use inbox_core::Message;

#[derive(Message)]
struct Event;

fn main() {}
