//! `fail` has one mistake per file with what the compiler says about it, `pass` one promise; `tests/ui.rs` runs them.
