//! The code of a context pack at the indexed head, which commit wrote it, and what tests it.

use std::{collections::HashMap, sync::Arc};

use backstory_model::{
    commit::{RepoPath, Sha},
    edge::Edge,
    filter::DocumentKind,
    id::NodeId,
    message,
    pack::{CodeContext, ContextPack, PackSources, QuestionTerms, RelatedTest, chunk::split_text},
    time::utc_date,
};
use backstory_store::graph::Direction;

use super::{
    evidence::{Evidence, short_reference},
    quoted,
};
use crate::{
    clones::{MAX_TEXT, clean_text, open_objects},
    error::Result,
    introduction::merge_requests_introducing,
    records::commit_record,
    resources::Resources,
    snapshot::IndexState,
    trace::{
        Revision,
        target::{origins_at, resolve_place},
    },
};

/// Pieces of code that may be shown.
const MAX_CODE: usize = 8;
/// Most lines that are shown whole; of more the part that matters.
const MAX_LINES: u32 = 60;
/// Lines that are shown around those that were asked about.
const AROUND: u32 = 3;
/// Tests that may be named.
const MAX_TESTS: usize = 20;
/// Words of a commit's reason in an explanation.
const REASON: usize = 60;

/// Files of repositories at a commit, each read once.
pub(super) struct Files<'a> {
    resources: &'a Resources,
    state: &'a IndexState,
    texts: HashMap<(Sha, String), Option<Arc<str>>>,
    places: HashMap<String, Option<Revision>>,
}

impl<'a> Files<'a> {
    pub(super) fn new(resources: &'a Resources, state: &'a IndexState) -> Self {
        Self { resources, state, texts: HashMap::new(), places: HashMap::new() }
    }

    /// The indexed commit of a project.
    pub(super) fn head(&self, project: &str) -> Option<Sha> {
        self.state.commits.get(project)?.parse().ok()
    }

    /// Lines of a file at a commit, without secrets; `None` if they cannot be read or told.
    pub(super) fn lines(&mut self, project: &str, commit: Sha, path: &str, lines: (u32, u32)) -> Option<String> {
        let key = (commit, path.to_owned());
        let resources = self.resources;
        let text = self.texts.entry(key).or_insert_with(|| text_at(resources, project, commit, path)).clone()?;
        Some(lines_of(&text, lines))
    }

    fn place(&mut self, project: &str) -> Option<&Revision> {
        let resources = self.resources;
        let commit = self.state.commits.get(project).filter(|_| resources.state().is_some());
        self.places
            .entry(project.to_owned())
            .or_insert_with(|| resolve_place(resources, Some(project), commit.map(String::as_str)).ok())
            .as_ref()
    }
}

/// Lines of a text, their ends as everywhere.
pub(super) fn lines_of(text: &str, (first, last): (u32, u32)) -> String {
    let before = first.saturating_sub(1) as usize;
    let count = (last.saturating_sub(first) + 1) as usize;
    let lines: Vec<&str> = text.lines().skip(before).take(count).collect();
    lines.join("\n")
}

/// The text of a file at a commit, without the secrets in it.
pub(super) fn text_at(resources: &Resources, project: &str, commit: Sha, path: &str) -> Option<Arc<str>> {
    let objects = open_objects(resources, project).ok()?;
    let bytes = objects.file(commit, &RepoPath::from_escaped(path), MAX_TEXT).ok()?;
    Some(clean_text(resources, &bytes).into())
}

