//! What the sources of an answer did, and where they stand: which files they changed and how, who reviewed them, and whether they still hold.

use backstory_model::{
    answer::Citation,
    commit::{ChangeStatus, FileChange, FileDiff},
    edge::Edge,
    entity::{Item, MergeRequest},
    id::NodeId,
    question::SourceQuestion,
    repository::CommitRecord,
};
use backstory_sources::git::{objects::Objects, text_diff::TextDiffOptions};
use backstory_store::graph::Direction;

use super::provenance::{
    MAX_NAMED, SourceNote, cite_title, commit_of_lines, commits_of, merge_requests_of, note_of_unknown, thread_of,
};
use crate::{
    citations::{CitedDocument, cited_document, document_of_commit, document_of_file},
    clones::{clean_text, open_objects},
    decision_status::decision_status,
    error::Result,
    read::item_of_node,
    records::commit_record,
    resources::Resources,
};

/// Most files that are named of a commit.
const MAX_FILES: usize = 12;
/// Most files of which the code is shown.
const MAX_SHOWN: usize = 3;
/// Most files of a commit that are looked at to find some to show.
const MAX_COMPARED: usize = 50;
/// Most lines that are shown of one.
const MAX_LINES: u32 = 12;
/// What begins the lines of a message that name those who looked at a commit.
const TRAILERS: [&str; 3] = ["Reviewed-by:", "Acked-by:", "Approved-by:"];

/// What is asked of what a source did, or of where it stands; at least one sentence.
///
/// # Errors
/// A store failed.
pub(super) async fn describe_effect(
    resources: &Resources,
    cited: &Citation,
    asked: SourceQuestion,
) -> Result<Vec<SourceNote>> {
    if asked == SourceQuestion::Code && cited.path.is_some() {
        let sentence = format!("{}\n\nThis is {}.", indented(&cited.text), cited.source());
        return Ok(vec![SourceNote { citation: cited.clone(), sentence, is_known: true }]);
    }
    let is_of_file = asked == SourceQuestion::State;
    let of_lines = if is_of_file { None } else { commit_of_lines(resources, cited).await? };
    let source = of_lines.map_or_else(|| cited.clone(), |(_, citation)| citation);
    let mut notes = resources
        .blocking(move |resources| {
            let Ok(id) = source.id.parse::<NodeId>() else { return Ok(vec![]) };
            match asked {
                SourceQuestion::Files => list_changed_files(resources, &id),
                SourceQuestion::Code => show_changed_code(resources, &id),
                SourceQuestion::Reviewer => name_reviewers(resources, &id),
                SourceQuestion::State => describe_state(resources, &source, &id),
                _ => Ok(vec![]),
            }
        })
        .await?;
    if notes.is_empty() {
        notes.push(note_of_unknown(cited, asked));
    }
    Ok(notes)
}

/// A commit of a source, with its message.
struct SourceCommit {
    project: String,
    record: CommitRecord,
    document: CitedDocument,
}

/// The commits of a source that were read.
fn load_commits(resources: &Resources, id: &NodeId) -> Result<Vec<SourceCommit>> {
    let mut records = Vec::new();
    for commit in commits_of(resources, id)?.into_iter().take(MAX_NAMED) {
        let NodeId::Commit { project, sha } = commit else { continue };
        let (Some(record), Some(document)) =
            (commit_record(resources, &project, &sha)?, document_of_commit(resources, &project, &sha)?)
        else {
            continue;
        };
        records.push(SourceCommit { project, record, document });
    }
    Ok(records)
}

/// Which files the commits of a source changed.
fn list_changed_files(resources: &Resources, id: &NodeId) -> Result<Vec<SourceNote>> {
    let mut notes = Vec::new();
    for SourceCommit { record, document, .. } in load_commits(resources, id)? {
        let changes = &record.commit.changes;
        if changes.is_empty() {
            continue;
        }
        let mut files: Vec<String> = changes.iter().take(MAX_FILES).map(describe_file).collect();
        if changes.len() > MAX_FILES {
            files.push(format!("and {} more", changes.len() - MAX_FILES));
        }
        let citation = cite_title(&document);
        let noun = if changes.len() == 1 { "file" } else { "files" };
        let (count, place) = (changes.len(), citation.location());
        let sentence = format!("It changed {count} {noun}, in {place}: {}.", files.join(", "));
        notes.push(SourceNote { citation, sentence, is_known: true });
    }
    Ok(notes)
}

