//! What the macros write, as reviewable snapshots, and what they say, as lists. Where an error is shown is `tests/ui`'s matter.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{expand, message};

mod errors;
mod expansions;

#[allow(clippy::needless_pass_by_value, reason = "written with `quote!` in place")]
fn idempotent(args: TokenStream, item: TokenStream) -> String {
    pretty(expand::idempotent(args, &item))
}

fn derive(input: TokenStream) -> String {
    pretty(message::derive(input))
}

fn pretty(tokens: TokenStream) -> String {
    let text = tokens.to_string();
    prettyplease::unparse(&syn::parse2(tokens).unwrap_or_else(|error| panic!("{error}: {text}")))
}