pub(super) fn code_context(
    resources: &Resources,
    evidence: &Evidence,
    files: &mut Files<'_>,
) -> Result<Vec<CodeContext>> {
    let mut code: Vec<CodeContext> = Vec::new();
    code.extend(asked_code(resources, evidence, files)?);
    for found in evidence.found.iter().filter(|found| found.is_of_file()) {
        if code.len() == MAX_CODE {
            break;
        }
        let document = &found.document;
        let (Some(path), Some(lines)) = (&document.path, document.lines) else { continue };
        let project = &document.facts.project;
        // A file says where it is; what is in it stands in its parts.
        let kind = document.facts.kind;
        let covers = |known: &CodeContext| {
            known.path == *path && known.repository == **project && known.lines.0 <= lines.1 && lines.0 <= known.lines.1
        };
        if code.iter().any(covers) {
            continue;
        }
        let Some(commit) = files.head(project) else { continue };
        let Some(text) = files.lines(project, commit, path, lines) else { continue };
        let (lines, snippet) = part_of(&text, lines, &evidence.terms);
        if snippet.is_empty() {
            continue;
        }
        let (explanation, mut sources) =
            written_by(resources, project, path, &Excerpt { asked: lines, is_part: false }, files)?;
        sources.files.push(path.clone());
        let entity = (kind != DocumentKind::File).then(|| document.title.clone());
        let (repository, commit) = (project.to_string(), commit.to_string());
        code.push(CodeContext { path: path.clone(), entity, lines, repository, commit, snippet, explanation, sources });
    }
    Ok(code)
}

/// The code that the question is about.
fn asked_code(resources: &Resources, evidence: &Evidence, files: &mut Files<'_>) -> Result<Option<CodeContext>> {
    let Some(trace) = &evidence.trace else { return Ok(None) };
    let (Some(path), Some(commit), Some(first), Some(last)) = (&trace.path, trace.rev, trace.line, trace.end_line)
    else {
        return Ok(None);
    };
    let wanted = (first.saturating_sub(AROUND).max(1), last + AROUND);
    let Some(text) = files.lines(&trace.project, commit, path, wanted) else { return Ok(None) };
    let wanted = (wanted.0, wanted.0 + u32::try_from(text.lines().count()).unwrap_or(1).max(1) - 1);
    let (lines, snippet) = if wanted.1 - wanted.0 < MAX_LINES {
        (wanted, text)
    } else {
        // Of many lines the first: they say what it is.
        let kept = (wanted.0, wanted.0 + MAX_LINES - 1);
        (kept, text.lines().take(MAX_LINES as usize).collect::<Vec<_>>().join("\n"))
    };
    let shown = Excerpt { asked: (first, last), is_part: lines != (first, last) };
    let (explanation, mut sources) = match evidence.at_head {
        true => written_by(resources, &trace.project, path, &shown, files)?,
        false => Default::default(),
    };
    sources.files.push(path.clone());
    Ok(Some(CodeContext {
        path: path.clone(),
        entity: trace.symbol.clone(),
        lines,
        repository: trace.project.clone(),
        commit: commit.to_string(),
        snippet,
        explanation,
        sources,
    }))
}

/// Lines of code that are explained.
struct Excerpt {
    /// First and last of them.
    asked: (u32, u32),
    /// Whether they are shown with lines around them, which others may have written.
    is_part: bool,
}

