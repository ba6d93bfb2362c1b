//! GitLab, by its REST API v4.

mod client;
mod details;
mod listing;
mod parse;
mod payload;
mod position;
mod system_note;

pub(super) use client::CONVENTIONS;
pub use client::Client;
pub(super) use details::has_listed;
pub(super) use parse::{origin_of_project, read};
