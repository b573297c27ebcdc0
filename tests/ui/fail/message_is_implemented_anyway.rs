use inbox_core::Message;

#[derive(Message)]
struct Event {
    #[message(id)]
    a: u8,
    #[message(id)]
    b: u8,
}

fn id(event: &Event) -> bool {
    event.message_id().is_ok()
}

fn main() {}
