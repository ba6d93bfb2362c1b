//! GitHub, by its REST API v3: github.com, its enterprise cloud and servers.

mod address;
mod client;
mod details;
mod listing;
mod parse;
mod payload;
mod position;
mod timeline;

pub(super) use address::web_url;
pub(super) use client::CONVENTIONS;
pub use client::Client;
pub(super) use details::has_listed;
pub(super) use parse::{is_person_key, origin_of_project, read};
