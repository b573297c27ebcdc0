use super::*;

#[test]
fn free_function() {
    insta::assert_snapshot!(idempotent(
        quote!(consumer = "credit"),
        quote! {
            /// Credits an account once per message.
            #[tracing::instrument(skip_all)]
            pub async fn credit(db: &DatabaseConnection, msg: &CreditRequested) -> Result<(), CreditError> {
                pay(db, msg.amount).await?;
                Ok(())
            }
        }
    ));
}

#[test]
fn method_with_key_and_options() {
    insta::assert_snapshot!(idempotent(
        quote!(consumer = "credit", key = MessageId::from_text("orders", &msg.id), fast_path, isolation = "serializable"),
        quote! {
            async fn credit<'a, T: Clone>(&mut self, db: &impl Database, (msg, mut n): (&'a T, u8)) -> io::Result<Outcome<&'a T>> where T: Send {
                #![allow(unused)]
                loop { break; }
            }
        }
    ));
}

#[test]
fn retries_clone_what_is_taken_by_value() {
    insta::assert_snapshot!(idempotent(
        quote!(consumer = "credit", retries = 3, crate = crate::inbox),
        quote! {
            async fn credit(&self, db: Arc<Pool>, mut msg: Message, #[cfg(unix)] n: u8, by_ref: &str, mut moving: &str, _: u8) -> Result<()> { todo!() }
        }
    ));
}

#[test]
fn options_without_retries_and_retries_with_options() {
    insta::assert_snapshot!(idempotent(
        quote!(consumer = "credit", fast_path),
        quote!(
            async fn f(db: &D, msg: &M) -> R {
                body
            }
        )
    ));
    insta::assert_snapshot!(idempotent(
        quote!(consumer = "credit", retries = 1, isolation = "repeatable_read"),
        quote!(
            async fn f(db: &D, msg: &M) -> R {
                body
            }
        )
    ));
}

#[test]
fn names_that_say_unused() {
    insta::assert_snapshot!(idempotent(
        quote!(consumer = "credit"),
        quote!(
            async fn f(_db: &D, _msg: &M) -> R {
                body
            }
        )
    ));
}

#[test]
fn every_isolation_level() {
    for (level, variant) in [("read_committed", "ReadCommitted"), ("repeatable_read", "RepeatableRead"), ("serializable", "Serializable")] {
        let expansion = idempotent(
            quote!(consumer = "credit", isolation = #level),
            quote!(
                async fn f(db: &D, msg: &M) -> R {
                    body
                }
            ),
        );
        assert!(expansion.contains(&format!("::IsolationLevel::{variant})")), "{expansion}");
    }
}

/// An editor completes in it.
#[test]
fn body_that_does_not_parse_yet() {
    let expansion = expand::idempotent(quote!(consumer = "credit"), &quote!(async fn f(db: &D, msg: &M) -> R { db. }));
    assert!(expansion.to_string().contains("{ db . }"), "{expansion}");
    assert!(!expansion.to_string().contains("compile_error"), "{expansion}");
}

#[test]
fn mistakes_leave_the_signature() {
    insta::assert_snapshot!(idempotent(
        quote!(consumer = "", retries = 0),
        quote!(
            /** Docs. */
            pub const async fn f<T>(mut db: &D, msg: &mut T) -> bool
            where
                T: Send,
            {
                body
            }
        ),
    ));
}

/// The caller sees the type that the body has.
#[test]
fn mistakes_leave_the_body_of_an_opaque_type() {
    insta::assert_snapshot!(idempotent(
        quote!(consumer = "x"),
        quote!(
            async fn f(db: &D, msg: &M) -> Result<impl Sized, E> {
                Ok(7)
            }
        )
    ));
}

#[test]
fn what_is_no_function_stays() {
    let expansion = idempotent(quote!(consumer = "x"), quote!(impl S { fn f() {} }));
    assert!(expansion.contains("impl S {\n    fn f() {}\n}"), "{expansion}");
}

#[test]
fn derived_id() {
    insta::assert_snapshot!(derive(quote! {
        struct Event<'a, T: Clone> where T: Send { payload: &'a T, #[message(id)] r#type: MessageId }
    }));
}

#[test]
fn derived_text_id() {
    insta::assert_snapshot!(derive(quote! {
        #[message(crate = crate::inbox)]
        struct Event(u8, #[message(id, domain = "orders")] String);
    }));
}

#[test]
fn derived_from_an_enum() {
    insta::assert_snapshot!(derive(quote!(
        enum Event<T> {
            A(#[message(id)] T),
        }
    )));
}