/// `src/a.rs (+3 −1)`, `src/b.rs (new, +20 −0)`
fn describe_file(change: &FileChange) -> String {
    let mut said = match change.status {
        ChangeStatus::Added => vec!["new".to_owned()],
        ChangeStatus::Deleted => vec!["removed".to_owned()],
        ChangeStatus::Renamed | ChangeStatus::Copied => {
            change.old_path.iter().map(|old| format!("from {}", old.as_str())).collect()
        }
        ChangeStatus::Modified | ChangeStatus::TypeChanged => vec![],
    };
    said.extend(change.lines.map(|lines| format!("+{} −{}", lines.insertions, lines.deletions)));
    let path = change.path.as_str();
    if said.is_empty() { path.to_owned() } else { format!("{path} ({})", said.join(", ")) }
}

/// The first lines that the commits of a source wrote, as the files had them then.
fn show_changed_code(resources: &Resources, id: &NodeId) -> Result<Vec<SourceNote>> {
    let mut notes = Vec::new();
    for SourceCommit { project, record, document } in load_commits(resources, id)? {
        let place = cite_title(&document).location();
        let objects = open_objects(resources, &project)?;
        // A file that was only renamed has nothing to show.
        let is_written = |change: &&FileChange| change.old.map(|old| old.id) != change.new.map(|new| new.id);
        for change in record.commit.changes.iter().filter(is_written).take(MAX_COMPARED) {
            if notes.len() == MAX_SHOWN {
                return Ok(notes);
            }
            let Some(citation) = cite_written_lines(resources, &objects, (project.as_str(), &record), change) else {
                continue;
            };
            let sentence = format!("{}\n\nThis is {}, from {place}.", indented(&citation.text), citation.source());
            notes.push(SourceNote { citation, sentence, is_known: true });
        }
    }
    Ok(notes)
}

/// The first lines that a commit wrote in a file; `None` if it wrote none that can be shown.
fn cite_written_lines(
    resources: &Resources,
    objects: &Objects,
    (project, record): (&str, &CommitRecord),
    change: &FileChange,
) -> Option<Citation> {
    let new = change.new.filter(|_| !change.is_submodule() && !change.is_symlink())?;
    let options = TextDiffOptions { context: 0, ..TextDiffOptions::default() };
    let clean = |bytes: &[u8]| clean_text(resources, bytes);
    let Ok(FileDiff::Text { hunks, .. }) =
        objects.text_diff(change.old.map(|old| old.id), Some(new.id), options, &clean)
    else {
        return None;
    };
    let hunk = hunks.iter().find(|hunk| hunk.new_count > 0)?;
    let last = hunk.new_start + hunk.new_count.min(MAX_LINES) - 1;
    let Ok(Some(document)) = document_of_file(resources, project, change.path.as_str(), Some(record.commit.sha)) else {
        return None;
    };
    let bytes = document.bytes_of((hunk.new_start, last));
    (!bytes.is_empty()).then(|| document.cite(0, bytes))
}

/// Who reviewed, approved and merged the merge requests of a source, or what the messages of its commits say of that.
fn name_reviewers(resources: &Resources, id: &NodeId) -> Result<Vec<SourceNote>> {
    let mut notes = Vec::new();
    for request in merge_requests_of(resources, id)?.into_iter().take(MAX_NAMED) {
        let (Some(Item::MergeRequest(mr)), Some(document)) =
            (item_of_node(resources, &request)?, cited_document(resources, &request, None)?)
        else {
            continue;
        };
        let citation = cite_title(&document);
        let (place, said) = (citation.location(), describe_reviews(&mr));
        let is_known = !said.is_empty();
        let said = if is_known { said.join(", ") } else { "nobody is named as a reviewer".to_owned() };
        notes.push(SourceNote { citation, sentence: format!("Merge request {place}: {said}."), is_known });
    }
    for SourceCommit { document, .. } in load_commits(resources, id)? {
        let mut start = 0;
        for line in document.text.split_inclusive('\n') {
            let (begins, own) = (start, line.trim_end());
            start += line.len();
            if TRAILERS.iter().any(|trailer| own.starts_with(trailer)) {
                let citation = document.cite(0, begins..begins + own.len());
                let sentence = format!("{own}, says {}.", citation.location());
                notes.push(SourceNote { citation, sentence, is_known: true });
            }
        }
    }
    Ok(notes)
}

