use inbox_core::Message;

const ORDERS: &str = "orders";

#[derive(Message)]
struct Event {
    #[message(id, domain = ORDERS)]
    id: String,
}

fn main() {}
