//! A small shop that handles one message, [`before`] and [`after`] it adopted the inbox.
//!
//! `after` came out of `before` by the steps of `inbox_core::guide::adopting` and nothing else; `tests/steps.rs` counts the
//! lines. Look at the difference:
//!
//! ```sh
//! git diff --no-index examples/adopted-shop/src/before examples/adopted-shop/src/after
//! ```

#![allow(
    missing_docs,
    elided_lifetimes_in_paths,
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::unwrap_used,
    reason = "an application, written as one"
)]

pub mod after;
pub mod before;
