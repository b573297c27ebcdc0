use inbox_core::Message;

#[derive(Message)]
#[message(crate = "inbox_core", rename = "x")]
struct Event {
    #[message(id, id, domain = "")]
    a: String,
    #[message(id)]
    b: String,
    #[message(domain = "orders", key)]
    c: String,
}

fn main() {}
