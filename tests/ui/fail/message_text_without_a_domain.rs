use inbox_core::Message;

#[derive(Message)]
struct Event {
    #[message(id)]
    id: String,
}

fn main() {}
