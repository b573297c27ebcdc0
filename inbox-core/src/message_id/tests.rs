//! Ids are made of the whole of what they are made of, and stay what they are.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;
use uuid::{Uuid, Variant, Version};

use super::{InvalidMessageId, MessageId};

type Made = Result<MessageId, InvalidMessageId>;

/// What markers of earlier versions are stored under: a changed line is a second effect of every message that is redelivered
/// over the upgrade. The values are not this code's own:
///
/// ```python
/// import hashlib, uuid
/// def message_id(kind, domain, *parts):
///     p = lambda s: len(s.encode()).to_bytes(8, "big") + s.encode()
///     head = p("inbox-core/message-id/1") + p(kind) + p(domain) + len(parts).to_bytes(8, "big")
///     d = bytearray(hashlib.sha256(head + b"".join(map(p, parts))).digest()[:16])
///     d[6] = d[6] & 0x0f | 0x80      # version 8
///     d[8] = d[8] & 0x3f | 0x80      # variant
///     return uuid.UUID(bytes=bytes(d))
/// ```
#[test]
fn frozen() {
    let text = MessageId::from_text;
    let parts = MessageId::from_parts;
    let event = MessageId::cloud_event;
    for (made, frozen) in [
        (text("orders", "order-17"), "a48a1f7f-affe-83f8-b3c0-e1540304c527"),
        (text("orders", "Order-17"), "a1bdaf7e-06d7-83ae-9aa8-c04ccef2b5ff"),
        (text("invoices", "order-17"), "3d733e0b-8409-8720-b5aa-eaef6c200db5"),
        (text("d", "1e5"), "a80f2505-d094-83fb-a286-575917eecaf1"),
        (text("d", "100000"), "92487474-a8c2-87a7-979f-92560c3be5dd"),
        (text("d", "\0a"), "863b46bc-d135-81f5-b8eb-e79cd500b4bd"),
        (text("d", "ü😀"), "a074ae8f-2867-8830-853e-98bf59652670"),
        (text("d", "u\u{308}"), "fc161ed6-ce20-86df-9dba-2ef32cc53613"),
        (text("d", &"x".repeat(1 << 20)), "157a26d4-9d0b-8153-a2e8-611411ea6786"),
        (parts("kafka", &["credits", "3", "4711"]), "6f19f48b-d15a-81bc-b529-186b0f11f3cc"),
        (parts("kafka", &["credits", "34", "711"]), "1b34d349-6c5d-84ca-ab92-70b199aa0153"),
        (parts("d", &["a|b", "c"]), "2e9151b3-98c2-870d-962b-342a6c2543f7"),
        (parts("d", &["a", "b|c"]), "a98b5e32-6080-8557-a118-e7c817f989d4"),
        // A text id is an identity of one part.
        (parts("orders", &["order-17"]), "a48a1f7f-affe-83f8-b3c0-e1540304c527"),
        (event("/shop", "1"), "a1e718ff-4de5-8c38-80d2-ced9ed4e3770"),
        (event("https://shop.example/orders", "A234-1234-1234"), "c6a55207-6c4f-8757-8900-38db2dd0277b"),
        // Not even by its own domain's name does a text become an event.
        (parts("cloudevents.io", &["/shop", "1"]), "872149f9-86f7-8397-a667-9d2164abfd8d"),
    ] {
        assert_eq!(made.unwrap().to_string(), frozen);
    }
}

/// What one database or another would take for one key.
#[test]
fn nothing_is_folded() {
    let ids = [
        "a",
        "A",
        "á",
        "a\u{301}",
        "ａ",
        "a ",
        " a",
        "a\t",
        "a\n",
        "a\0",
        "\0a",
        "a\u{200b}",
        "\u{feff}a",
        "1",
        "01",
        "1.0",
        "+1",
        "1e5",
        "100000",
        "0x1",
        "null",
        "NULL",
        "true",
        "ß",
        "ss",
        "SS",
        "ı",
        "i",
        "I",
        "İ",
        "a'b",
        "a\"b",
        "a\\b",
        "a%b",
        "😀",
    ];
    let made: HashSet<_> = ids.iter().map(|id| MessageId::from_text("d", id).unwrap()).collect();
    assert_eq!(made.len(), ids.len());
}

