//! What a handler is: the function as written, and every rule that it can break.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::visit::Visit;
use syn::{
    Attribute, Expr, FnArg, Ident, Pat, PatIdent, PatType, Path, ReturnType, Signature, Token, Type, TypeImplTrait, Visibility, braced,
    token,
};

use crate::args::Args;
use crate::errors::Errors;

const RESULT: &str = "a handler returns `Result<(), E>` or `Result<Outcome<T>, E>`: `Ok` acknowledges the message, `Err` does not";

pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// Missing in a trait's declaration.
    pub(crate) body: Option<Body>,
}

/// The statements stay tokens: a body that does not parse yet still expands, so that editors keep completing in it.
pub(crate) struct Body {
    pub(crate) brace: token::Brace,
    pub(crate) inner_attrs: Vec<Attribute>,
    pub(crate) statements: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let start = input.cursor();
        if !starts_function(input) {
            return Err(syn::Error::new(start.span(), "`#[idempotent]` goes on an `async fn`: write it on each handler"));
        }
        let sig = input.parse()?;
        let body = if input.parse::<Option<Token![;]>>()?.is_some() { None } else { Some(input.parse()?) };
        Ok(Self { attrs, vis, sig, body })
    }
}

fn starts_function(input: ParseStream<'_>) -> bool {
    let constant = input.peek(Token![const]) && (input.peek2(Ident) || input.peek2(Token![_]));
    let keywords = [
        input.peek(Token![const]),
        input.peek(Token![async]),
        input.peek(Token![unsafe]),
        input.peek(Token![extern]),
        input.peek(Token![fn]),
    ];
    keywords.contains(&true) && !constant
}

impl Parse for Body {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let content;
        Ok(Self { brace: braced!(content in input), inner_attrs: content.call(Attribute::parse_inner)?, statements: content.parse()? })
    }
}

/// A function that keeps every rule, by the parts that the expansion needs.
pub(crate) struct Handler<'a> {
    pub(crate) connection: &'a Ident,
    pub(crate) id: Id<'a>,
    pub(crate) output: &'a Type,
    pub(crate) body: &'a Body,
}

pub(crate) enum Id<'a> {
    Message(&'a Ident),
    Key(&'a Expr),
}

impl<'a> Handler<'a> {
    /// `None` when a rule is broken; all of them are looked at.
    pub(crate) fn check(function: &'a Function, args: &'a Args, errors: &mut Errors) -> Option<Self> {
        check_attributes(&function.attrs, errors);
        check_qualifiers(function, errors);
        let output = check_output(&function.sig, errors);
        let connection = check_connection(&function.sig, errors);
        let id = match &args.key {
            Some(key) => Some(Id::Key(key)),
            None => check_message(&function.sig, errors).map(Id::Message),
        };
        if args.retries.is_some() {
            check_repeatable(&function.sig, errors);
        }
        Some(Self { connection: connection?, id: id?, output: output?, body: function.body.as_ref()? })
    }
}

fn check_attributes(attrs: &[Attribute], errors: &mut Errors) {
    for attr in attrs.iter().filter(|attr| is_named(attr.path(), "idempotent")) {
        errors.on(attr, "a handler has one consumer: write a second handler for the second one");
    }
}

fn check_qualifiers(function: &Function, errors: &mut Errors) {
    let Function { sig, body, .. } = function;
    if body.is_none() {
        errors.at(
            Span::call_site(),
            "a trait's declaration has no body to run: write `#[idempotent]` on the method in each `impl`, or on a default body",
        );
    } else if sig.asyncness.is_none() {
        errors.at(
            sig.fn_token.span,
            "`#[idempotent]` goes on an `async fn`. In an impl under `#[async_trait]`, which expands first, either make the trait's methods native \
             `async fn` and drop `#[async_trait]`, or leave `#[idempotent]` out and call `inbox_core::process` in the body",
        );
    }
    if let Some(token) = &sig.constness {
        errors.at(token.span, "a handler talks to a database: remove `const`");
    }
    if let Some(token) = &sig.unsafety {
        errors.at(token.span, "a handler is a safe function: write `unsafe { ... }` in its body");
    }
    if let Some(abi) = &sig.abi {
        errors.on(abi, "a handler is a Rust function: remove `extern`");
    }
    if let Some(variadic) = &sig.variadic {
        errors.on(variadic, "a handler takes a fixed number of arguments: remove `...`");
    }
}

fn check_output<'a>(sig: &'a Signature, errors: &mut Errors) -> Option<&'a Type> {
    match &sig.output {
        // Not ours to judge: the real return type is inside.
        _ if sig.asyncness.is_none() => None,
        ReturnType::Default => {
            errors.at(sig.paren_token.span.close(), format!("{RESULT}; write `-> Result<(), E>`"));
            None
        }
        ReturnType::Type(_, ty) if is_no_result(ty) => {
            errors.on(ty, RESULT);
            None
        }
        ReturnType::Type(_, ty) => match impl_trait(ty) {
            Some(opaque) => {
                errors.on(opaque, "the body's return type has to be named: write the type itself, or `Box<dyn ...>`");
                None
            }
            None => Some(ty),
        },
    }
}

