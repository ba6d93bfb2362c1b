//! The facts about a change that a question asks for: the commit or merge request that made it, who wrote it, when, and the
//! first release that has it.
//!
//! A function, type or file has its history in the graph, which `candidates` and `modules` read. A parameter, field or constant
//! (`members`, `values`) has one in that of its file, by what the `versions` of it declare (`declared`). Of anything else the
//! commits, merge requests and changelogs that begin a sentence with it tell: `candidates` and `changelog` (`labels`) find those,
//! without removals that left some of it (`leftovers`).

mod candidates;
mod changelog;
mod declared;
mod labels;
mod leftovers;
mod members;
mod modules;
mod values;
mod versions;

use backstory_model::{
    answer::{Answer, Citation, Method, Statement},
    change_question::{ChangeDirection, ChangeFact, ChangeQuestion, StatedFit},
    commit::Sha,
    edge::Edge,
    entity::{Item, ItemKind},
    filter::Filter,
    id::NodeId,
    time::utc_date,
};
use backstory_store::graph::Direction;
use jiff::Timestamp;

use crate::{
    citations::{CitedDocument, cited_document, date_by_lines},
    decision_status::decision_status,
    error::Result,
    introduction::merge_requests_introducing,
    read::item_of_node,
    records::commit_record,
    releases::{find_release, first_release},
    resources::Resources,
};
use candidates::{changes_of_code, changes_told_by};
use changelog::{ChangelogLine, find_changelog_line};
use leftovers::{MAX_SOURCES, source_with_rest};
use members::{changes_of_member, changes_of_parameter};
use modules::{changes_of_file, changes_of_modules, find_modules};

/// Most changes that an answer tells: functions of one name may have come in several commits.
const MAX_TOLD: usize = 3;

/// What is known of a change that is asked about.
#[derive(Debug, Default)]
pub(super) struct ChangeFacts {
    /// The answer; `None` if the facts are not there.
    pub(super) answer: Option<Answer>,
    /// That nothing tells of it, if so.
    pub(super) absence: Option<String>,
    /// Whether it is known not to have happened: what was removed is there. What texts say is about something else then.
    pub(super) is_refuted: bool,
    /// What a changelog says of it, where that does not answer.
    pub(super) noted: Option<String>,
    /// What else was looked for and not found, a sentence each.
    pub(super) missing: Vec<String>,
}

/// A commit or merge request that made a change.
#[derive(Clone, Debug)]
struct MadeChange {
    /// The commit or merge request.
    node: NodeId,
    /// Where the change is: a path, or a path and the name of a symbol.
    place: Option<String>,
    /// What it says of the change; its title if absent.
    sentence: Option<String>,
    /// The commit that removed what was added, if it is gone.
    removal: Option<NodeId>,
}

/// Finds the facts that a question asks for.
///
/// # Errors
/// A store failed.
pub(super) async fn find_change_facts(
    resources: &Resources,
    question: &str,
    change: &ChangeQuestion,
    filter: &Filter,
) -> Result<ChangeFacts> {
    let mut missing = Vec::new();
    let made = find_made_changes(resources, change, filter, &mut missing).await?;
    if made.is_empty()
        && !is_kept(change, &missing)
        && let Some(line) = find_changelog_line(resources, change, filter).await?
    {
        let (question, change) = (question.to_owned(), change.clone());
        return resources.blocking(move |resources| answer_by_changelog(resources, question, &change, line)).await;
    }
    if made.is_empty() {
        // What is still there was not removed, whatever texts say of parts of it.
        let absence = match missing.is_empty() {
            true => Some(describe_absence(resources, change, filter).await?),
            false => None,
        };
        let is_refuted = is_kept(change, &missing);
        return Ok(ChangeFacts { absence, is_refuted, missing, ..ChangeFacts::default() });
    }
    let (question, change) = (question.to_owned(), change.clone());
    resources
        .blocking(move |resources| {
            let mut answer = Answer { question, confidence: 1.0, method: Method::Facts, ..Answer::default() };
            for one in &made {
                match describe_change(resources, &change, one, &mut answer.citations)? {
                    Description::Told(statement) => answer.statements.push(statement),
                    Description::Missing(sentence) => missing.push(sentence),
                    Description::Nothing => {}
                }
            }
            answer.answered = !answer.statements.is_empty();
            if !answer.answered {
                return Ok(ChangeFacts { missing, ..ChangeFacts::default() });
            }
            answer.warnings.append(&mut missing);
            date_by_lines(resources, &mut answer.citations)?;
            answer.standing = decision_status(resources, &made[0].node)?;
            Ok(ChangeFacts { answer: Some(answer), ..ChangeFacts::default() })
        })
        .await
}

