//! What a tool is called with: checked against its definition, and under the names that models invent for arguments.

use backstory_engine::{
    error::{Error, ErrorKind, Result},
    model::{filter::DocumentKind, text::truncate_echo, time::parse_instant},
};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::definitions::schema;

/// What models call an argument besides its name.
const ALIASES: [(&str, &str, &str); 17] = [
    ("why", "file", "target"),
    ("why", "path", "target"),
    ("why", "ref", "target"),
    ("why", "about", "target"),
    ("why", "query", "target"),
    ("history", "file", "target"),
    ("history", "path", "target"),
    ("history", "symbol", "target"),
    ("context", "query", "about"),
    ("context", "question", "about"),
    ("context", "target", "about"),
    ("read", "ref", "refs"),
    ("read", "target", "refs"),
    ("search", "q", "query"),
    ("search", "kind", "kinds"),
    ("search", "since", "after"),
    ("status", "repository", "project"),
];

/// The arguments of a call, all of them named by the tool's definition.
#[derive(Debug)]
pub(super) struct Arguments {
    tool: String,
    values: Map<String, Value>,
}

impl Arguments {
    /// Takes what a tool is called with.
    ///
    /// # Errors
    /// There is no such tool, or it has no such argument.
    pub(super) fn check(tool: &str, given: Map<String, Value>) -> Result<Self> {
        let unknown_tool = || Error::new(ErrorKind::NotFound, format!("there is no tool '{}'", truncate_echo(tool)));
        let properties = schema(tool).ok_or_else(unknown_tool)?.get("properties").and_then(Value::as_object);
        let known = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
        let mut values = Map::new();
        let mut line = None;
        for (name, value) in given {
            if value.is_null() {
                continue;
            }
            let alias = ALIASES.iter().find(|(of, alias, _)| *of == tool && *alias == name);
            match alias {
                _ if known(&name) => values.insert(name, value),
                Some((.., real)) if !values.contains_key(*real) => values.insert((*real).to_owned(), value),
                _ if tool == "why" && matches!(name.as_str(), "line" | "lines") => line.replace(value),
                _ => return Err(unknown_argument(tool, &name, properties)),
            };
        }
        if let (Some(line), Some(Value::String(target))) = (line, values.get_mut("target")) {
            let line = line.as_str().map_or_else(|| line.to_string(), str::to_owned);
            target.push(':');
            target.push_str(&line);
        }
        Ok(Self { tool: tool.to_owned(), values })
    }

    fn wrong(&self, name: &str, wanted: &str) -> Error {
        Error::new(ErrorKind::Invalid, format!("'{name}' of {} must be {wanted}", self.tool))
    }

    /// A text that may be absent; one without letters is.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            Some(_) => Err(self.wrong(name, "a text")),
        }
    }

    /// A text that must be there.
    pub(super) fn required(&self, name: &str) -> Result<String> {
        self.text(name)?.ok_or_else(|| self.wrong(name, "given"))
    }

    /// A number within what the definition allows, or its default; `None` if it has none.
    pub(super) fn number(&self, name: &str) -> Result<Option<usize>> {
        let property = schema(&self.tool).and_then(|schema| schema.get("properties")?.get(name));
        let of = |key: &str| property.and_then(|property| property.get(key)?.as_u64());
        let (least, most) = (of("minimum").unwrap_or(0), of("maximum").unwrap_or(u32::MAX.into()));
        let number = match self.values.get(name) {
            None => of("default"),
            // Some models write numbers as text.
            Some(Value::String(text)) => Some(text.trim().parse().map_err(|_| self.wrong(name, "a number"))?),
            Some(value) => Some(whole(value).ok_or_else(|| self.wrong(name, "a whole number"))?),
        };
        match number {
            Some(number) if !(least..=most).contains(&number) => {
                Err(self.wrong(name, &format!("between {least} and {most}")))
            }
            number => Ok(number.and_then(|number| usize::try_from(number).ok())),
        }
    }

    /// How many tokens the answer may have.
    pub(super) fn tokens(&self, name: &str) -> Result<usize> {
        Ok(self.number(name)?.unwrap_or(2000))
    }

    /// Whether something is wanted; not if it is absent.
    pub(super) fn is_set(&self, name: &str) -> Result<bool> {
        match self.values.get(name) {
            None => Ok(false),
            Some(Value::Bool(set)) => Ok(*set),
            Some(Value::String(text)) if text == "true" || text == "false" => Ok(text == "true"),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    /// A list of texts; one alone counts as a list of one. Some models write the list as a text.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>> {
        match self.values.get(name) {
            None => Ok(vec![]),
            Some(Value::String(text)) => Ok(serde_json::from_str(text).unwrap_or_else(|_| vec![text.clone()])),
            Some(Value::Array(texts)) => {
                let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
                texts.collect::<Option<Vec<_>>>().ok_or_else(|| self.wrong(name, "a list of texts"))
            }
            Some(_) => Err(self.wrong(name, "a list of texts")),
        }
    }

    /// A time like `2024-03`.
    pub(super) fn time(&self, name: &str) -> Result<Option<Timestamp>> {
        let wrong = |_| self.wrong(name, "a date like 2024-03-15, 2024-03 or 2024");
        self.text(name)?.map(|text| parse_instant(&text).map_err(wrong)).transpose()
    }

    /// Kinds of documents.
    pub(super) fn kinds(&self, name: &str) -> Result<Vec<DocumentKind>> {
        let mut kinds = Vec::new();
        let named = self.texts(name)?;
        for kind in named.iter().flat_map(|named| named.split(',')).map(str::trim).filter(|kind| !kind.is_empty()) {
            match kind {
                "code" => kinds.extend([DocumentKind::Code, DocumentKind::File]),
                name => kinds.push(DocumentKind::from_name(name).ok_or_else(|| {
                    Error::new(ErrorKind::Invalid, format!("there is no kind '{}'", truncate_echo(name)))
                        .with_hint("kinds are issue, merge_request, discussion, commit, file, code, section")
                })?),
            }
        }
        Ok(kinds)
    }
}

