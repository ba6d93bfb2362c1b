//! Edits of other programs' files that keep everything else in them as it is: comments, order, white space.

use std::path::Path;

use backstory_engine::error::ErrorKind;
use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstNode, CstObject, CstRootNode},
};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::client::EntryShape;
use crate::failure::{Failure, Result};

/// Name of the entry.
pub(super) const NAME: &str = "backstory";
/// What stands around the block in a file of instructions.
const BEGIN: &str = "<!-- backstory:start -->";
const END: &str = "<!-- backstory:end -->";
const BLOCK: &str = include_str!("block.md");
/// Tools of an agent before which its hook is called.
const HOOKED: &str = "Bash|Edit|MultiEdit|Write";
/// Seconds after which an agent goes on without its hook, which itself takes far less.
const HOOK_SECONDS: u32 = 2;

/// The command that a client starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct ServerCommand {
    pub(in crate::cli) program: String,
    pub(in crate::cli) args: Vec<String>,
}

/// What an edit makes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It has it already.
    Nothing,
    /// It has an entry of that name which somebody else wrote.
    KeepsOther,
    /// The new text.
    Text(String),
}

/// What to do with an entry that exists and differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConflictPolicy {
    /// It was written by this command.
    Replace,
    /// Somebody else wrote it.
    Keep,
}

/// The file with the entry in it.
///
/// # Errors
/// The text is no JSON object.
pub(super) fn add_json_entry(
    text: &str,
    servers_key: &str,
    shape: EntryShape,
    command: &ServerCommand,
    existing: ConflictPolicy,
) -> Result<Change> {
    let root = parse_json(text)?;
    let servers = object_of(&root_object(&root)?, servers_key)?;
    let entry = json_entry(shape, command);
    match servers.get(NAME) {
        Some(known) if is_same(known.value(), &entry) => return Ok(Change::Nothing),
        Some(_) if existing == ConflictPolicy::Keep => return Ok(Change::KeepsOther),
        Some(known) => known.set_value(entry),
        None => drop(servers.append(NAME, entry)),
    }
    Ok(Change::Text(with_line_ends_of(text, with_last_line_feed(root.to_string()))))
}

/// The file without the entry; `None` if it has none.
///
/// # Errors
/// The text is no JSON object.
pub(super) fn remove_json_entry(text: &str, servers_key: &str) -> Result<Option<String>> {
    let root = parse_json(text)?;
    let entry =
        root.object_value().and_then(|root| root.object_value(servers_key)).and_then(|servers| servers.get(NAME));
    Ok(entry.map(|entry| {
        entry.remove();
        root.to_string()
    }))
}

/// The file with a hook in it that runs a command, in place of those that run other commands of this program.
///
/// # Errors
/// The text is no JSON object.
pub(super) fn add_hook<'a>(text: &str, command: &str, former: impl Iterator<Item = &'a str>) -> Result<Change> {
    let mut old = text.to_owned();
    for command in former {
        old = remove_hook(&old, command)?.unwrap_or(old);
    }
    let root = parse_json(&old)?;
    let hooks = object_of(&root_object(&root)?, "hooks")?;
    let all = hooks.array_value_or_create("PreToolUse").ok_or_else(|| wrong("'hooks.PreToolUse' is not a list"))?;
    if all.elements().iter().any(|hook| runs(hook, command)) {
        return Ok(if old == text { Change::Nothing } else { Change::Text(old) });
    }
    let string = |text: &str| CstInputValue::String(text.to_owned());
    let run = CstInputValue::Object(vec![
        ("type".to_owned(), string("command")),
        ("command".to_owned(), string(command)),
        ("timeout".to_owned(), HOOK_SECONDS.into()),
    ]);
    all.append(CstInputValue::Object(vec![
        ("matcher".to_owned(), string(HOOKED)),
        ("hooks".to_owned(), CstInputValue::Array(vec![run])),
    ]));
    Ok(Change::Text(with_line_ends_of(text, with_last_line_feed(root.to_string()))))
}

