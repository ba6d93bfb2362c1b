//! Parses the file with the questions: YAML or JSON, a list or an object with one.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Bounds, Question, Source};
use crate::{
    id::is_project_path,
    reference::{Forge, ReferenceContext},
};

/// Largest file, in bytes.
pub const MAX_FILE: usize = 4 << 20;
/// Most questions of a file.
pub const MAX_QUESTIONS: usize = 2_000;
/// Most expected sources of a question.
pub const MAX_EXPECTED: usize = 20;
/// Longest question and line of a file, in characters.
pub const MAX_QUESTION_CHARS: usize = 2_000;
/// Longest id, kind, source, path and symbol, in characters.
pub const MAX_IDENTIFIER_CHARS: usize = 500;
/// What is most often wrong: `#` begins a comment, `!` a tag, and `@` is not allowed.
const QUOTES: &str = r##"YAML wants quotes around "#12", "!7" and "@1a2b3c4""##;
/// The kind of questions that the file gives none.
const NO_KIND: &str = "other";

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuestionFile {
    /// Full path of the project that the questions are about.
    pub project: Option<String>,
    /// What the measures must reach.
    pub bounds: Bounds,
    /// The questions, in the order of the file.
    pub questions: Vec<Question>,
}

/// Reads a file.
///
/// # Errors
/// What is wrong with it, and which question that concerns; without the name of the file.
pub fn parse_questions(text: &str) -> Result<QuestionFile, String> {
    if text.len() > MAX_FILE {
        return Err(format!("it has {} bytes; at most {MAX_FILE} are read", text.len()));
    }
    let (project, bounds, questions) = match value(text)? {
        Value::Array(questions) => (None, Bounds::default(), questions),
        Value::Object(mut object) => {
            let project = text_of(&object, "project", MAX_IDENTIFIER_CHARS)?;
            let bounds = object.get("bounds").map(Bounds::read).transpose()?.unwrap_or_default();
            match object.remove("questions") {
                Some(Value::Array(questions)) => (project, bounds, questions),
                Some(_) => return Err("'questions' is not a list".to_owned()),
                None => return Err("it has no 'questions'; give it a list of them, or be that list".to_owned()),
            }
        }
        _ => return Err("it is neither a list of questions nor an object with 'questions'".to_owned()),
    };
    if let Some(project) = project.as_ref().filter(|project| !is_project_path(project)) {
        return Err(format!("'{project}' is not the path of a project; write group/project"));
    }
    if questions.is_empty() {
        return Err("it has no questions".to_owned());
    }
    if questions.len() > MAX_QUESTIONS {
        return Err(format!("it has {} questions; at most {MAX_QUESTIONS} are read", questions.len()));
    }
    let mut ids = BTreeSet::new();
    let mut read = Vec::with_capacity(questions.len());
    for (number, value) in (1..).zip(&questions) {
        let name = match value["id"].as_str() {
            Some(id) => format!("question {}", id.chars().take(MAX_IDENTIFIER_CHARS).collect::<String>()),
            None => format!("question {number}"),
        };
        let question = question(value, number).map_err(|wrong| format!("{name}: {wrong}"))?;
        if !ids.insert(question.id.clone()) {
            return Err(format!("{name}: another question has this id"));
        }
        read.push(question);
    }
    Ok(QuestionFile { project, bounds, questions: read })
}

/// JSON if it begins like it, else YAML, in which `{` and `[` may begin something too.
fn value(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    let json = text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text));
    match json {
        Some(Ok(value)) => Ok(value),
        Some(Err(wrong)) => serde_yaml_ng::from_str(text).map_err(|_| format!("it is not valid JSON: {wrong}")),
        None => serde_yaml_ng::from_str(text).map_err(|wrong| format!("it is not valid YAML: {wrong}; {QUOTES}")),
    }
}

fn question(value: &Value, number: usize) -> Result<Question, String> {
    let Value::Object(object) = value else { return Err("it is not an object with 'question' and 'gold'".to_owned()) };
    let id = match object.get("id") {
        Some(Value::Number(id)) => id.to_string(),
        _ => text_of(object, "id", MAX_IDENTIFIER_CHARS)?.unwrap_or_else(|| number.to_string()),
    };
    let question = text_of(object, "question", MAX_QUESTION_CHARS)?.filter(|question| !question.trim().is_empty());
    let path = text_of(object, "path", MAX_IDENTIFIER_CHARS)?;
    let line_text = text_of(object, "line_text", MAX_QUESTION_CHARS)?;
    let symbol = text_of(object, "symbol", MAX_IDENTIFIER_CHARS)?;
    if path.is_none() && (line_text.is_some() || symbol.is_some()) {
        return Err("it has a 'line_text' or 'symbol' but no 'path' of the file".to_owned());
    }
    Ok(Question {
        id,
        question: question.ok_or("it has no 'question'")?,
        kind: text_of(object, "kind", MAX_IDENTIFIER_CHARS)?.unwrap_or_else(|| NO_KIND.to_owned()),
        gold: gold(object)?,
        path,
        line_text,
        symbol,
    })
}

