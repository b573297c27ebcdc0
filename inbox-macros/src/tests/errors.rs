use super::*;

/// The messages of the `compile_error!`s.
fn errors(expansion: TokenStream) -> Vec<String> {
    let file: syn::File = syn::parse2(expansion).unwrap();
    file.items
        .into_iter()
        .filter_map(|item| match item {
            syn::Item::Macro(item) if item.mac.path.segments.last().unwrap().ident == "compile_error" => {
                Some(item.mac.parse_body::<syn::LitStr>().unwrap().value())
            }
            _ => None,
        })
        .collect()
}

fn of_arguments(args: &str) -> Vec<String> {
    errors(expand::idempotent(
        args.parse().unwrap(),
        &quote!(
            async fn f(db: &D, msg: &M) -> R {}
        ),
    ))
}

fn of_function(function: &str) -> Vec<String> {
    errors(expand::idempotent(quote!(consumer = "credit"), &function.parse().unwrap()))
}

fn of_message(message: &str) -> Vec<String> {
    errors(message::derive(message.parse().unwrap()))
}

#[test]
fn every_mistake_is_reported() {
    let found = errors(expand::idempotent(
        quote!(retries = 0, consumers = "credit", isolation = serializable, fast_path = true, fast_path, claim(lease = "60s"), key),
        &quote!(
            const unsafe extern "C" fn f((db, x): D) {}
        ),
    ));
    insta::assert_debug_snapshot!(found);
}

#[test]
fn right_arguments() {
    for args in [
        r#"consumer = "a""#,
        r##"consumer = r#"~!"# ,"##,
        &format!("consumer = \"{}\"", "x".repeat(200)),
        r#"consumer = "a", retries = 1, key = f::<A, B>(msg, "x")?, fast_path"#,
        r#"crate = ::a::b, isolation = "read_committed", retries = 100, consumer = "a",,"#.trim_end_matches(','),
    ] {
        assert_eq!(of_arguments(args), [""; 0], "{args}");
    }
}

#[test]
fn wrong_arguments() {
    let long = format!("consumer = \"{}\"", "x".repeat(201));
    for (args, said) in [
        ("", "`#[idempotent]` needs `consumer = \"...\"`"),
        ("\"credit\"", "write `consumer = \"credit\"`"),
        ("consumer", "write the name itself"),
        ("consumer =", "write the name itself"),
        ("consumer(\"credit\")", "write the name itself"),
        ("consumer = CREDIT", "write the name itself"),
        ("consumer = concat!(\"a\", \"b\")", "write the name itself"),
        ("consumer = b\"credit\"", "write the name itself"),
        ("consumer = \"\"", "cannot be empty"),
        ("consumer = \" credit\"", "' ' cannot stand in"),
        ("consumer = \"crédit\"", "'é' cannot stand in"),
        ("consumer = \"a\\n\"", "'\\n' cannot stand in"),
        (long.as_str(), "at most 200 characters, this one has 201"),
        ("consumer = \"a\", consumer = \"b\"", "`consumer` is given twice"),
        ("consumer = \"a\" fast_path", "expected `,`"),
        ("consumer = \"a\", fast_path(true)", "`fast_path` takes no value"),
        ("consumer = \"a\", retries", "write how often to try again"),
        ("consumer = \"a\", retries = \"3\"", "write how often to try again"),
        ("consumer = \"a\", retries = -1", "from 1 to 100"),
        ("consumer = \"a\", retries = 0", "leave it out"),
        ("consumer = \"a\", retries = 101", "from 1 to 100"),
        ("consumer = \"a\", retries = 99999999999", "from 1 to 100"),
        ("consumer = \"a\", isolation = \"snapshot\"", "\"read_committed\""),
        ("consumer = \"a\", isolation = Serializable", "\"read_committed\""),
        ("consumer = \"a\", crate = \"inbox\"", "without quotes"),
        ("consumer = \"a\", key = ", "write an expression"),
        ("consumer = \"a\", key = +", "write an expression"),
        ("consumer = \"a\", lease = \"1s\"", "unknown argument `lease`"),
        ("consumer = \"a\", 7", "expected `consumer = \"...\"`"),
    ] {
        let errors = of_arguments(args);
        assert!(matches!(errors.as_slice(), [error] if error.contains(said)), "{args}: {errors:?}");
    }
}

#[test]
fn right_functions() {
    for function in [
        "async fn f(db: &D, msg: &M) -> io::Result<()> {}",
        "async fn f(db: &D, msg: &M) -> Res {}",
        "async fn f(db: &D, msg: &M) -> <T as Trait>::Result {}",
        "async fn f(db: &D, msg: &M) -> my::Option<()> {}",
        "async fn f(self: Pin<&mut Self>, db: &mut D, mut msg: M, (a, b): (u8, u8)) -> R {}",
        "pub(crate) async fn f<'a, const N: usize>(db: &'a D, msg: [M; N]) -> R {}",
    ] {
        assert_eq!(of_function(function), [""; 0], "{function}");
    }
}

