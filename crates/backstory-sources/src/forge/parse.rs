//! Parses stored payloads into model values, whichever forge they are from. Nothing is requested. A parser that refuses
//! what an older version stored raises [`PARSER_VERSION`], so that stored payloads are checked once more.

use backstory_model::{
    entity::{Item, ItemKind},
    reference::Forge,
};
use serde_json::Value;

use super::{
    Origin,
    fields::{ParseError, ParseFailure},
    github, gitlab,
};

/// Version of how payloads are read: those that another version took in may be ones that this one refuses.
pub const PARSER_VERSION: u32 = 1;

/// The model value of a stored payload.
///
/// # Errors
/// What is missing or wrong, and in which payload.
pub fn parse(kind: ItemKind, origin: &Origin, key: &str, json: &Value) -> Result<Item, ParseError> {
    let read = match origin.forge {
        // People belong to no project that could tell.
        _ if kind == ItemKind::Person && github::is_person_key(key) => github::read,
        Forge::GitLab => gitlab::read,
        Forge::GitHub => github::read,
    };
    read(kind, origin, key, json).map_err(|reason| reason.of(kind, key, &origin.project))
}

/// What parsing is relative to, from the payload of the project.
pub fn origin_of_project(json: &Value) -> Option<Origin> {
    gitlab::origin_of_project(json).or_else(|| github::origin_of_project(json))
}

/// What parsing is relative to, from the payload of the project of that path, if nothing in it is wrong.
///
/// # Errors
/// What is missing or wrong.
pub fn parse_project(forge: Forge, path: &str, json: &Value) -> Result<Origin, ParseError> {
    let wrong = |field: &str, reason: &str| ParseFailure::at(field, reason).of(ItemKind::Project, "project", path);
    let assumed = Origin { forge, project: path.to_owned(), forge_url: String::new() };
    let Item::Project(project) = parse(ItemKind::Project, &assumed, "project", json)? else {
        return Err(wrong("", "is not a project"));
    };
    let (name, address) = match forge {
        Forge::GitLab => ("path_with_namespace", "web_url"),
        Forge::GitHub => ("full_name", "html_url"),
    };
    if project.path != path {
        return Err(wrong(name, "is not the path that was asked for"));
    }
    origin_of_project(json)
        .filter(|origin| origin.forge_url.starts_with("https://") || origin.forge_url.starts_with("http://"))
        .ok_or_else(|| wrong(address, "is not the address of the project"))
}
