//! stub
pub mod entity;
