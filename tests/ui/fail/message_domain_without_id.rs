use inbox_core::Message;

#[derive(Message)]
struct Event {
    #[message(domain = "orders")]
    id: String,
}

fn main() {}
