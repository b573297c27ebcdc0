//! From a checked handler to one call of `inbox_core::__private`; nothing here can fail.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{FnArg, Pat, Signature, Type, parse2};

use crate::args::{self, Args};
use crate::errors::Errors;
use crate::handler::{Body, Function, Handler, Id, cloned, is_opaque};

pub(crate) fn idempotent(args: TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let args = Args::read(args, &mut errors);
    let function: Function = match parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            errors.push(error);
            let errors = errors.into_compile_errors();
            return quote!(#errors #item);
        }
    };
    match Handler::check(&function, &args, &mut errors) {
        Some(handler) if errors.is_empty() => expand(&function, &handler, &args),
        _ => {
            let errors = errors.into_compile_errors();
            let function = stub(&function);
            quote!(#errors #function)
        }
    }
}

fn expand(function: &Function, handler: &Handler<'_>, args: &Args) -> TokenStream {
    let Function { attrs, vis, sig, .. } = function;
    let Handler { connection, id, output, body } = handler;
    let krate = args::krate(args.krate.as_ref());
    let consumer = &args.consumer;
    let database = reference_to(connection);
    let id = message_id(&krate, id);
    let options = options(&krate, args);
    let closure = closure(connection, output, body);

    let (name, rest) = match args.retries {
        None if options.is_empty() => ("process", closure),
        None => ("process_with", quote!(#krate::__private::Options::new() #options, #closure)),
        Some(retries) => {
            let retries = Literal::u32_unsuffixed(retries);
            let clones = clones(sig);
            ("process_replayed", quote!(#krate::__private::Options::new() #options, #retries, move || { #clones #closure }))
        }
    };
    let name = Ident::new(name, Span::call_site());
    let arguments = quote!((#database, const { #krate::__private::Consumer::from_static(#consumer) }, #id, #rest));
    // In place of the return type, which the function's bounds on `T` and `E` are about.
    let call = move_to(place_of(output), quote!(#krate::__private::#name #arguments .await));
    let sig = if args.retries.is_some() { &without_mut(sig) } else { sig };
    let inner_attrs = &body.inner_attrs;
    quote! {
        #(#attrs)*
        #vis #sig {
            #(#inner_attrs)*
            #call
        }
    }
}

fn message_id(krate: &TokenStream, id: &Id<'_>) -> TokenStream {
    match id {
        Id::Message(message) => {
            let message = reference_to(message);
            quote!(#krate::__private::message_id(#message))
        }
        Id::Key(key) => {
            let place = first_span(key);
            // A block, which in this edition ends what the expression has locked or borrowed, before the transaction begins.
            let key = quote_spanned!(at(place)=> { #key });
            move_to(place, quote!(#krate::__private::MessageKey::into_message_id(#key)))
        }
    }
}

/// The body, with the transaction under the connection's name.
///
/// The statement that never runs gives it its type: the compiler infers what an async closure returns from its body alone,
/// and without it neither would `Err(Box::new(error))` become the written type nor an error be shown where it is.
fn closure(connection: &Ident, output: &Type, body: &Body) -> TokenStream {
    let place = place_of(output);
    let returned = move_to(place, quote!(return (|| -> #output { loop {} })();));
    let statements = block(body);
    // An arm, because lints would find braces in braces superfluous, and items behind a statement.
    let block = quote_spanned!(at(body.brace.span.join())=> { if false { #returned } match () { () => #statements } });
    quote_spanned!(at(place)=> async move |#connection| -> #output #block)
}

fn options(krate: &TokenStream, args: &Args) -> TokenStream {
    let fast_path = args.fast_path.then(|| quote!(.fast_path(true)));
    let isolation = args.isolation.as_ref().map(|level| quote!(.isolation(#krate::__private::IsolationLevel::#level)));
    quote!(#fast_path #isolation)
}

/// Shadows each argument that a try may use up or change; the borrow counts as its use where the body does not.
fn clones(sig: &Signature) -> TokenStream {
    cloned(sig)
        .map(|(argument, pat)| {
            let cfgs: Vec<_> = argument.attrs.iter().filter(|attr| attr.path().is_ident("cfg")).collect();
            let (mutability, name) = (pat.mutability, &pat.ident);
            let original = reference_to(name);
            let clone = quote_spanned!(at(name.span())=> ::core::clone::Clone::clone(#original));
            quote!(#(#cfgs)* let #mutability #name = #clone; #(#cfgs)* let _ = #original;)
        })
        .collect()
}

/// A `mut` belongs to the clone, which is what the body changes.
fn without_mut(sig: &Signature) -> Signature {
    let mut sig = sig.clone();
    for argument in &mut sig.inputs {
        if let FnArg::Typed(argument) = argument
            && let Pat::Ident(pat) = &mut *argument.pat
        {
            pat.mutability = None;
        }
    }
    sig
}

/// The function as its callers see it, where an error is reported already.
fn stub(function: &Function) -> TokenStream {
    let Function { attrs, vis, sig, body } = function;
    let mut sig = sig.clone();
    sig.constness = None;
    sig.variadic = None;
    let Some(body) = body else {
        return quote!(#(#attrs)* #vis #sig;);
    };
    // Only the body can say which type an `impl Trait` is.
    let body = if is_opaque(&sig.output) { block(body) } else { quote!({ ::core::unimplemented!() }) };
    quote!(#(#attrs)* #[allow(unused)] #vis #sig #body)
}

fn block(body: &Body) -> TokenStream {
    let mut block = Group::new(Delimiter::Brace, body.statements.clone());
    block.set_span(body.brace.span.join());
    block.into_token_stream()
}

/// Generated tokens at a place of the user's: all at the same one, because an error that two of them have is then shown once.
pub(crate) fn move_to(place: Span, tokens: TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(token.span().located_at(place));
            token
        })
        .collect()
}

/// The name in a type: `Result` in `std::io::Result<()>`.
pub(crate) fn place_of(ty: &Type) -> Span {
    match ty {
        Type::Group(inner) => place_of(&inner.elem),
        Type::Path(path) => path.path.segments.last().map_or_else(Span::call_site, |segment| segment.ident.span()),
        _ => first_span(ty),
    }
}

fn first_span(tokens: impl ToTokens) -> Span {
    tokens.into_token_stream().into_iter().next().map_or_else(Span::call_site, |token| token.span())
}

/// `&name` at the argument's place, so that a bound that its type does not meet is reported there.
fn reference_to(name: &Ident) -> TokenStream {
    let reference = quote_spanned!(at(name.span())=> &#name);
    if name.to_string().starts_with('_') {
        // `_db` says that the body does not use it, and this is not the body. An arm is the smallest thing that takes an `allow`.
        quote!(match () { #[allow(clippy::used_underscore_binding)] () => #reference })
    } else {
        reference
    }
}

/// The place of a token of the user's, but known as generated: lints leave it alone.
fn at(span: Span) -> Span {
    span.resolved_at(Span::call_site())
}
