//! The arguments of `#[idempotent(...)]`, and the reading of such lists in general.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::discouraged::Speculative;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Expr, Ident, LitInt, LitStr, Path, Token};

use crate::errors::Errors;

const ARGUMENTS: &str = "`consumer = \"...\"`, `key = ...`, `fast_path`, `retries = ...`, `isolation = \"...\"` and `crate = ...`";
/// The length of the column, and the same limit as `Consumer`'s.
const LONGEST_CONSUMER: usize = 200;
/// More is a mistake: the whole transaction runs again each time, and the pump redelivers anyway.
const MOST_RETRIES: u32 = 100;

#[derive(Default)]
pub(crate) struct Args {
    pub(crate) consumer: Option<LitStr>,
    pub(crate) key: Option<Expr>,
    pub(crate) fast_path: bool,
    pub(crate) retries: Option<u32>,
    /// The variant of `IsolationLevel`.
    pub(crate) isolation: Option<Ident>,
    pub(crate) krate: Option<Path>,
}

impl Args {
    /// Reads what it can and reports the rest, so that a wrong argument hides neither its neighbours nor the handler.
    pub(crate) fn read(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        let mut given = Vec::new();
        read_list(tokens, errors, |input| args.argument(&mut given, input));
        if !given.iter().any(|name| name == "consumer") {
            errors.at(
                Span::call_site(),
                "`#[idempotent]` needs `consumer = \"...\"`, a name that stays the same when the code is renamed: \
                 under another name every message is processed again",
            );
        }
        args
    }

    fn argument(&mut self, given: &mut Vec<Ident>, input: ParseStream<'_>) -> syn::Result<()> {
        if input.peek(LitStr) {
            let name: LitStr = input.parse()?;
            given.push(Ident::new("consumer", name.span()));
            return Err(syn::Error::new(name.span(), format!("write `consumer = {:?}`", name.value())));
        }
        let name = new_name(given, input, ARGUMENTS)?;
        match name.to_string().as_str() {
            "consumer" => {
                let literal = value(&name, input, "write the name itself, as in `consumer = \"credit\"`")?;
                check_consumer(&literal)?;
                self.consumer = Some(literal);
            }
            "key" => self.key = Some(value(&name, input, "write an expression, as in `key = msg.id`")?),
            "fast_path" => {
                if !ends(input) {
                    return Err(syn::Error::new_spanned(until_comma(input), "`fast_path` takes no value: write it alone"));
                }
                self.fast_path = true;
            }
            "retries" => {
                let literal = value(&name, input, "write how often to try again, as in `retries = 3`")?;
                self.retries = Some(retries(&literal)?);
            }
            "isolation" => self.isolation = Some(isolation(&name, input)?),
            "crate" => self.krate = Some(crate_path(&name, input)?),
            _ => {
                return Err(syn::Error::new(name.span(), format!("unknown argument `{name}`: `#[idempotent]` takes {ARGUMENTS}")));
            }
        }
        Ok(())
    }
}

/// `crate = path`, for a dependency under another name or behind a facade.
pub(crate) fn crate_path(name: &Ident, input: ParseStream<'_>) -> syn::Result<Path> {
    struct ModPath(Path);
    impl Parse for ModPath {
        fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
            input.call(Path::parse_mod_style).map(Self)
        }
    }
    value::<ModPath>(name, input, "write a path without quotes, as in `crate = inbox`").map(|path| path.0)
}

/// The path in front of `__private`.
pub(crate) fn krate(path: Option<&Path>) -> TokenStream {
    path.map_or_else(|| quote!(::inbox_core), |path| quote!(#path))
}

/// One call of `read` per element; what it could not read is skipped up to the next comma, so that the rest is still looked at.
pub(crate) fn read_list(tokens: TokenStream, errors: &mut Errors, mut read: impl FnMut(ParseStream<'_>) -> syn::Result<()>) {
    let list = |input: ParseStream<'_>| {
        while !input.is_empty() {
            if let Err(error) = read(input) {
                errors.push(error);
                until_comma(input);
            } else if !ends(input) {
                errors.on(until_comma(input), "expected `,`");
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    };
    if let Err(error) = list.parse2(tokens) {
        errors.push(error);
    }
}

/// The next name of a list, once.
pub(crate) fn new_name(given: &mut Vec<Ident>, input: ParseStream<'_>, known: &str) -> syn::Result<Ident> {
    let start = input.cursor().span();
    let name = input.call(Ident::parse_any).map_err(|_| syn::Error::new(start, format!("expected {known}")))?;
    if given.contains(&name) {
        return Err(syn::Error::new(name.span(), format!("`{name}` is given twice: remove one")));
    }
    given.push(name.clone());
    Ok(name)
}

/// `= value` behind a name; `advice` says what to write where it is missing or of another kind.
pub(crate) fn value<T: Parse>(name: &Ident, input: ParseStream<'_>, advice: &str) -> syn::Result<T> {
    if input.parse::<Option<Token![=]>>()?.is_none() || ends(input) {
        return Err(syn::Error::new(name.span(), advice));
    }
    let ahead = input.fork();
    let Ok(value) = ahead.parse() else {
        return Err(syn::Error::new_spanned(until_comma(input), advice));
    };
    input.advance_to(&ahead);
    Ok(value)
}

fn ends(input: ParseStream<'_>) -> bool {
    input.is_empty() || input.peek(Token![,])
}

pub(crate) fn until_comma(input: ParseStream<'_>) -> TokenStream {
    let mut skipped = TokenStream::new();
    while !ends(input) {
        skipped.extend(input.parse::<TokenTree>());
    }
    skipped
}

/// `Consumer`'s own rule, told at compile time and at the literal.
fn check_consumer(literal: &LitStr) -> syn::Result<()> {
    let name = literal.value();
    let problem = if name.is_empty() {
        "a consumer's name cannot be empty".to_owned()
    } else if let Some(bad) = name.chars().find(|c| !c.is_ascii_graphic()) {
        format!("{bad:?} cannot stand in a consumer's name: use visible ASCII characters without blanks, as in `billing.credit`")
    } else if name.len() > LONGEST_CONSUMER {
        format!("a consumer's name has at most {LONGEST_CONSUMER} characters, this one has {}", name.len())
    } else {
        return Ok(());
    };
    Err(syn::Error::new(literal.span(), problem))
}

fn retries(literal: &LitInt) -> syn::Result<u32> {
    let problem = match literal.base10_parse::<u32>() {
        Ok(number @ 1..=MOST_RETRIES) => return Ok(number),
        Ok(0) => "`retries = 0` never tries again: leave it out".to_owned(),
        _ => format!("write a number from 1 to {MOST_RETRIES}: what still fails then is for the broker to deliver again"),
    };
    Err(syn::Error::new(literal.span(), problem))
}

fn isolation(name: &Ident, input: ParseStream<'_>) -> syn::Result<Ident> {
    const LEVELS: &str = "write `isolation = \"read_committed\"`, `\"repeatable_read\"` or `\"serializable\"`";
    let level: LitStr = value(name, input, LEVELS)?;
    let variant = match level.value().as_str() {
        "read_committed" => "ReadCommitted",
        "repeatable_read" => "RepeatableRead",
        "serializable" => "Serializable",
        _ => return Err(syn::Error::new(level.span(), LEVELS)),
    };
    Ok(format_ident!("{variant}"))
}
