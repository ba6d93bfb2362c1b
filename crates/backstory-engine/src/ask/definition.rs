//! Questions about what a function or type is for: its own doc comment comes first as an answer.

use std::sync::LazyLock;

use backstory_model::{
    filter::{DocumentKind, Filter},
    question::is_stop_word,
};
use regex::Regex;

use crate::{
    resources::Resources,
    search::{Definition, definitions::find_definitions, symbols},
};

/// Definitions that are read for a question.
const MAX_DEFINITIONS: usize = 3;

/// `What does total do?`, where the name need not look like one of code.
static WHAT_DOES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^\s*(?:what does|what do|how does|how do)\s+(?:the\s+)?(?:(?P<kind>function|method|class|type|struct|macro|interface|trait)\s+)?`?(?P<name>[a-z_$][\w$.:]*)`?(?:\(\))?\s+(?:do|return|mean|compute|work|stand for|give)\b",
    )
    .expect("the pattern is constant")
});
/// `What is load_session for?`, `Explain load_session`: only a name that looks like one of code is meant.
static WHAT_IS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:what(?:'s| is| are| does| do)|how does|how do|explain|describe)\b")
        .expect("the pattern is constant")
});

/// The names of code that a question asks the purpose of.
fn names(question: &str) -> Vec<&str> {
    if !WHAT_IS.is_match(question) {
        return vec![];
    }
    let mut names = symbols(question);
    if names.is_empty() {
        let name = WHAT_DOES.captures(question).and_then(|found| found.name("name"));
        names.extend(name.map(|name| name.as_str()).filter(|name| !is_stop_word(&name.to_lowercase())));
    }
    names
}

/// The word for what is asked about, as in `What does the method Start do?`: a definition seldom says it of itself.
pub(super) fn kind_word(question: &str) -> Option<&str> {
    WHAT_DOES.captures(question)?.name("kind").map(|kind| kind.as_str())
}

/// The definitions that a question asks the purpose of, of those that a filter lets through.
pub(super) fn definitions_asked(resources: &Resources, question: &str, filter: &Filter) -> Vec<Definition> {
    if !filter.kinds.is_empty() && !filter.kinds.contains(&DocumentKind::Code) {
        return Vec::new();
    }
    let defined = names(question).into_iter().map(|name| find_definitions(resources, name, filter));
    // What is only spelled like it may be something else.
    let found = defined.filter(|defined| !defined.is_respelled).flat_map(|defined| defined.first);
    found.take(MAX_DEFINITIONS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_code_is_for_is_asked_by_its_name() {
        for (question, expected) in [
            ("What does Server.Start do?", vec!["Server.Start"]),
            ("what does the function total return?", vec!["total"]),
            ("Explain load_session", vec!["load_session"]),
            ("What is `load` for?", vec!["load"]),
            ("What is Redis?", vec![]),
            ("Why does Server.Start return early?", vec![]),
            ("What does the team do about flaky tests?", vec!["team"]),
        ] {
            assert_eq!(names(question), expected, "{question}");
        }
        assert_eq!(kind_word("What does the method Server.Start do?"), Some("method"));
        assert_eq!(kind_word("What does the method do about errors?"), None);
    }
}