/// Says that nothing tells of a change. What tells of a part of it, or of it elsewhere, is named: it may be what is meant.
async fn describe_absence(resources: &Resources, change: &ChangeQuestion, filter: &Filter) -> Result<String> {
    let elsewhere = change.without_context();
    let fits = &[StatedFit::Same, StatedFit::Named, StatedFit::Part];
    let nearest = changes_told_by(resources, &elsewhere, filter, fits).await?;
    let elsewhere = if change.elsewhere.is_empty() { String::new() } else { format!(" {}", change.elsewhere) };
    let said = format!("'{}' was {}{elsewhere}", change.told, change.direction.verb());
    let change = change.clone();
    resources
        .blocking(move |resources| {
            let says = "no commit, merge request or changelog says in so many words";
            let Some(made) = nearest.into_iter().next() else { return Ok(format!("{says} that {said}")) };
            let place = match cited_document(resources, &made.node, None)? {
                Some(document) => location(&made.node, &cite_sentence(&document, None)),
                None => made.node.to_string(),
            };
            let mut left = MAX_SOURCES;
            Ok(match source_with_rest(resources, &change, &made, &mut left)? {
                Some(path) => format!("nothing says that {said} everywhere: {path} still had it after {place}"),
                None => format!("{says} that {said}; the nearest is {place}"),
            })
        })
        .await
}

/// What a changelog says of a change together with its reason, if it gives one.
///
/// # Errors
/// A store failed.
pub(super) async fn find_changelog_reason(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
) -> Result<Option<Citation>> {
    Ok(find_changelog_line(resources, change, filter).await?.and_then(|line| line.reason))
}

/// The commits and merge requests that made a change of a project, if nothing else narrows what is asked, the one that is
/// asked for first; and what the reader must know of them, as that what was removed is there again.
///
/// # Errors
/// A store failed.
pub(super) async fn find_nodes_of_change(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
) -> Result<(Vec<NodeId>, Vec<String>)> {
    let mut said = Vec::new();
    if !filter.is_of_projects_alone() {
        return Ok((Vec::new(), said));
    }
    let made = find_made_changes(resources, change, filter, &mut said).await?;
    Ok((made.into_iter().map(|made| made.node).collect(), said))
}

/// The changes that a question asks about, at most [`MAX_TOLD`], the one that is asked for first.
async fn find_made_changes(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let modules = find_modules(resources, change, filter).await?;
    if !modules.is_empty() {
        return changes_of_modules(resources, change, &modules, missing).await;
    }
    let mut made = Vec::new();
    let is_parameter = change.parameter.is_some();
    // A name with a capital may be one of code; a plain word that is one too means something else.
    let may_be_code = matches!(change.names.as_slice(), [name] if name.contains(char::is_uppercase));
    let is_code = change.is_code || may_be_code;
    if is_parameter {
        made = changes_of_parameter(resources, change, filter, missing).await?;
    } else if is_code {
        made = match Box::pin(changes_of_member(resources, change, filter, missing)).await? {
            Some(made) => made,
            None => changes_of_code(resources, change, filter, missing).await?,
        };
    }
    let is_there = !missing.is_empty();
    if made.is_empty() && !is_there {
        made = changes_of_file(resources, change, filter, missing).await?;
    }
    for fits in [&[StatedFit::Same], &[StatedFit::Named]] {
        if made.is_empty() && !is_kept(change, missing) {
            made = changes_told_by(resources, change, filter, fits).await?;
        }
    }
    if made.is_empty() && !is_code && !is_parameter && change.code_name.is_some() {
        made = changes_of_code(resources, change, filter, missing).await?;
    }
    made.truncate(MAX_TOLD);
    Ok(made)
}

