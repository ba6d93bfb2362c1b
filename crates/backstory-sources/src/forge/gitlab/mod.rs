//! GitLab, by its REST API v4.

mod client;
mod details;
mod listing;
mod parse;
mod payload;
mod position;
mod system_note;

pub use client::Client;
pub use details::stored_listing;
pub(crate) use listing::Resume;
pub use parse::{ParseError, origin_of_project, parse};
