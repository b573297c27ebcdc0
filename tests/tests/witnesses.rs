//! Two witnesses: a delivery is a duplicate when the marker's INSERT failed, and failed on our index. Whatever else fails is
//! never acknowledged and stores nothing; and in whatever words a server says it, a true duplicate is one.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

#[path = "witnesses/business.rs"]
mod business;
#[path = "witnesses/inbox.rs"]
mod inbox;
#[path = "witnesses/languages.rs"]
mod languages;
#[path = "witnesses/lookalikes.rs"]
mod lookalikes;
#[path = "witnesses/numbers.rs"]
mod numbers;
#[path = "guard/support.rs"]
#[allow(dead_code, reason = "written for the guard's tests, and useful here")]
mod support;
#[path = "witnesses/timeouts.rs"]
mod timeouts;