/// Whether what is asked about was found where it is said to be removed from: what a text says was removed is something else.
fn is_kept(change: &ChangeQuestion, missing: &[String]) -> bool {
    change.direction == ChangeDirection::Removed && !missing.is_empty()
}

/// What a changelog says of a change: in which version it came, and when that was released. It names nobody.
fn answer_by_changelog(
    resources: &Resources,
    question: String,
    change: &ChangeQuestion,
    line: ChangelogLine,
) -> Result<ChangeFacts> {
    let ChangelogLine { project, citation, version, date, .. } = line;
    let mut released = None;
    // The first release of `8` may be `8.0.0`.
    for zeros in ["", ".0", ".0.0"] {
        for mark in ["", "v"] {
            released = released.or(find_release(resources, &project, &format!("{mark}{version}{zeros}"))?);
        }
    }
    let date = date.or(released.and_then(|release| release.at).map(utc_date));
    let told = match change.fact {
        Some(ChangeFact::Release) => true,
        Some(ChangeFact::Time) => date.is_some(),
        Some(ChangeFact::Author | ChangeFact::Commit) | None => false,
    };
    let when = date.map_or_else(String::new, |date| format!(" of {date}"));
    let (subject, verb, source) = (&change.told, change.direction.verb(), citation.source());
    let text = format!("{subject} was {verb} in version {version}{when}, as {source} says");
    if !told {
        return Ok(ChangeFacts { noted: Some(text), ..ChangeFacts::default() });
    }
    let statement = Statement { text: format!("{text}."), citations: vec![1] };
    let mut citations = vec![Citation { number: 1, ..citation }];
    date_by_lines(resources, &mut citations)?;
    let answer = Answer {
        question,
        answered: true,
        confidence: 1.0,
        method: Method::Facts,
        statements: vec![statement],
        citations,
        ..Answer::default()
    };
    Ok(ChangeFacts { answer: Some(answer), ..ChangeFacts::default() })
}

/// What is said of a change.
enum Description {
    /// It answers the question.
    Told(Statement),
    /// What is asked about it is not known.
    Missing(String),
    /// It cannot be shown.
    Nothing,
}

/// Says who made a change, when, where, in which release it shipped, and of what is gone when it was removed.
fn describe_change(
    resources: &Resources,
    change: &ChangeQuestion,
    made: &MadeChange,
    citations: &mut Vec<Citation>,
) -> Result<Description> {
    let Some(document) = cited_document(resources, &made.node, None)? else { return Ok(Description::Nothing) };
    let commit = match &made.node {
        NodeId::Commit { .. } => Some(made.node.clone()),
        request => merged_as(resources, request)?,
    };
    let release = describe_release(resources, commit.as_ref(), made.removal.as_ref())?;
    let shown = cite_sentence(&document, made.sentence.as_deref());
    let Some((author, date)) = author_and_date(resources, &made.node, &shown)? else { return Ok(Description::Nothing) };
    let (verb, subject) = (change.direction.verb(), &change.told);
    let place = made.place.as_ref().filter(|place| !subject.contains(place.as_str()));
    let place = place.map_or_else(String::new, |place| format!(" ({place})"));
    let mut text = format!("{author} {verb} {subject}{place} on {date}, in {}", location(&made.node, &shown));
    let mut cited = vec![shown];
    if let Some(request) = request_of(resources, &made.node)? {
        text.push_str(&format!(", with merge request {}", request.id));
        cited.push(cite_sentence(&request, None));
    }
    if release.is_none() && change.fact == Some(ChangeFact::Release) {
        let why = "no tag of its repository is indexed, so its release is not known";
        return Ok(Description::Missing(format!("{text}; {why}")));
    }
    let removal = match &made.removal {
        Some(removal) => describe_removal(resources, removal, &mut cited)?,
        None => None,
    };
    for clause in release.into_iter().chain(removal) {
        text.push_str(&format!("; {clause}"));
    }
    text.push('.');
    let mut numbers = Vec::new();
    for citation in cited {
        let number = u32::try_from(citations.len() + 1).unwrap_or(u32::MAX);
        citations.push(Citation { number, ..citation });
        numbers.push(number);
    }
    Ok(Description::Told(Statement { text, citations: numbers }))
}