/// Which commit wrote most of the lines, what carried it, and why.
fn written_by(
    resources: &Resources,
    project: &str,
    path: &str,
    excerpt: &Excerpt,
    files: &mut Files<'_>,
) -> Result<(String, PackSources)> {
    let (first, last) = excerpt.asked;
    let nothing = || ("It is not known which commit wrote it.".to_owned(), PackSources::default());
    let Some(place) = files.place(project) else { return Ok(nothing()) };
    // A file whose lines are not traced has no explanation, and is no reason to fail.
    let Ok((_, origins)) = origins_at(resources, place, path, (first, last)) else { return Ok(nothing()) };
    let mut shares: HashMap<Sha, u32> = HashMap::new();
    for origin in origins {
        *shares.entry(origin.source.commit).or_default() += origin.lines;
    }
    let total: u32 = shares.values().sum();
    let others = shares.len().saturating_sub(1);
    let Some((sha, lines)) = shares.into_iter().max_by_key(|(sha, lines)| (*lines, *sha)) else {
        return Ok(nothing());
    };
    let Some(record) = commit_record(resources, project, &sha.to_string())? else { return Ok(nothing()) };
    let commit = &record.commit;
    let reference = short_reference(&NodeId::commit(project, &sha.to_string()).to_string());
    let mut sources = PackSources {
        commits: vec![reference.clone()],
        authors: vec![commit.author.name.clone()],
        ..PackSources::default()
    };
    let mut text = match (others, excerpt.is_part) {
        (0, false) => "Written".to_owned(),
        (0, true) if first == last => format!("Line {first} was written"),
        (0, true) => format!("Lines {first}-{last} were written"),
        (_, false) => format!("{lines} of {total} lines were written"),
        (_, true) => format!("{lines} of the {total} lines {first}-{last} were written"),
    };
    text.push_str(&format!(
        " by {}, {}, in {reference} “{}”",
        commit.author.name,
        utc_date(commit.author.at),
        commit.title()
    ));
    if let Some(carrier) = merge_requests_introducing(resources, project, sha)?.into_iter().next() {
        text.push_str(&format!(", merged in {}", carrier.id));
        sources.items.push(carrier.id.to_string());
    }
    match others {
        0 => text.push('.'),
        1 => text.push_str("; 1 other commit wrote the rest."),
        many => text.push_str(&format!("; {many} other commits wrote the rest.")),
    }
    if let Some(reason) = message::design_notes(&commit.message).first() {
        text.push_str(&format!(" Its reason: “{}”", quoted(&reason.text, REASON)));
    }
    Ok((text, sources))
}

/// The tests of the code that is shown.
pub(super) fn related_tests(resources: &Resources, pack: &ContextPack) -> Result<Vec<RelatedTest>> {
    let graph = resources.graph();
    let mut tests: Vec<RelatedTest> = Vec::new();
    let mut by_file = Vec::new();
    for code in &pack.code_context {
        let file = NodeId::file(&code.repository, code.path.as_str());
        let entity = code.entity.as_ref().map(|name| NodeId::entity(&code.repository, code.path.as_str(), name));
        for (of, name) in entity.iter().zip(&code.entity) {
            for end in graph.edges(of, Direction::Out, Some(Edge::VerifiedBy))? {
                let NodeId::Entity { path, name: test, .. } = end.other else { continue };
                tests.push(test_of(path, Some(test), format!("a test that calls {name} of {}", code.path)));
            }
        }
        for end in graph.edges(&file, Direction::Out, Some(Edge::VerifiedBy))? {
            let NodeId::File { path, .. } = end.other else { continue };
            by_file.push(test_of(path, None, format!("tests {}, as its name and place tell", code.path)));
        }
    }
    tests.extend(by_file);
    if let Some(project) = pack.code_context.first().map(|code| &code.repository).filter(|_| resources.has_view()) {
        // The graph is that of the current state.
        let index = resources.index();
        tests.retain(|test| !index.facts([&*NodeId::file(project, test.path.as_str()).to_string()]).is_empty());
    }
    let mut seen = std::collections::BTreeSet::new();
    tests.retain(|test| seen.insert((test.path.clone(), test.name.clone())));
    tests.truncate(MAX_TESTS);
    Ok(tests)
}

fn test_of(path: String, name: Option<String>, description: String) -> RelatedTest {
    let sources = PackSources { files: vec![path.clone()], ..PackSources::default() };
    RelatedTest { path, name, description, sources }
}

/// The part of lines that shares most words with the question; all of them if they are few.
fn part_of(text: &str, (first, last): (u32, u32), terms: &QuestionTerms) -> ((u32, u32), String) {
    if last.saturating_sub(first) < MAX_LINES {
        let count = u32::try_from(text.lines().count()).unwrap_or(1).max(1);
        return ((first, first + count - 1), text.trim_end().to_owned());
    }
    let pieces = split_text(text);
    let best = pieces.iter().rev().max_by_key(|piece| terms.count_matches(&piece.text));
    let Some(best) = best else { return ((first, first), String::new()) };
    ((first + best.lines.0 - 1, first + best.lines.1 - 1), best.text.clone())
}
