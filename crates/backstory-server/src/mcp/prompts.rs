//! The prompts that a person can choose in a client.

use backstory_engine::error::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use super::{Backend, Steps, tools};

/// Tokens of what a prompt brings along.
const TOKENS: usize = 3000;

/// The prompts, in the protocol's form.
pub(super) fn list() -> Value {
    json!([
        {
            "name": "why",
            "title": "Why is this code like this?",
            "description": "The decision behind a line, file, symbol, commit, issue or merge request",
            "arguments": [{ "name": "target", "description": "src/a.rs:42, src/a.rs#login, #12, !7", "required": true }],
        },
        {
            "name": "review-change",
            "title": "Review a change against its history",
            "description": "Which decisions the change in this working copy touches or undoes",
            "arguments": [{ "name": "base", "description": "What it is compared with [default: HEAD]" }],
        },
        {
            "name": "onboard",
            "title": "Get to know this code",
            "description": "What it is for, how it came to be, which decisions still hold",
            "arguments": [{ "name": "path", "description": "A directory or file [default: the project]" }],
        },
    ])
}

/// The text of a prompt.
///
/// # Errors
/// There is no such prompt, or it lacks an argument.
pub(super) async fn text<B: Backend>(
    backend: &B,
    name: &str,
    arguments: &Map<String, Value>,
    steps: &Steps,
) -> Result<String> {
    let argument =
        |name: &str| arguments.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    match name {
        "why" => {
            let missing = || Error::new(ErrorKind::Invalid, "the prompt 'why' needs a target, like src/a.rs:42");
            let target = argument("target").ok_or_else(missing)?;
            let mut given = Map::new();
            given.insert("target".to_owned(), target.into());
            given.insert("tokens".to_owned(), TOKENS.into());
            let found = tools::call(backend, "why", given, steps).await?;
            Ok(format!(
                "Explain why {target} is as it is. Begin with the decision, then who took it, when and for which reason. Cite \
                 references. Say what could not be found. This is what backstory knows:\n\n{found}"
            ))
        }
        "review-change" => {
            let base = argument("base").unwrap_or("HEAD");
            Ok(format!(
                "Review the change in this working copy against its history. Run `git diff {base}`. For each hunk that changes \
                 or deletes code which was there before, call `why` with its path and lines; for each file, call `history`. \
                 Then say, hunk by hunk, with references: which decision it touches, whether it undoes something that was \
                 done on purpose, which tests cover it, and what usually changes along with it but was not changed. Leave out \
                 hunks without anything to say."
            ))
        }
        "onboard" => {
            let what = argument("path").unwrap_or("this project");
            Ok(format!(
                "Introduce me to {what}. Call `status`, then `context` about it, `history` of it, and `search` for the \
                 decisions that shaped it; read the most important ones with `read`. Write one page: what it is for, its \
                 parts, how it came to be, the decisions that still hold with their references, and what is disputed or open."
            ))
        }
        other => Err(Error::new(ErrorKind::NotFound, format!("there is no prompt '{other}'"))
            .with_hint("there are why, review-change and onboard")),
    }
}