/// The file without hooks that run a command; `None` if it has none.
///
/// # Errors
/// The text is no JSON object.
pub(super) fn remove_hook(text: &str, command: &str) -> Result<Option<String>> {
    let root = parse_json(text)?;
    let hooks = root.object_value().and_then(|root| root.object_value("hooks"));
    let elements =
        hooks.and_then(|hooks| hooks.array_value("PreToolUse")).map(|all| all.elements()).unwrap_or_default();
    let own: Vec<CstNode> = elements.into_iter().filter(|hook| runs(hook, command)).collect();
    if own.is_empty() {
        return Ok(None);
    }
    for element in own {
        let all = element.as_object().and_then(|hook| hook.array_value("hooks"));
        let (ours, others): (Vec<CstNode>, Vec<CstNode>) = all
            .map(|all| all.elements())
            .unwrap_or_default()
            .into_iter()
            .partition(|run| run.to_serde_value().unwrap_or_default()["command"].as_str() == Some(command));
        // What somebody added beside ours stays.
        if others.is_empty() {
            element.remove();
        } else {
            ours.into_iter().for_each(CstNode::remove);
        }
    }
    Ok(Some(root.to_string()))
}

/// The file with the entry in it.
///
/// # Errors
/// The text is no TOML, or has something else there.
pub(super) fn add_toml_entry(
    text: &str,
    servers_key: &str,
    command: &ServerCommand,
    existing: ConflictPolicy,
) -> Result<Change> {
    let mut document = parse_toml(text)?;
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let servers = document.entry(servers_key).or_insert(Item::Table(implicit));
    let servers = servers.as_table_like_mut().ok_or_else(|| wrong(&format!("'{servers_key}' is not a table")))?;
    let mut entry = Table::new();
    entry.insert("command", value(command.program.as_str()));
    entry.insert("args", value(command.args.iter().map(String::as_str).collect::<Array>()));
    if let Some(known) = servers.get(NAME) {
        let is_same = known.as_table_like().is_some_and(|known| {
            let args = known.get("args").and_then(Item::as_array);
            let args = args.map(|args| args.iter().filter_map(|arg| arg.as_str()).collect::<Vec<_>>());
            known.get("command").and_then(Item::as_str) == Some(command.program.as_str())
                && args.is_some_and(|args| args == command.args)
        });
        if is_same {
            return Ok(Change::Nothing);
        }
        if existing == ConflictPolicy::Keep {
            return Ok(Change::KeepsOther);
        }
    }
    servers.insert(NAME, Item::Table(entry));
    Ok(Change::Text(with_line_ends_of(text, document.to_string())))
}

/// The file without the entry; `None` if it has none.
///
/// # Errors
/// The text is no TOML.
pub(super) fn remove_toml_entry(text: &str, servers_key: &str) -> Result<Option<String>> {
    let mut document = parse_toml(text)?;
    let servers = document.get_mut(servers_key).and_then(Item::as_table_like_mut);
    let removed = servers.and_then(|servers| servers.remove(NAME));
    Ok(removed.map(|_| with_line_ends_of(text, document.to_string())))
}

/// The file with the block in it.
pub(super) fn add_block(text: &str) -> Change {
    let block = with_line_ends_of(text, format!("{BEGIN}\n{BLOCK}{END}\n"));
    let new = match around_block(text) {
        Some((before, after)) => format!("{before}{block}{after}"),
        None => {
            let gap = match text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text)) {
                _ if text.is_empty() => "",
                Some(text) if text.ends_with('\n') => "",
                Some(_) => "\n",
                None => "\n\n",
            };
            format!("{text}{}{block}", with_line_ends_of(text, gap.to_owned()))
        }
    };
    if new == text { Change::Nothing } else { Change::Text(new) }
}

/// The file without the block; `None` if it has none.
pub(super) fn remove_block(text: &str) -> Option<String> {
    let (before, after) = around_block(text)?;
    let before = if after.is_empty() { before.trim_end_matches(['\r', '\n']) } else { before };
    let end =
        if after.is_empty() && !before.is_empty() { with_line_ends_of(text, "\n".to_owned()) } else { String::new() };
    Some(format!("{before}{end}{after}"))
}

