#![doc = concat!(include_str!("docs/links.md"), include_str!("docs/guide.md"))]

/// A page. `links.md` goes first: its links lead through this documentation, and the first definition of a link counts. The page's
/// own, at its end, lead through the repository.
macro_rules! pages {
    ($($name:ident: $file:literal,)*) => {$(
        #[doc = concat!(include_str!("docs/links.md"), include_str!($file))]
        pub mod $name {}
    )*};
}

pages! {
    why: "docs/why.md",
    adopting: "docs/adopting.md",
    backfill: "docs/backfill.md",
    acknowledging: "docs/acknowledging.md",
    errors: "docs/errors.md",
    keys: "docs/keys.md",
    migrations: "docs/migrations.md",
    pool: "docs/pool.md",
    limits: "docs/limits.md",
    failure_modes: "docs/failure_modes.md",
}
