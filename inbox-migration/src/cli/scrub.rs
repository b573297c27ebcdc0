//! Takes URLs and passwords out of a text, whoever wrote it: drivers, SeaORM and clap all quote what they were given.

use std::ffi::OsString;

/// The texts that must not be shown.
#[derive(Clone, Default)]
pub(super) struct Scrub(Vec<String>);

/// Shorter secrets cannot be told from the text around them; nothing quotes a password by itself.
const SHORTEST: usize = 3;

impl Scrub {
    pub(super) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut scrub = Self::default();
        for secret in secrets {
            // As `{:?}` would print it.
            let debug = format!("{secret:?}");
            scrub.0.push(debug[1..debug.len() - 1].to_owned());
            scrub.0.push(secret);
        }
        scrub.add(Self::default());
        scrub
    }

    /// clap quotes an argument that it does not understand, and a URL in the wrong place is one.
    pub(super) fn of_arguments(arguments: &[OsString]) -> Self {
        let texts = arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
        let urls = texts.filter(|text| text.contains("://") || text.contains('@'));
        Self::new(urls.flat_map(|text| {
            let value = text.split_once('=').filter(|_| text.starts_with('-'));
            let value = value.map(|(_, value)| value.to_owned());
            [Some(text), value].into_iter().flatten()
        }))
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.retain(|secret| secret.len() >= SHORTEST);
        // A part must not be taken out of the whole first.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        self.0.dedup();
    }

    pub(super) fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = text.replace(secret, "***");
        }
        without_urls(&text)
    }
}

/// `scheme://anything` becomes `scheme://***`.
fn without_urls(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        clean.push_str(before);
        clean.push_str("://***");
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`'));
        rest = end.map_or("", |end| &after[end..]);
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_arguments(arguments: &[&str]) -> Scrub {
        Scrub::of_arguments(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn urls_are_cut_whoever_wrote_them() {
        let scrub = Scrub::default();
        for (text, clean) in [
            ("The connection string 'postgres://u:secret@h/d' cannot", "The connection string 'postgres://***' cannot"),
            ("a mysql://u:p@h and \"sqlite://x\"", "a mysql://*** and \"sqlite://***\""),
            ("nothing here", "nothing here"),
            ("postgres://", "postgres://***"),
        ] {
            assert_eq!(scrub.clean(text), clean);
        }
    }

    #[test]
    fn secrets_go_with_blanks_quotes_and_parts_of_each_other() {
        let scrub = Scrub::new(["my \"secret\"".to_owned(), "secret".to_owned(), "ab".to_owned()]);
        assert_eq!(scrub.clean("password: my \"secret\""), "password: ***");
        assert_eq!(scrub.clean(&format!("{:?}", "my \"secret\"")), "\"***\"");
        assert_eq!(scrub.clean("no secret, about"), "no ***, about");
    }

    #[test]
    fn arguments_that_hold_a_url() {
        let scrub = of_arguments(&["inbox", "--database-ulr=pg://u:my secret@h", "u:other secret@h", "--verbose"]);
        assert_eq!(scrub.clean("'pg://u:my secret@h' --verbose"), "'***' --verbose");
        assert_eq!(scrub.clean("unexpected 'u:other secret@h'"), "unexpected '***'");
        assert_eq!(scrub.clean("inbox up"), "inbox up");
    }
}
