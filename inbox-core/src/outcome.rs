//! What a delivery came to.

/// What a delivery that may be acknowledged came to. A duplicate is a value, never an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "an outcome tells whether the handler ran"]
pub enum Outcome<T> {
    /// The handler ran and its effect is committed together with the marker.
    Processed(T),
    /// The effect was committed by an earlier or a concurrent delivery; the handler did not run, or nothing of it stayed.
    Duplicate,
}

impl<T> Outcome<T> {
    /// Whether an earlier delivery had done it.
    #[must_use]
    pub const fn is_duplicate(&self) -> bool {
        matches!(self, Self::Duplicate)
    }

    /// The handler's value, `None` for a duplicate.
    #[must_use]
    pub fn processed(self) -> Option<T> {
        match self {
            Self::Processed(value) => Some(value),
            Self::Duplicate => None,
        }
    }

    /// Changes the handler's value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Processed(value) => Outcome::Processed(change(value)),
            Self::Duplicate => Outcome::Duplicate,
        }
    }
}

/// What an annotated handler may return inside its `Result`: a value exists for the delivery whose handler does not run.
///
/// `()` where the caller only acknowledges, [`Outcome<U>`] where it wants to know.
#[diagnostic::on_unimplemented(
    message = "an idempotent handler cannot return `{Self}` for a duplicate delivery",
    label = "what would this be when the handler does not run?",
    note = "return `Result<(), E>`, or `Result<Outcome<{Self}>, E>` and end the body with `Ok(Outcome::Processed(value))`"
)]
pub trait OnDuplicate {
    /// The value for a duplicate.
    fn on_duplicate() -> Self;
}

impl OnDuplicate for () {
    fn on_duplicate() -> Self {}
}

impl<T> OnDuplicate for Outcome<T> {
    fn on_duplicate() -> Self {
        Self::Duplicate
    }
}