/// What stands before and after the block. A beginning without an end is somebody's own text.
fn around_block(text: &str) -> Option<(&str, &str)> {
    let end = text.find(END).filter(|end| text[..*end].contains(BEGIN))?;
    let begin = text[..end].rfind(BEGIN)?;
    let after = &text[end + END.len()..];
    let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')).unwrap_or(after);
    Some((&text[..begin], after))
}

/// The command of the entry in a file; `None` if it has none, or one that starts nothing.
pub(super) fn read_command(path: &Path, text: &str, servers_key: &str) -> Option<ServerCommand> {
    let entry: serde_json::Value = if path.extension().is_some_and(|extension| extension == "toml") {
        let all: toml::Table = text.parse().ok()?;
        serde_json::to_value(all.get(servers_key)?.get(NAME)?).ok()?
    } else {
        parse_json(text).ok()?.object_value()?.object_value(servers_key)?.get(NAME)?.value()?.to_serde_value()?
    };
    let words = |value: &serde_json::Value| {
        value.as_array().map(|all| all.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect::<Vec<_>>())
    };
    if let Some(mut all) = words(&entry["command"]).filter(|all| !all.is_empty()) {
        let program = all.remove(0);
        return Some(ServerCommand { program, args: all });
    }
    let program = entry["command"].as_str()?.to_owned();
    Some(ServerCommand { program, args: words(&entry["args"]).unwrap_or_default() })
}

fn parse_json(text: &str) -> Result<CstRootNode> {
    let text = if text.trim().is_empty() { "{\n}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| wrong(&format!("it is not valid JSON: {error}")))
}

fn parse_toml(text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| wrong(&format!("it is not valid TOML: {}", error.message())))
}

fn root_object(root: &CstRootNode) -> Result<CstObject> {
    root.object_value_or_create().ok_or_else(|| wrong("expected a JSON object"))
}

fn object_of(of: &CstObject, key: &str) -> Result<CstObject> {
    of.object_value_or_create(key).ok_or_else(|| wrong(&format!("'{key}' is not an object")))
}

fn json_entry(shape: EntryShape, command: &ServerCommand) -> CstInputValue {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let args = || command.args.iter().map(|arg| text(arg));
    let mut entry = Vec::new();
    match shape {
        EntryShape::Plain => {}
        EntryShape::Typed => entry.push(("type".to_owned(), text("stdio"))),
        EntryShape::Local => {
            let all = std::iter::once(text(&command.program)).chain(args()).collect();
            return CstInputValue::Object(vec![
                ("type".to_owned(), text("local")),
                ("command".to_owned(), CstInputValue::Array(all)),
                ("enabled".to_owned(), true.into()),
            ]);
        }
    }
    entry.push(("command".to_owned(), text(&command.program)));
    entry.push(("args".to_owned(), CstInputValue::Array(args().collect())));
    CstInputValue::Object(entry)
}

/// Whether an entry says the same as another.
fn is_same(known: Option<CstNode>, entry: &CstInputValue) -> bool {
    let fresh = CstRootNode::parse("{}", &ParseOptions::default()).ok();
    let fresh = fresh.and_then(|root| {
        root.set_value(entry.clone());
        root.value()?.to_serde_value()
    });
    known.and_then(|known| known.to_serde_value()).is_some_and(|known| Some(known) == fresh)
}

/// Whether a hook runs a command.
fn runs(hook: &CstNode, command: &str) -> bool {
    let hook = hook.to_serde_value().unwrap_or_default();
    let runs = |run: &serde_json::Value| run["command"].as_str() == Some(command);
    hook["hooks"].as_array().is_some_and(|all| all.iter().any(runs))
}

/// A text with the ends of lines that another has, if all of those are CRLF.
fn with_line_ends_of(other: &str, text: String) -> String {
    let feeds = other.matches('\n').count();
    if feeds == 0 || other.matches("\r\n").count() < feeds {
        return text;
    }
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn with_last_line_feed(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn wrong(what: &str) -> Failure {
    Failure::new(ErrorKind::Configuration, what)
}
