use inbox_core::Message;

#[derive(Message)]
struct Event {
    #[message(id, domain = " ")]
    id: String,
}

fn main() {}
