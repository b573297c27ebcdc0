//! SQL with comments in it.

/// A text that grows.
#[derive(Debug, Default)]
pub(super) struct Script(String);

impl Script {
    /// A comment, one line for each of the text's. Plain characters only: some clients read on in comments, where a quote would
    /// open a text and a semicolon end a statement.
    pub(super) fn comment(&mut self, text: &str) {
        for line in text.lines() {
            self.0.push_str(format!("-- {line}").trim_end());
            self.0.push('\n');
        }
    }

    /// The statements, behind an empty line and the comment that says what they are for; nothing where there are none.
    pub(super) fn part<S: AsRef<str>>(&mut self, comment: &str, statements: impl IntoIterator<Item = S>) {
        let mut statements = statements.into_iter().peekable();
        if statements.peek().is_none() {
            return;
        }
        self.0.push('\n');
        self.comment(comment);
        for sql in statements {
            self.0.push_str(sql.as_ref());
            self.0.push_str(";\n");
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
pub(super) fn assert_plain_comments(script: &str) {
    for comment in script.lines().filter(|line| line.starts_with("--")) {
        assert!(!comment.contains(['\'', '"', '`', ';', '\\']), "{comment}");
        assert!(comment.len() <= 130, "{comment}");
    }
}
