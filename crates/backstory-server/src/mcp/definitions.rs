//! What tools there are: the definitions that clients read, as they are in `tools.json` and `legacy_tools.json`.

use std::sync::LazyLock;

use backstory_engine::{
    error::{Error, ErrorKind, Result},
    model::text::truncate_echo,
};
use serde_json::{Map, Value, json};

/// What models are told of all tools.
pub(super) const INSTRUCTIONS: &str = include_str!("instructions.md");

const TOOLS: &str = include_str!("tools.json");
const LEGACY_TOOLS: &str = include_str!("legacy_tools.json");

static DEFINITIONS: LazyLock<Vec<Map<String, Value>>> = LazyLock::new(|| parse(TOOLS));
static SEED_DEFINITIONS: LazyLock<Vec<Map<String, Value>>> = LazyLock::new(|| parse(LEGACY_TOOLS));

/// Whether the tools have other names as well, under which older designs know them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegacyToolNames {
    /// No.
    #[default]
    None,
    /// `gitmemory_query`, `atlas_search` …
    Plain,
    /// The same, but `atlas.search` for `atlas_search`. Several clients refuse a whole server for one such name.
    Dotted,
}

/// What is missing in the program itself makes an empty list, which a test sees.
fn parse(text: &str) -> Vec<Map<String, Value>> {
    serde_json::from_str(text).unwrap_or_default()
}

/// The definitions of all tools, in the protocol's form.
pub(super) fn list(names: LegacyToolNames) -> Vec<Map<String, Value>> {
    let mut tools = DEFINITIONS.clone();
    if names != LegacyToolNames::None {
        tools.extend(SEED_DEFINITIONS.iter().cloned().map(|mut tool| {
            if names == LegacyToolNames::Dotted
                && let Some(Value::String(name)) = tool.get_mut("name")
                && let Some(rest) = name.strip_prefix("atlas_")
            {
                *name = format!("atlas.{rest}");
            }
            tool
        }));
    }
    tools
}

/// Finds out whether there is a tool of that name.
///
/// # Errors
/// There is none.
pub(super) fn check_name(names: LegacyToolNames, wanted: &str) -> Result<()> {
    let tools = list(names);
    let known: Vec<&str> = tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
    if known.contains(&wanted) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::NotFound, format!("there is no tool '{}'", truncate_echo(wanted)))
        .with_hint(format!("call one of {}", known.join(", "))))
}

/// The schema of what a tool is called with. Names with a dot mean those without.
pub(super) fn schema(name: &str) -> Option<&'static Map<String, Value>> {
    let name = name.replace('.', "_");
    let all = DEFINITIONS.iter().chain(SEED_DEFINITIONS.iter());
    let tool = all.into_iter().find(|tool| tool.get("name").and_then(Value::as_str) == Some(name.as_str()))?;
    tool.get("inputSchema")?.as_object()
}

/// The tools as definitions of functions, as most frameworks for agents take them.
pub fn build_function_definitions(names: LegacyToolNames) -> Value {
    let function = |mut tool: Map<String, Value>| {
        json!({
            "type": "function",
            "function": {
                "name": tool.remove("name"),
                "description": tool.remove("description"),
                "parameters": tool.remove("inputSchema"),
            },
        })
    };
    list(names).into_iter().map(function).collect()
}

#[cfg(test)]
mod tests {
    use backstory_engine::{model::filter::DocumentKind, tokens};

    use super::*;

    #[test]
    fn definitions_of_the_tools_have_at_most_1200_tokens() {
        let tools = list(LegacyToolNames::None);
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names, ["why", "search", "read", "context", "history", "status"]);
        let count = tokens::count(&serde_json::to_string(&tools).expect("JSON"));
        assert!(count <= 1200, "{count} tokens");
    }

    #[test]
    fn documents_of_every_kind_can_be_searched_for() {
        for name in ["search", "atlas_search"] {
            let kinds = schema(name).expect("a tool")["properties"]["kinds"]["items"]["enum"].as_array();
            for kind in DocumentKind::ALL {
                assert!(kinds.expect("a list").contains(&json!(kind.as_str())), "{name}: {}", kind.as_str());
            }
        }
    }

    /// Some clients cut what is longer without a word.
    #[test]
    fn descriptions_and_instructions_have_at_most_2048_characters() {
        assert!(INSTRUCTIONS.chars().count() <= 2048);
        for tool in list(LegacyToolNames::Plain) {
            let description = tool["description"].as_str().expect("a description");
            assert!(description.chars().count() <= 2048, "{description}");
        }
    }

    #[test]
    fn no_name_has_a_dot_unless_it_is_asked_for() {
        let has_dot = |tool: &Map<String, Value>| tool["name"].as_str().is_some_and(|name| name.contains('.'));
        assert!(!list(LegacyToolNames::Plain).iter().any(has_dot));
        assert_eq!(list(LegacyToolNames::Dotted).iter().filter(|tool| has_dot(tool)).count(), 3);
        assert!(schema("atlas.search").is_some());
    }

    #[test]
    fn every_schema_refuses_what_it_does_not_name() {
        for tool in list(LegacyToolNames::Plain) {
            assert_eq!(tool["inputSchema"]["additionalProperties"], json!(false), "{tool:?}");
        }
    }
}
