//! `#[derive(Message)]`.

use std::borrow::Cow;

use inbox_core::{InvalidMessageId, Message, MessageId};
use uuid::Uuid;

#[derive(Message)]
struct Generic<'a, T: ?Sized, const N: usize>
where
    T: Sync,
{
    #[allow(dead_code)]
    payload: &'a T,
    #[message(id)]
    r#type: MessageId,
    #[allow(dead_code)]
    bytes: [u8; N],
}

#[derive(Message)]
struct ById(#[message(id)] Uuid);

#[derive(Message)]
struct MaybeById(#[allow(dead_code)] u8, #[message(id)] Option<Uuid>);

#[derive(Message)]
struct ByText<'a> {
    #[message(id, domain = "orders")]
    id: Cow<'a, str>,
}

#[derive(Message)]
struct MaybeByText {
    #[message(domain = "orders", id)]
    id: Option<String>,
}

#[test]
fn the_marked_field_is_the_id() {
    let id = MessageId::from_text("d", "i").unwrap();
    let uuid = Uuid::from_u128(7);
    assert_eq!(Generic { payload: "", r#type: id, bytes: [0] }.message_id(), Ok(id));
    assert_eq!(ById(uuid).message_id(), Ok(uuid.into()));
    assert_eq!(MaybeById(1, Some(uuid)).message_id(), Ok(uuid.into()));
    assert_eq!(MaybeById(1, None).message_id(), Err(InvalidMessageId::Missing));
}

#[test]
fn a_text_is_an_id_within_its_domain() {
    let order = MessageId::from_text("orders", "17");
    assert_eq!(ByText { id: "17".into() }.message_id(), order);
    assert_eq!(MaybeByText { id: Some("17".into()) }.message_id(), order);
    assert_eq!(MaybeByText { id: None }.message_id(), Err(InvalidMessageId::Missing));
    assert!(ByText { id: " ".into() }.message_id().is_err());
}
