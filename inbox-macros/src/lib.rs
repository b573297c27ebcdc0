//! The macros of `inbox-core`, which re-exports them; this crate is not meant to be named by anyone else.

use proc_macro::TokenStream;

mod args;
mod errors;
mod expand;
mod handler;
mod message;
#[cfg(test)]
mod tests;

/// TODO
#[proc_macro_attribute]
pub fn idempotent(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::idempotent(args.into(), &item.into()).into()
}

/// TODO
#[proc_macro_derive(Message, attributes(message))]
pub fn message(input: TokenStream) -> TokenStream {
    message::derive(input.into()).into()
}