#[test]
fn made_ids_are_uuids_of_version_8() {
    for made in [MessageId::from_text("d", "a"), MessageId::from_parts("d", &["a", "b"]), MessageId::cloud_event("/s", "1")] {
        let uuid = *made.unwrap().as_uuid();
        assert_eq!((uuid.get_version(), uuid.get_variant()), (Some(Version::Custom), Variant::RFC4122));
    }
}

/// Empty, blank, missing: an error that says which part it is, never an id.
#[test]
fn nothing_is_no_id() {
    use InvalidMessageId::{Blank, Missing, Nil};
    for blank in ["", " ", "   \t\r\n", "\u{a0}", "\u{3000}", "\0", "\0\0", "\u{feff}", "\u{200b}", "\u{1b}"] {
        assert_eq!(MessageId::from_text("d", blank), Err(Blank("id")), "{blank:?}");
        assert_eq!(MessageId::from_text(blank, "a"), Err(Blank("domain")), "{blank:?}");
        assert_eq!(MessageId::from_parts("d", &["a", blank]), Err(Blank("part")), "{blank:?}");
        assert_eq!(MessageId::from_parts(blank, &["a"]), Err(Blank("domain")), "{blank:?}");
        assert_eq!(MessageId::cloud_event(blank, "1"), Err(Blank("source")), "{blank:?}");
        assert_eq!(MessageId::cloud_event("/s", blank), Err(Blank("id")), "{blank:?}");
        assert_eq!(blank.parse::<MessageId>(), Err(Blank("id")), "{blank:?}");
    }
    assert_eq!(MessageId::from_parts("d", &[]), Err(Missing));
    assert_eq!(Uuid::nil().to_string().parse::<MessageId>(), Err(Nil));
    assert_eq!(MessageId::from(Uuid::nil()).checked(), Err(Nil));
}

#[test]
fn what_an_error_says() {
    let text = |made: Made| made.unwrap_err().to_string();
    assert_eq!(text(MessageId::from_parts("d", &[])), "the id is missing");
    assert_eq!(text(MessageId::from_text("d", " ")), "the id is empty or blank");
    assert_eq!(text(MessageId::cloud_event("", "1")), "the source is empty or blank");
    assert_eq!(
        text(Uuid::nil().simple().to_string().parse()),
        "the id is the nil UUID (all zero), which is what a forgotten field looks like"
    );
    assert_eq!(
        text("order-17".parse()),
        "\"order-17\" is not a UUID; give other text ids a domain (`MessageId::from_text`, `#[message(id, domain = \"…\")]`)"
    );
    // What a sender chose does not fill a log, nor break its lines.
    let long = text(format!("a\nb{}", "😀".repeat(10_000)).parse());
    assert!(long.len() < 600 && !long.contains('\n'), "{long}");
}