/// Only what certainly is none: an alias such as `anyhow::Result<()>` cannot be seen through here.
fn is_no_result(ty: &Type) -> bool {
    const NAMES: [&str; 24] = [
        "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
        "String", "Option", "Vec", "Box", "Arc", "Pin", "Outcome",
    ];
    match ty {
        Type::Paren(inner) => is_no_result(&inner.elem),
        Type::Group(inner) => is_no_result(&inner.elem),
        Type::Array(_)
        | Type::BareFn(_)
        | Type::Never(_)
        | Type::Ptr(_)
        | Type::Reference(_)
        | Type::Slice(_)
        | Type::TraitObject(_)
        | Type::Tuple(_) => true,
        Type::Path(path) if path.qself.is_none() && path.path.segments.len() == 1 => NAMES.iter().any(|name| is_named(&path.path, name)),
        _ => false,
    }
}

pub(crate) fn is_opaque(output: &ReturnType) -> bool {
    matches!(output, ReturnType::Type(_, ty) if impl_trait(ty).is_some())
}

fn impl_trait(ty: &Type) -> Option<&TypeImplTrait> {
    struct Finder<'a>(Option<&'a TypeImplTrait>);
    impl<'a> Visit<'a> for Finder<'a> {
        fn visit_type_impl_trait(&mut self, found: &'a TypeImplTrait) {
            self.0.get_or_insert(found);
        }
    }
    let mut finder = Finder(None);
    finder.visit_type(ty);
    finder.0
}

fn check_connection<'a>(sig: &'a Signature, errors: &mut Errors) -> Option<&'a Ident> {
    let Some(argument) = typed(sig).next() else {
        errors.at(sig.paren_token.span.close(), "the first argument is the connection: write `db: &DatabaseConnection`");
        return None;
    };
    let Some(pat) = plain(argument) else {
        errors.on(
            &argument.pat,
            "the first argument is the connection, and in the body the transaction has its name: write `db: &DatabaseConnection`",
        );
        return None;
    };
    if let Some(token) = &pat.mutability {
        errors.at(token.span, format!("in the body `{}` is the transaction, a `&InboxTransaction`: remove `mut`", pat.ident));
    }
    Some(&pat.ident)
}

fn check_message<'a>(sig: &'a Signature, errors: &mut Errors) -> Option<&'a Ident> {
    let Some(argument) = typed(sig).nth(1) else {
        errors.at(
            sig.paren_token.span.close(),
            "the argument behind the connection is the message: write `msg: &YourMessage`, or say what identifies it by `key = ...`",
        );
        return None;
    };
    let Some(pat) = plain(argument) else {
        errors.on(
            &argument.pat,
            "the argument behind the connection is the message: give it a name, as in `msg: &YourMessage`, and take it apart in the body, \
             or say what identifies it by `key = ...`",
        );
        return None;
    };
    Some(&pat.ident)
}

/// `retries` calls the body again, so nothing may be moved out of the arguments.
fn check_repeatable(sig: &Signature, errors: &mut Errors) {
    if let Some(receiver) = sig.receiver()
        && Passed::by(&receiver.ty) != Passed::Shared
    {
        errors.on(receiver, "`retries` runs the body again, and a failed try would have used or changed `self`: write `&self`");
    }
    for argument in for_body(sig) {
        if Passed::by(&argument.ty) == Passed::Exclusive {
            errors.on(&argument.ty, "`retries` runs the body again, and a failed try would have changed what is behind `&mut`: write `&`");
        } else if plain(argument).is_none() {
            errors.on(&argument.pat, "`retries` clones what is taken by value for each try: give it a name, and take it apart in the body");
        }
    }
}

/// The arguments that each try of `retries` needs anew: those by value, and those that the body may point elsewhere.
pub(crate) fn cloned(sig: &Signature) -> impl Iterator<Item = (&PatType, &PatIdent)> {
    for_body(sig)
        .filter_map(|argument| Some((argument, plain(argument)?)))
        .filter(|(argument, pat)| pat.mutability.is_some() || Passed::by(&argument.ty) == Passed::Value)
}

/// The arguments that the body can name: in it, the connection's name means the transaction.
fn for_body(sig: &Signature) -> impl Iterator<Item = &PatType> {
    typed(sig).skip(1).filter(|argument| !matches!(*argument.pat, Pat::Wild(_)))
}

#[derive(PartialEq)]
enum Passed {
    Value,
    Shared,
    Exclusive,
}

impl Passed {
    /// Sees through the invisible groups of a `macro_rules!` fragment.
    fn by(ty: &Type) -> Self {
        match ty {
            Type::Reference(reference) if reference.mutability.is_some() => Self::Exclusive,
            Type::Reference(_) => Self::Shared,
            Type::Paren(inner) => Self::by(&inner.elem),
            Type::Group(inner) => Self::by(&inner.elem),
            _ => Self::Value,
        }
    }
}

fn typed(sig: &Signature) -> impl Iterator<Item = &PatType> {
    sig.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(argument) => Some(argument),
        FnArg::Receiver(_) => None,
    })
}

/// `name` or `mut name`.
fn plain(argument: &PatType) -> Option<&PatIdent> {
    match &*argument.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => Some(pat),
        _ => None,
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == name)
}
