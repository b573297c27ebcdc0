//! The macros of `inbox-core`, which re-exports them: name that crate, not this one.
//!
//! ```text
//! args       what #[idempotent(...)] is given, and how such lists are read
//! handler    what a handler is, and every rule that it can break
//! expand     the one call that it becomes
//! message    #[derive(Message)]
//! errors     all mistakes of one use, reported together
//! ```

use proc_macro::TokenStream;

mod args;
mod errors;
mod expand;
mod handler;
mod message;
#[cfg(test)]
mod tests;

// The examples run as doctests of inbox-core: a dependency on it would be a circle.
#[doc = include_str!("docs/idempotent.md")]
#[proc_macro_attribute]
pub fn idempotent(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::idempotent(args.into(), &item.into()).into()
}

#[doc = include_str!("docs/message.md")]
#[proc_macro_derive(Message, attributes(message))]
pub fn message(input: TokenStream) -> TokenStream {
    message::derive(input.into()).into()
}