/// `reviewed by @alice`, `merged by @bob`
fn describe_reviews(mr: &MergeRequest) -> Vec<String> {
    let merged_by: Vec<String> = mr.merged_by.iter().cloned().collect();
    let parts = [("reviewed", &mr.reviewers), ("approved", &mr.approved_by), ("merged", &merged_by)];
    let named = parts.into_iter().filter(|(_, people)| !people.is_empty());
    named
        .map(|(verb, people)| {
            let people: Vec<String> = people.iter().map(|person| format!("@{person}")).collect();
            format!("{verb} by {}", people.join(", "))
        })
        .collect()
}

/// Where a source stands: of lines of a file whether the indexed head has them, of anything else its state, and what reverted
/// it.
fn describe_state(resources: &Resources, source: &Citation, id: &NodeId) -> Result<Vec<SourceNote>> {
    if let NodeId::File { project, path } = id {
        let Ok(Some(document)) = document_of_file(resources, project, path, None) else { return Ok(vec![]) };
        let head = document.file.as_ref().map(|(commit, _)| commit.short()).unwrap_or_default();
        return Ok(vec![match document.text.find(&source.text) {
            Some(start) => {
                let citation = document.cite(0, start..start + source.text.len());
                let sentence = format!("{} still says so, at the indexed head {head}.", citation.source());
                SourceNote { citation, sentence, is_known: true }
            }
            None => {
                let sentence = format!("{path} does not say so any more, at the indexed head {head}.");
                SourceNote { citation: source.clone(), sentence, is_known: true }
            }
        }]);
    }
    let story = thread_of(id).map_or_else(|| id.clone(), |thread| thread.clone().into());
    let mut notes = Vec::new();
    if let Some(standing) = decision_status(resources, &story)? {
        let sentence = format!("Where it stands: {}.", standing.text);
        notes.push(SourceNote { citation: source.clone(), sentence, is_known: true });
    }
    for commit in commits_of(resources, id)?.into_iter().take(MAX_NAMED) {
        for end in resources.graph().edges(&commit, Direction::In, Some(Edge::Reverts))?.into_iter().take(MAX_NAMED) {
            let Some(document) = cited_document(resources, &end.other, None)? else { continue };
            let citation = cite_title(&document);
            let sentence = format!("It was reverted in {}.", citation.location());
            notes.push(SourceNote { citation, sentence, is_known: true });
        }
    }
    Ok(notes)
}

/// Lines as a block of code.
fn indented(code: &str) -> String {
    code.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use backstory_model::commit::{LineCounts, RepoPath};

    use super::*;

    #[test]
    fn a_changed_file_is_told_with_what_happened_to_it() {
        let change = |status, old: Option<&str>, lines| FileChange {
            path: RepoPath::from_escaped("src/cart.py"),
            old_path: old.map(RepoPath::from_escaped),
            status,
            similarity: None,
            old: None,
            new: None,
            lines,
        };
        let lines = Some(LineCounts { insertions: 3, deletions: 1 });
        let told = [
            describe_file(&change(ChangeStatus::Modified, None, lines)),
            describe_file(&change(ChangeStatus::Renamed, Some("lib/cart.py"), lines)),
            describe_file(&change(ChangeStatus::Deleted, None, None)),
            describe_file(&change(ChangeStatus::TypeChanged, None, None)),
        ];
        assert_eq!(
            told,
            ["src/cart.py (+3 −1)", "src/cart.py (from lib/cart.py, +3 −1)", "src/cart.py (removed)", "src/cart.py"]
        );
    }
}