/// A number without a fraction, also one that is written with a point.
fn whole(value: &Value) -> Option<u64> {
    let exact =
        |number: f64| (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)).then_some(number);
    value.as_u64().or_else(|| value.as_f64().and_then(exact).map(|number| number as u64))
}

fn unknown_argument(tool: &str, name: &str, properties: Option<&Map<String, Value>>) -> Error {
    let known: Vec<&str> = properties.into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
    let message = format!("{tool} has no argument '{}'", truncate_echo(name));
    Error::new(ErrorKind::Invalid, message).with_hint(match known.is_empty() {
        true => "call it without arguments".to_owned(),
        false => format!("it takes {}", known.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "callers make it for the call")]
    fn check(tool: &str, given: Value) -> Result<Arguments> {
        Arguments::check(tool, given.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn unknown_argument_is_refused_with_those_that_are_known() {
        let error = check("why", json!({ "target": "a", "depth": 3 })).expect_err("an error");
        assert_eq!(error.to_string(), "why has no argument 'depth'; it takes target, tokens, project");
        assert!(
            check("nonsense", json!({})).expect_err("an error").to_string().contains("there is no tool 'nonsense'")
        );
    }

    #[test]
    fn names_that_models_invent_are_understood() {
        let arguments = check("why", json!({ "file": "src/a.rs", "line": 42 })).expect("arguments");
        assert_eq!(arguments.required("target").expect("a text"), "src/a.rs:42");
        assert_eq!(arguments.tokens("tokens").expect("a number"), 1500);
    }

    #[test]
    fn values_that_models_write_otherwise_are_understood() {
        let given = json!({ "query": "x", "limit": 5.0, "kinds": "issue, merge_request" });
        let arguments = check("search", given).expect("arguments");
        assert_eq!(arguments.number("limit").expect("a number"), Some(5));
        assert_eq!(arguments.kinds("kinds").expect("kinds"), [DocumentKind::Issue, DocumentKind::MergeRequest]);
        let arguments = check("read", json!({ "refs": "[\"!7\", \"#12\"]", "tokens": 1.5 })).expect("arguments");
        assert_eq!(arguments.texts("refs").expect("texts"), ["!7", "#12"]);
        assert!(arguments.number("tokens").is_err());
        assert!(check("status", json!({ "sync": "true" })).expect("arguments").is_set("sync").expect("a value"));
    }

    #[test]
    fn number_outside_of_its_range_is_refused() {
        let arguments = check("context", json!({ "about": "x", "tokens": 10 })).expect("arguments");
        let error = arguments.tokens("tokens").expect_err("an error");
        assert_eq!(error.to_string(), "'tokens' of context must be between 300 and 100000");
    }
}