/// The text forms of a UUID are one id, whoever wrote them.
#[test]
fn one_uuid_is_one_id() {
    let uuid = Uuid::from_u128(0xa0ee_bc99_9c0b_4ef8_bb6d_6bb9_bd38_0a11);
    let id = MessageId::from(uuid);
    assert_eq!(id.to_string(), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
    for text in [
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        "a0eebc999c0b4ef8bb6d6bb9bd380a11",
        "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
        "urn:uuid:A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
    ] {
        assert_eq!(text.parse(), Ok(id), "{text}");
        assert_eq!(serde_json::from_str::<MessageId>(&format!("{text:?}")).unwrap(), id, "{text}");
    }
    assert_eq!(serde_json::to_string(&id).unwrap(), "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"");
    assert_eq!((Uuid::from(id), id.as_uuid()), (uuid, &uuid));
    for text in ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 ", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "order-17"] {
        assert!(matches!(text.parse::<MessageId>(), Err(InvalidMessageId::NotAUuid(_))), "{text}");
    }
    for json in ["\"\"", "\"order-17\"", "17", "null"] {
        assert!(serde_json::from_str::<MessageId>(json).is_err(), "{json}");
    }
}

/// Characters that joining code separates by, and some that are more than one byte.
fn part() -> impl Strategy<Value = String> {
    "[ab|/:.,\\-\\\\\0 1ü😀]{0,4}[ab|/:1ü]"
}

proptest! {
    /// Injective: two lists of parts make one id if and only if they are the same list in the same domain.
    #[test]
    fn injective(one in vec(part(), 1..4), two in vec(part(), 1..4), domains in (part(), part())) {
        let make = |domain: &str, parts: &[String]| {
            MessageId::from_parts(domain, &parts.iter().map(String::as_str).collect::<Vec<_>>())
        };
        prop_assume!(make(&domains.0, &one).is_ok() && make(&domains.1, &two).is_ok());
        prop_assert_eq!(make(&domains.0, &one) == make(&domains.1, &two), domains.0 == domains.1 && one == two);
    }

    /// The same parts of two senders are two messages.
    #[test]
    fn domains_count(parts in vec(part(), 1..4), domains in (part(), part())) {
        let parts: Vec<_> = parts.iter().map(String::as_str).collect();
        let (one, two) = (MessageId::from_parts(&domains.0, &parts), MessageId::from_parts(&domains.1, &parts));
        prop_assume!(one.is_ok() && two.is_ok());
        prop_assert_eq!(one == two, domains.0 == domains.1);
    }

    /// The borders count: the same text cut elsewhere is another identity.
    #[test]
    fn borders_count(text in vec(part(), 2..5), one in any::<prop::sample::Index>(), two in any::<prop::sample::Index>()) {
        let text = text.concat();
        let borders: Vec<_> = text.char_indices().map(|(at, _)| at).skip(1).collect();
        prop_assume!(!borders.is_empty());
        let cut = |at: usize| {
            let (left, right) = text.split_at(at);
            (MessageId::from_parts("d", &[left, right]), MessageId::from_parts(left, &[right]), MessageId::cloud_event(left, right))
        };
        let (one, two) = (borders[one.index(borders.len())], borders[two.index(borders.len())]);
        let (first, second) = (cut(one), cut(two));
        if let ((Ok(a), Ok(b), Ok(c)), (Ok(d), Ok(e), Ok(f))) = (&first, &second) {
            prop_assert_eq!(a == d, one == two);
            prop_assert_eq!(b == e, one == two);
            prop_assert_eq!(c == f, one == two);
            let whole = MessageId::from_text("d", &text).unwrap();
            prop_assert!([a, b, c, d, e, f].iter().all(|id| **id != whole));
            prop_assert!(a != b && b != c && a != c);
        }
    }

    /// Written and read again it is the same id.
    #[test]
    fn round_trips(id in any::<u128>(), text in "\\PC{1,20}") {
        for id in [Ok(MessageId::from(Uuid::from_u128(id | 1))), MessageId::from_text("d", &text)].into_iter().flatten() {
            prop_assert_eq!(id.to_string().parse::<MessageId>().unwrap(), id);
            prop_assert_eq!(serde_json::from_str::<MessageId>(&serde_json::to_string(&id).unwrap()).unwrap(), id);
        }
    }

    /// No text panics, and no text is an id by accident.
    #[test]
    fn any_text(domain in any::<String>(), id in any::<String>()) {
        let made = MessageId::from_text(&domain, &id);
        prop_assert_eq!(made.clone(), MessageId::from_parts(&domain, &[&id]).map_err(|error| match error {
            InvalidMessageId::Blank("part") => InvalidMessageId::Blank("id"),
            other => other,
        }));
        if let Ok(made) = made {
            prop_assert_ne!(Ok(made), MessageId::cloud_event(&domain, &id));
        }
    }
}