/// Says when which commit removed what is gone, and cites it.
fn describe_removal(resources: &Resources, removal: &NodeId, cited: &mut Vec<Citation>) -> Result<Option<String>> {
    let Some(document) = cited_document(resources, removal, None)? else { return Ok(None) };
    let shown = cite_sentence(&document, None);
    let text = format!("it was removed on {}, in {}", utc_date(shown.at), location(removal, &shown));
    cited.push(shown);
    Ok(Some(text))
}

/// Where a change was made, with the kind of it.
fn location(node: &NodeId, shown: &Citation) -> String {
    match node {
        NodeId::Thread(thread) => format!("{} {}", thread.kind.name(), shown.location()),
        _ => shown.location(),
    }
}

/// Who made a change and on which day; `None` if that is not known.
fn author_and_date(resources: &Resources, node: &NodeId, shown: &Citation) -> Result<Option<(String, String)>> {
    let at = match item_of_node(resources, node)? {
        Some(Item::MergeRequest(mr)) => mr.merged_at,
        _ => Some(shown.at),
    };
    Ok(shown.display_author().zip(at.map(|at| utc_date(at).to_string())))
}

/// A citation of a sentence of a document, or of its first line.
fn cite_sentence(document: &CitedDocument, sentence: Option<&str>) -> Citation {
    let own = sentence.and_then(|sentence| Some((document.text.find(sentence)?, sentence.len())));
    let title = document.text.lines().next().map_or(0, str::len);
    let bytes = own.map_or(0..title, |(start, length)| start..start + length);
    document.cite(0, bytes)
}

/// The merge request that brought a commit, if it is known and is not the change itself.
fn request_of(resources: &Resources, node: &NodeId) -> Result<Option<CitedDocument>> {
    let NodeId::Commit { project, sha } = node else { return Ok(None) };
    let Some(sha) = Sha::from_hex(sha.as_bytes()) else { return Ok(None) };
    match merge_requests_introducing(resources, project, sha)?.into_iter().next() {
        Some(carrier) => cited_document(resources, &carrier.id.into(), None),
        None => Ok(None),
    }
}

/// The commit that a merge request was merged as.
fn merged_as(resources: &Resources, request: &NodeId) -> Result<Option<NodeId>> {
    let edges = resources.graph().edges(request, Direction::Out, Some(Edge::MergedAs))?;
    Ok(edges.into_iter().map(|end| end.other).find(|node| matches!(node, NodeId::Commit { .. })))
}

/// In which release a commit first shipped, unless what it added was removed before; `None` if it is not known, as its
/// repository has no tags.
fn describe_release(
    resources: &Resources,
    commit: Option<&NodeId>,
    removal: Option<&NodeId>,
) -> Result<Option<String>> {
    let Some(NodeId::Commit { project, sha }) = commit else { return Ok(None) };
    if let Some(release) = first_release(resources, project, sha)? {
        if let Some(NodeId::Commit { project, sha }) = removal
            && first_release(resources, project, sha)?.is_some_and(|later| later.tag == release.tag)
        {
            return Ok(Some("no release had it".to_owned()));
        }
        let when = release.at.map_or_else(String::new, |at| format!(" of {}", utc_date(at)));
        return Ok(Some(format!("it first shipped in {}{when}", release.tag)));
    }
    let is_read = commit_record(resources, project, sha)?.is_some();
    let has_tags = !resources.ledger().keys(project, ItemKind::Tag)?.is_empty();
    let unreleased = if removal.is_some() { "no release had it" } else { "no release has it yet" };
    Ok((is_read && has_tags).then(|| unreleased.to_owned()))
}

/// Of changes the one that is asked for first: of something that was added the oldest, of what was removed or fixed the
/// newest.
fn order_by_time<T>(changes: &mut [T], direction: ChangeDirection, at: impl Fn(&T) -> Timestamp) {
    changes.sort_by_key(at);
    if direction != ChangeDirection::Added {
        changes.reverse();
    }
}
