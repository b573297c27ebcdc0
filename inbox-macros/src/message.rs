//! `#[derive(Message)]`: which field identifies a message.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::ParseStream;
use syn::{Attribute, Data, DeriveInput, Field, Fields, Ident, LitStr, Member, Meta, Path, parse2};

use crate::args::{crate_path, krate, new_name, read_list, value};
use crate::errors::Errors;
use crate::expand::{move_to, place_of};

const ON_FIELD: &str = "`#[message(id)]` on a `MessageId` or a `Uuid`, or `#[message(id, domain = \"orders\")]` on a text";
const ON_STRUCT: &str = "`#[message(crate = path)]`";

pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match parse2(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let krate = krate(read_crate(&input.attrs, &mut errors).as_ref());
    let body = match find_id(&input, &mut errors) {
        Some(id) if errors.is_empty() => id.call(&krate),
        _ => quote!(::core::unimplemented!()),
    };
    let errors = errors.into_compile_errors();
    let name = &input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        #errors
        #[automatically_derived]
        impl #impl_generics #krate::__private::Message for #name #ty_generics #where_clause {
            fn message_id(&self) -> ::core::result::Result<#krate::__private::MessageId, #krate::__private::InvalidMessageId> {
                #body
            }
        }
    }
}

/// The one field that is marked, and how it becomes an id.
struct Id<'a> {
    field: &'a Field,
    member: Member,
    domain: Option<LitStr>,
}

impl Id<'_> {
    /// At the place of the field's type, which is what the runtime function's bound is about.
    fn call(&self, krate: &TokenStream) -> TokenStream {
        let member = &self.member;
        let field = move_to(place_of(&self.field.ty), quote!(&self.#member));
        match &self.domain {
            None => quote!(#krate::__private::field_id(#field)),
            Some(domain) => quote!(#krate::__private::text_id(#domain, #field)),
        }
    }
}

fn find_id<'a>(input: &'a DeriveInput, errors: &mut Errors) -> Option<Id<'a>> {
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(data) => {
            errors.at(data.enum_token.span, "only a struct has one field for its id: write `impl Message` for an enum");
            return None;
        }
        Data::Union(data) => {
            errors.at(data.union_token.span, "only a struct has one field for its id: write `impl Message` for a union");
            return None;
        }
    };
    let mut found = None;
    for (field, member) in fields.iter().zip(fields.members()) {
        let marks = Marks::read(&field.attrs, errors);
        match (marks.id, &found) {
            (Some(_), None) => found = Some(Id { field, member, domain: marks.domain }),
            (Some(second), Some(_)) => {
                errors.at(second.span(), "a message has one id: mark one field, or write `impl Message` with `MessageId::from_parts`");
            }
            (None, _) => {
                if let Some(domain) = marks.domain {
                    errors.on(domain, "a domain belongs to an id: write `#[message(id, domain = \"...\")]`");
                }
            }
        }
    }
    if found.is_none() && !has_marks(fields) {
        errors.at(input.ident.span(), format!("mark the field that identifies the message: write {ON_FIELD}"));
    }
    found
}

fn has_marks(fields: &Fields) -> bool {
    fields.iter().flat_map(|field| &field.attrs).any(|attr| attr.path().is_ident("message"))
}

#[derive(Default)]
struct Marks {
    id: Option<Ident>,
    domain: Option<LitStr>,
}

impl Marks {
    fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut marks = Self::default();
        let mut given = Vec::new();
        read_attributes(attrs, ON_FIELD, errors, |input| {
            let name = new_name(&mut given, input, ON_FIELD)?;
            match name.to_string().as_str() {
                "id" => marks.id = Some(name),
                "domain" => marks.domain = Some(domain(&name, input)?),
                _ => return Err(syn::Error::new(name.span(), format!("unknown key `{name}`: write {ON_FIELD}"))),
            }
            Ok(())
        });
        marks
    }
}

fn domain(name: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    const ADVICE: &str = "write the sender or queue whose ids these are, as in `domain = \"orders\"`";
    let domain: LitStr = value(name, input, ADVICE)?;
    if domain.value().trim().is_empty() {
        return Err(syn::Error::new(domain.span(), format!("a domain cannot be blank: {ADVICE}")));
    }
    Ok(domain)
}

fn read_crate(attrs: &[Attribute], errors: &mut Errors) -> Option<Path> {
    let mut krate = None;
    let mut given = Vec::new();
    read_attributes(attrs, ON_STRUCT, errors, |input| {
        let name = new_name(&mut given, input, ON_STRUCT)?;
        match name.to_string().as_str() {
            "crate" => krate = Some(crate_path(&name, input)?),
            "id" | "domain" => return Err(syn::Error::new(name.span(), format!("`{name}` belongs on a field: write {ON_FIELD}"))),
            _ => return Err(syn::Error::new(name.span(), format!("unknown key `{name}`: a struct takes {ON_STRUCT}"))),
        }
        Ok(())
    });
    krate
}

/// Every `#[message(...)]` of a struct or a field, as one list.
fn read_attributes(attrs: &[Attribute], known: &str, errors: &mut Errors, mut read: impl FnMut(ParseStream<'_>) -> syn::Result<()>) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("message")) {
        match &attr.meta {
            Meta::List(list) if !list.tokens.is_empty() => read_list(list.tokens.clone(), errors, &mut read),
            meta => errors.on(meta, format!("write {known}")),
        }
    }
}