#[test]
fn wrong_functions() {
    for (function, said) in [
        ("async fn f(db: &D, msg: &M) -> R;", "no body to run"),
        ("fn f(db: &D, msg: &M) -> impl Future + Send;", "no body to run"),
        ("fn f(db: &D, msg: &M) -> Pin<Box<dyn Future>> {}", "goes on an `async fn`"),
        ("async fn f(db: &D, msg: &M) {}", "write `-> Result<(), E>`"),
        ("async fn f(db: &D, msg: &M) -> () {}", "a handler returns"),
        ("async fn f(db: &D, msg: &M) -> Option<()> {}", "a handler returns"),
        ("async fn f(db: &D, msg: &M) -> (Outcome<()>) {}", "a handler returns"),
        ("async fn f(db: &D, msg: &M) -> &'static str {}", "a handler returns"),
        ("async fn f(db: &D, msg: &M) -> ! {}", "a handler returns"),
        ("async fn f(db: &D, msg: &M) -> impl Future {}", "has to be named"),
        ("async fn f(db: &D, msg: &M) -> Result<Box<impl Sized>, E> {}", "has to be named"),
        ("async fn f(_: &D, msg: &M) -> R {}", "the first argument is the connection"),
        ("async fn f(mut db: D, msg: &M) -> R {}", "remove `mut`"),
        ("async fn f(ref db: D, msg: &M) -> R {}", "the first argument is the connection"),
        ("async fn f(&self, db: &D) -> R {}", "the argument behind the connection"),
        ("async fn f(db: &D, M { id }: M) -> R {}", "give it a name"),
        ("async fn f(db: &D, m @ M { .. }: M) -> R {}", "give it a name"),
        ("async unsafe fn f(db: &D, msg: &M) -> R {}", "safe function"),
        ("async extern \"C\" fn f(db: &D, msg: &M) -> R {}", "remove `extern`"),
        ("#[inbox_core::idempotent(consumer = \"b\")] async fn f(db: &D, msg: &M) -> R {}", "a handler has one consumer"),
        ("struct S;", "goes on an `async fn`"),
        ("const N: u8 = 1;", "goes on an `async fn`"),
        ("#[async_trait] impl T for S {}", "goes on an `async fn`"),
    ] {
        let errors = of_function(function);
        assert!(matches!(errors.as_slice(), [error] if error.contains(said)), "{function}: {errors:?}");
    }
}

/// One mistake may not hide another, on the receiver or on an argument.
#[test]
fn what_retries_cannot_repeat() {
    for (function, said) in [
        ("async fn f(self, db: &D, msg: &M) -> R {}", "write `&self`"),
        ("async fn f(&mut self, db: &D, msg: &M) -> R {}", "write `&self`"),
        ("async fn f(self: Arc<Self>, db: &D, msg: &M) -> R {}", "write `&self`"),
        ("async fn f(db: &D, msg: &mut M) -> R {}", "write `&`"),
        ("async fn f(db: &D, msg: &M, (a, b): (u8, u8)) -> R {}", "give it a name"),
    ] {
        let errors = errors(expand::idempotent(quote!(consumer = "credit", retries = 1), &function.parse().unwrap()));
        assert!(matches!(errors.as_slice(), [error] if error.contains(said)), "{function}: {errors:?}");
        assert_eq!(of_function(function), [""; 0], "{function}");
    }
    let repeatable = quote!(
        async fn f(self: &Arc<Self>, db: &mut D, msg: M, _: &mut u8) -> R {}
    );
    assert_eq!(errors(expand::idempotent(quote!(consumer = "credit", retries = 1), &repeatable)), [""; 0]);
}

#[test]
fn right_messages() {
    for message in [
        "struct M { #[message(id)] id: Uuid }",
        "struct M { #[serde(default)] #[message(domain = \"a\")] #[message(id)] id: String, other: u8 }",
        "#[message(crate = inbox)] struct M<const N: usize>([u8; N], #[message(id)] MessageId);",
    ] {
        assert_eq!(of_message(message), [""; 0], "{message}");
    }
}

#[test]
fn wrong_messages() {
    for (message, said) in [
        ("struct M { id: Uuid }", "mark the field"),
        ("struct M;", "mark the field"),
        ("enum M { A(#[message(id)] Uuid) }", "for an enum"),
        ("union M { #[message(id)] id: Uuid }", "for a union"),
        ("struct M { #[message(id)] a: Uuid, #[message(id)] b: Uuid }", "a message has one id"),
        ("struct M { #[message(id)] #[message(id)] a: Uuid }", "`id` is given twice"),
        ("struct M { #[message] a: Uuid }", "write `#[message(id)]`"),
        ("struct M { #[message()] a: Uuid }", "write `#[message(id)]`"),
        ("struct M { #[message = \"id\"] a: Uuid }", "write `#[message(id)]`"),
        ("struct M { #[message(key)] a: Uuid }", "unknown key `key`"),
        ("struct M { #[message(id, crate = inbox)] a: Uuid }", "unknown key `crate`"),
        ("struct M { #[message(domain = \"a\")] a: String }", "a domain belongs to an id"),
        ("struct M { #[message(id, domain)] a: String }", "write the sender or queue"),
        ("struct M { #[message(id, domain = ORDERS)] a: String }", "write the sender or queue"),
        ("struct M { #[message(id, domain = \"\")] a: String }", "cannot be blank"),
        ("struct M { #[message(id, domain = \" \")] a: String }", "cannot be blank"),
        ("#[message(id)] struct M { #[message(id)] a: Uuid }", "`id` belongs on a field"),
        ("#[message(crate = \"inbox\")] struct M { #[message(id)] a: Uuid }", "without quotes"),
        ("#[message(rename = a)] struct M { #[message(id)] a: Uuid }", "unknown key `rename`"),
        ("#[message(crate = a, crate = b)] struct M { #[message(id)] a: Uuid }", "`crate` is given twice"),
    ] {
        let errors = of_message(message);
        assert!(matches!(errors.as_slice(), [error] if error.contains(said)), "{message}: {errors:?}");
    }
    let errors = of_message("#[message(a)] struct M { #[message(b)] a: u8, #[message(id, c, id)] b: u8, #[message(id)] c: u8 }");
    assert_eq!(errors.len(), 5, "{errors:?}");
}