/// The expected sources, each once.
fn gold(object: &Map<String, Value>) -> Result<Vec<String>, String> {
    let none = "it has no 'gold'; write [] if nothing answers it";
    let Value::Array(list) = object.get("gold").ok_or(none)? else { return Err("'gold' is not a list".to_owned()) };
    if list.len() > MAX_EXPECTED {
        return Err(format!("it expects {} sources; at most {MAX_EXPECTED} are looked for", list.len()));
    }
    let mut gold = Vec::with_capacity(list.len());
    for source in list {
        let source = source.as_str().ok_or_else(|| format!("'gold' has a value that is not a string; {QUOTES}"))?;
        check_length("a source", source, MAX_IDENTIFIER_CHARS)?;
        let source = source.trim().to_owned();
        // Which project it is of does not matter for whether it is one.
        let anywhere = ReferenceContext { forge: Forge::GitLab, project: "project", forge_url: "" };
        Source::parse(&source, anywhere).map_err(|error| error.to_string())?;
        if !gold.contains(&source) {
            gold.push(source);
        }
    }
    Ok(gold)
}

fn text_of(object: &Map<String, Value>, key: &str, longest: usize) -> Result<Option<String>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            check_length(&format!("'{key}'"), text, longest)?;
            Ok(Some(text.clone()))
        }
        Some(_) => Err(format!("'{key}' is not a string")),
    }
}

fn check_length(what: &str, text: &str, longest: usize) -> Result<(), String> {
    let length = text.chars().count();
    if length > longest {
        return Err(format!("{what} has {length} characters; at most {longest} are allowed"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::eval::{Metric, Retriever};

    const YAML: &str = r##"
# What the team once asked.
project: acme/shop
bounds:
  fused: { mrr: 0.5, recall@10: 0.75 }
  refusal: { recall: 0.8, false: 0.1 }
questions:
  - id: q1
    question: Why Redis?
    kind: why
    gold: ["#3", 'pr:1']
    answer: it survives a restart
  - id: 2
    question: Who chose the moon?
    gold: []
"##;

    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = parse_questions(YAML).unwrap();
        let json = r##"{"project": "acme/shop",
            "bounds": {"fused": {"mrr": 0.5, "recall@10": 0.75}, "refusal": {"recall": 0.8, "false": 0.1}},
            "questions": [
                {"id": "q1", "question": "Why Redis?", "kind": "why", "gold": ["#3", "pr:1"], "gold_primary": "#3"},
                {"id": 2, "question": "Who chose the moon?", "gold": [], "path": null}]}"##;
        assert_eq!(yaml, parse_questions(json).unwrap());
        assert_eq!(yaml.bounds.legs[&Retriever::Fused][&Metric::Recall10], 0.75);
        assert_eq!(
            yaml.questions[1],
            Question {
                id: "2".into(),
                question: "Who chose the moon?".into(),
                kind: "other".into(),
                ..Question::default()
            }
        );
        let list = parse_questions(r#"- {question: a, gold: [x]}"#).unwrap();
        assert_eq!((list.questions[0].id.as_str(), list.project), ("1", None));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let wrong = |text: &str| parse_questions(text).unwrap_err();
        assert_eq!(wrong("7"), "it is neither a list of questions nor an object with 'questions'");
        assert_eq!(wrong("[]"), "it has no questions");
        assert_eq!(wrong("project: x"), "it has no 'questions'; give it a list of them, or be that list");
        assert_eq!(wrong(r#"[{"id": "a", "gold": []}]"#), "question a: it has no 'question'");
        assert_eq!(
            wrong("- {question: q, gold: [a]}\n- {question: q}"),
            "question 2: it has no 'gold'; write [] if nothing answers it"
        );
        for source in ["#12", "12"] {
            let text = format!("- id: x\n  question: q\n  gold:\n  - {source}\n");
            let expected = "question x: 'gold' has a value that is not a string; YAML wants quotes around \"#12\", \"!7\" and \"@1a2b3c4\"";
            assert_eq!(wrong(&text), expected, "{source}");
        }
        for source in ["!7", "@1a2b3c4"] {
            let wrong = wrong(&format!("- {{question: q, gold: [{source}]}}"));
            assert!(wrong.starts_with("it is not valid YAML: ") && wrong.ends_with(QUOTES), "{wrong}");
        }
        assert_eq!(
            wrong("- {id: a, question: q, gold: []}\n- {id: a, question: r, gold: []}"),
            "question a: another question has this id"
        );
        assert_eq!(
            wrong("- {question: q, gold: [], symbol: f}"),
            "question 1: it has a 'line_text' or 'symbol' but no 'path' of the file"
        );
        assert!(wrong("[{").starts_with("it is not valid JSON: EOF while parsing"), "{}", wrong("[{"));
        assert!(wrong("a: [").starts_with("it is not valid YAML: "), "{}", wrong("a: ["));
        let many = format!("[{}]", vec![r#"{"question":"q","gold":[]}"#; MAX_QUESTIONS + 1].join(","));
        assert_eq!(wrong(&many), "it has 2001 questions; at most 2000 are read");
        assert_eq!(wrong(&" ".repeat(MAX_FILE + 1)), "it has 4194305 bytes; at most 4194304 are read");
    }

    #[test]
    fn aliases_cannot_make_it_grow_without_end() {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for n in 1..12 {
            text.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(",")));
        }
        assert!(parse_questions(&text).unwrap_err().starts_with("it is not valid YAML: "));
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC{0,80}") {
            let _ = parse_questions(&text);
        }

        #[test]
        fn pieces_of_a_file_never_panic(from in 0usize..400, to in 0usize..400) {
            let text: String = YAML.chars().skip(from).take(to).collect();
            let _ = parse_questions(&text);
        }
    }
}
