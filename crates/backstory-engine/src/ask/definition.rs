//! Questions about what a function or type is for: its own doc comment comes first as an answer. And questions where one is
//! defined, which the definitions that lead a search answer.

use std::sync::LazyLock;

use backstory_model::{
    answer::{Answer, Method, Statement},
    change_question::ChangeQuestion,
    code::{Lines, name_without_count},
    filter::{DocumentKind, Filter},
    id::NodeId,
    place::format_place,
    question::is_stop_word,
};
use regex::Regex;

use super::facts::find_change_facts;
use crate::{
    citations::{date_by_lines, document_of_file},
    code::read_definition,
    error::Result,
    resources::Resources,
    search::{
        Definition,
        definitions::{Definitions, NameMatch, find_definitions},
        symbols::{name_defined, symbols},
    },
};

/// Definitions that are read for a question.
const MAX_DEFINITIONS: usize = 3;
/// Most bytes of the line of a definition that is quoted.
const MAX_LINE: usize = 300;

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

/// Whether a filter lets code through.
fn lets_code_through(filter: &Filter) -> bool {
    filter.kinds.is_empty() || filter.kinds.contains(&DocumentKind::Code)
}

/// The definitions that a question asks the purpose of, of those that a filter lets through.
pub(super) async fn definitions_asked(
    resources: &Resources,
    question: &str,
    filter: &Filter,
) -> Result<Vec<Definition>> {
    let mut found = Vec::new();
    if !lets_code_through(filter) {
        return Ok(found);
    }
    for name in names(question) {
        let defined = find_definitions(resources, name, filter).await?;
        // What is only named like it may be something else.
        if defined.name_match == NameMatch::Exact {
            found.extend(defined.first);
        }
    }
    found.truncate(MAX_DEFINITIONS);
    Ok(found)
}

/// Answers where something is defined, by the definitions that lead a search, or by what removed it; `None` if that is not
/// asked, or nothing has or had the name as it is written.
///
/// # Errors
/// A store failed.
pub(super) async fn answer_place(resources: &Resources, question: &str, filter: &Filter) -> Result<Option<Answer>> {
    let Some(name) = name_defined(question).filter(|_| lets_code_through(filter)) else { return Ok(None) };
    let Definitions { first, others, name_match } = find_definitions(resources, name, filter).await?;
    if first.is_empty() || name_match != NameMatch::Exact {
        return answer_removed_place(resources, question, name, filter).await;
    }
    let (question, name) = (question.to_owned(), name.to_owned());
    resources
        .blocking(move |resources| {
            let mut answer = Answer { question, confidence: 1.0, method: Method::Facts, ..Answer::default() };
            for definition in &first {
                add_definition(resources, &definition.id, &mut answer)?;
            }
            answer.answered = !answer.statements.is_empty();
            date_by_lines(resources, &mut answer.citations)?;
            if others > 0 {
                answer.warnings.push(format!("besides these there are {others} definitions of '{name}'"));
            }
            Ok(Some(answer).filter(|answer| answer.answered))
        })
        .await
}

/// Answers where something was defined, if a commit removed it.
async fn answer_removed_place(
    resources: &Resources,
    question: &str,
    name: &str,
    filter: &Filter,
) -> Result<Option<Answer>> {
    let Some(change) = ChangeQuestion::parse(&format!("When was `{name}` removed?")) else { return Ok(None) };
    if !change.is_code {
        return Ok(None);
    }
    let answer = find_change_facts(resources, question, &change, filter).await?.answer;
    Ok(answer.map(|mut answer| {
        answer.warnings.push(format!("nothing is named {name} now"));
        answer
    }))
}

/// Adds to an answer where a definition is, with the line that names it. One that is gone since it was indexed is left out.
fn add_definition(resources: &Resources, id: &NodeId, answer: &mut Answer) -> Result<()> {
    let NodeId::Entity { project, path, name } = id else { return Ok(()) };
    let Some(entity) = read_definition(resources, project, path, name)? else { return Ok(()) };
    let document = match document_of_file(resources, project, path, None) {
        Ok(Some(document)) => document,
        Ok(None) => return Ok(()),
        Err(error) => {
            tracing::warn!(%id, %error, "a definition cannot be quoted");
            return Ok(());
        }
    };
    let line = document.bytes_of((entity.name_line, entity.name_line));
    let text = document.text[line.clone()].trim_start();
    if text.is_empty() {
        return Ok(());
    }
    let start = line.end - text.len();
    let number = u32::try_from(answer.citations.len() + 1).unwrap_or(u32::MAX);
    answer.citations.push(document.cite(number, start..start + text.floor_char_boundary(MAX_LINE)));
    let Lines { first, last } = entity.lines;
    let place = format_place(path, Some((first, last)));
    let text = format!("{} is defined in {place}.", name_without_count(name));
    answer.statements.push(Statement { text, citations: vec![number] });
    Ok(())
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
