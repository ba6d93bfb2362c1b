//! Says which conditions of a search that found nothing are not met, and what there is instead. Authors and labels are told by `names`.

use std::collections::{BTreeSet, HashSet};

use backstory_model::{
    entity::State,
    filter::{DocumentKind, Filter},
    language::Language,
    text::truncate_echo,
};
use backstory_store::index::{Index, ProjectScope};

use super::{
    SearchRequest,
    paths::{MAX_PATHS, describe_absent_prefixes},
    prepared_filter::PreparedFilter,
    request::NOTHING,
};
use crate::{
    error::{Result, message},
    resources::Resources,
};

/// Languages and nodes that are looked for: each takes some milliseconds.
const MAX_LOOKED_FOR: usize = 10;

/// What a request asks for in words of its own: its filter then has files for code, and nodes for tags.
pub(super) struct AskedConditions {
    kinds: Vec<DocumentKind>,
    tags: Vec<String>,
}

impl AskedConditions {
    pub(super) fn of(request: &SearchRequest) -> Self {
        Self { kinds: request.filter.kinds.clone(), tags: request.tags.clone() }
    }
}

/// Says, where nothing was found, which paths, kinds, states, languages, nodes and tags nothing has and what there is instead,
/// or that nothing meets all conditions together. Without `asked` the filter is that of a context pack, which nobody wrote
/// so, and only paths are told.
///
/// # Errors
/// The work was cancelled.
pub(super) async fn describe_unmet(
    resources: &Resources,
    asked: Option<AskedConditions>,
    filter: &Filter,
) -> Result<Vec<String>> {
    if *filter == Filter::default() {
        return Ok(Vec::new());
    }
    let filter = filter.clone();
    resources
        .blocking(move |resources| {
            let index = resources.index();
            if index.coverage_of(ProjectScope::of(&filter)).documents == 0 {
                return Ok(Vec::new());
            }
            let mut told = describe_absent_prefixes(&index, &filter);
            let Some(asked) = asked else { return Ok(told) };
            told.extend(describe_kinds(&index, &filter, &asked.kinds));
            told.extend(describe_state(&index, &filter));
            told.extend(describe_languages(&index, &filter));
            told.extend(describe_nodes(&index, &filter, &asked.tags));
            let has_names = !filter.authors.is_empty() || !filter.labels.is_empty();
            if told.is_empty() && !has_names && !has_any(&index, &filter) {
                told.push("nothing meets all conditions of this search together".to_owned());
            }
            Ok(told)
        })
        .await
}

/// Whether anything meets a filter.
fn has_any(index: &Index, filter: &Filter) -> bool {
    let filter = PreparedFilter::of(filter);
    index.has_any(|id, facts| filter.is_met_by(id, facts))
}

/// A filter with nothing but the projects of another one.
fn of_projects(filter: &Filter) -> Filter {
    let Filter { project, projects, .. } = filter.clone();
    Filter { project, projects, ..Filter::default() }
}

/// What there is, if no document is of the kinds that are asked for.
fn describe_kinds(index: &Index, filter: &Filter, asked: &[DocumentKind]) -> Option<String> {
    let coverage = index.coverage_of(ProjectScope::of(filter));
    let there: Vec<DocumentKind> = coverage.by_kind.iter().map(|of| of.kind).collect();
    // A search for code finds files without definitions, too.
    let is_there = |kind: &DocumentKind| {
        there.contains(kind) || *kind == DocumentKind::Code && there.contains(&DocumentKind::File)
    };
    if asked.is_empty() || asked.iter().any(is_there) {
        return None;
    }
    let named = |kinds: &[DocumentKind], word: &str| {
        let names: Vec<&str> = kinds.iter().map(|kind| plural(*kind)).collect();
        join(&names, word)
    };
    Some(format!("there are no {}; there are {}", named(asked, "or"), named(&there, "and")))
}

/// What documents of a kind are called.
fn plural(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Issue => "issues",
        DocumentKind::MergeRequest => "merge requests",
        DocumentKind::Discussion => "discussions",
        DocumentKind::Commit => "commits",
        DocumentKind::File => "files",
        DocumentKind::Code => "definitions of code",
        DocumentKind::Section => "sections of documents",
    }
}

/// The states that there are, if nothing is in the one that is asked for.
fn describe_state(index: &Index, filter: &Filter) -> Option<String> {
    let asked = filter.state?;
    let is_there = |state: State| has_any(index, &Filter { state: Some(state), ..of_projects(filter) });
    if is_there(asked) {
        return None;
    }
    let there = State::ALL.into_iter().filter(|state| is_there(*state)).map(State::as_str);
    let there: Vec<&str> = there.collect();
    let others = match there.as_slice() {
        [] => "no issue or merge request is indexed".to_owned(),
        some => format!("there are {}", join(some, "and")),
    };
    Some(format!("nothing has the state {}; {others}", asked.as_str()))
}

/// Of each language that no file has which ones there are.
fn describe_languages(index: &Index, filter: &Filter) -> Option<String> {
    let asked: BTreeSet<Language> = filter.languages.iter().filter_map(|name| Language::from_name(name)).collect();
    let is_absent = |language: &Language| {
        !has_any(index, &Filter { languages: vec![language.name().to_owned()], ..of_projects(filter) })
    };
    let absent: Vec<&str> = asked.into_iter().take(MAX_LOOKED_FOR).filter(is_absent).map(Language::name).collect();
    if absent.is_empty() {
        return None;
    }
    let paths = index.known_paths(ProjectScope::of(filter), MAX_PATHS);
    let extensions: HashSet<&str> =
        paths.iter().filter_map(|path| path.rsplit_once('.')).map(|(_, extension)| extension).collect();
    let is_there = |language: &Language| language.extensions().iter().any(|own| extensions.contains(own));
    let there: Vec<&str> = Language::ALL.into_iter().filter(is_there).map(Language::name).collect();
    let others = if there.is_empty() { String::new() } else { format!("; there are files in {}", join(&there, "and")) };
    Some(format!("no file is in {}{others}", join(&absent, "or")))
}

/// Of each node of which nothing is indexed that it is so, and of tags that nothing has.
fn describe_nodes(index: &Index, filter: &Filter, tags: &[String]) -> Vec<String> {
    if filter.nodes == [NOTHING] {
        let tags: Vec<String> = tags.iter().map(|tag| format!("'{}'", truncate_echo(tag))).collect();
        let (tag, all) = if tags.len() == 1 { ("tag", "") } else { ("tags", "all of ") };
        let of_nodes = "nothing that is searched has an annotation with";
        return vec![message(&format!("{of_nodes} {all}the {tag} {}", tags.join(", ")))];
    }
    let is_absent = |node: &&String| index.documents_of(&[(node.as_str(), 0)], 1, |_, _| true).1 == 0;
    let absent = filter.nodes.iter().take(MAX_LOOKED_FOR).filter(is_absent);
    absent.map(|node| message(&format!("nothing is indexed of {}", truncate_echo(node)))).collect()
}

/// `issues, commits and files`
fn join(names: &[&str], word: &str) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined_as_in_a_sentence() {
        let joined = |names: &[&str]| join(names, "and");
        assert_eq!((joined(&[]), joined(&["Go"])), (String::new(), "Go".to_owned()));
        assert_eq!(joined(&["Go", "Bash", "Rust"]), "Go, Bash and Rust");
    }
}
