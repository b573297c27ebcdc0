//! The winner fails while others wait, or is not done yet: never a `Duplicate` without an effect.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed set-up stops the test")]

mod delivery;
#[path = "takeover/gone.rs"]
mod gone;
#[path = "takeover/rolled_back.rs"]
mod rolled_back;
#[path = "takeover/slow.rs"]
mod slow;
#[path = "takeover/unfinished.rs"]
mod unfinished;
