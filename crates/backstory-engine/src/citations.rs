//! The documents that answers cite, read from ledger and clones, never from the index.

use std::{collections::BTreeSet, ops::Range};

use backstory_model::{
    answer::Citation,
    commit::{RepoPath, Sha},
    digest::sha256_hex,
    document::{commit_url, lines_url},
    entity::{Item, Thread},
    id::{NodeId, ThreadId},
    repository::{Record, RepositoryItem},
};
use backstory_store::ledger::StoredBlame;
use jiff::Timestamp;

use crate::{
    clones::{MAX_TEXT, clean_text, open_objects},
    error::Result,
    read::{discussions_of, item_of_node},
    records::{commit_record, repository_record},
    resources::Resources,
};

/// A text that can be cited.
#[derive(Clone, Debug)]
pub(crate) struct CitedDocument {
    /// Its node.
    pub(crate) id: NodeId,
    /// Title of the issue, merge request or commit; path of the file.
    pub(crate) title: String,
    /// Its page at the forge.
    pub(crate) url: Option<String>,
    /// Who wrote it.
    pub(crate) author: Option<String>,
    /// When.
    pub(crate) at: Timestamp,
    /// Of a file: the commit and the path.
    pub(crate) file: Option<(Sha, String)>,
    /// Bytes of the title that the text begins with, if more follows.
    pub(crate) heading: usize,
    /// The text.
    pub(crate) text: String,
    /// Whether only some may see it.
    pub(crate) confidential: bool,
}

impl CitedDocument {
    /// A citation of bytes of it.
    pub(crate) fn cite(&self, number: u32, bytes: Range<usize>) -> Citation {
        let text = self.text[bytes.clone()].to_owned();
        let lines = self.file.as_ref().map(|_| self.lines_of(&bytes));
        Citation {
            number,
            id: self.id.to_string(),
            title: self.title.clone(),
            url: self.url.clone(),
            author: self.author.clone(),
            at: self.at,
            commit: self.file.as_ref().map(|(commit, _)| commit.to_string()),
            path: self.file.as_ref().map(|(_, path)| path.clone()),
            lines,
            bytes: (bytes.start as u64, bytes.end as u64),
            hash: sha256_hex(&text),
            document: sha256_hex(&self.text),
            text,
            confidential: self.confidential,
        }
    }

    /// The lines that bytes lie in, from 1.
    pub(crate) fn lines_of(&self, bytes: &Range<usize>) -> (u32, u32) {
        let line = |at: usize| {
            let before = self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count();
            u32::try_from(before + 1).unwrap_or(u32::MAX)
        };
        (line(bytes.start), line(bytes.end.saturating_sub(1).max(bytes.start)))
    }

    /// The bytes of lines, from 1, without the last line's end.
    pub(crate) fn bytes_of(&self, (first, last): (u32, u32)) -> Range<usize> {
        let mut at = 0;
        let mut range = 0..0;
        for (number, line) in (1..).zip(self.text.split_inclusive('\n')) {
            if number == first {
                range = at..at;
            }
            at += line.len();
            if (first..=last).contains(&number) {
                range.end = range.start + self.text[range.start..at].trim_end().len();
            }
        }
        range
    }
}

/// An issue or merge request and its notes, the description first, then the notes as they were written.
pub(crate) fn documents_of_thread(resources: &Resources, id: &ThreadId) -> Result<Vec<CitedDocument>> {
    let (own, thread) = match item_of_node(resources, &id.clone().into())? {
        Some(Item::Issue(issue)) => (description(id, &issue.thread), issue.thread),
        Some(Item::MergeRequest(mr)) => (description(id, &mr.thread), mr.thread),
        _ => return Ok(vec![]),
    };
    let mut documents = vec![own];
    for discussion in discussions_of(resources, id)?.iter() {
        documents.extend(discussion.notes.iter().map(|note| CitedDocument {
            id: discussion.note_id(note),
            title: thread.title.clone(),
            url: Some(discussion.note_url(note.id)).filter(|_| !discussion.web_url.is_empty()),
            author: note.author.clone(),
            at: note.created_at,
            file: None,
            heading: 0,
            text: note.body.clone(),
            confidential: discussion.confidential,
        }));
    }
    Ok(documents)
}

/// A commit's message.
pub(crate) fn document_of_commit(resources: &Resources, project: &str, sha: &str) -> Result<Option<CitedDocument>> {
    let Some(Item::Repository(of)) = item_of_node(resources, &NodeId::commit(project, sha))? else { return Ok(None) };
    let Record::Commit(record) = &of.record else { return Ok(None) };
    let commit = &record.commit;
    Ok(Some(CitedDocument {
        id: of.id(),
        title: commit.message.lines().next().unwrap_or_default().trim().to_owned(),
        url: Some(commit_url(of.context(), &commit.sha.to_string())).filter(|url| !url.is_empty()),
        author: Some(commit.author.name.clone()),
        at: commit.author.at,
        file: None,
        heading: 0,
        text: commit.message.clone(),
        confidential: false,
    }))
}

/// A file at a commit, the indexed head if none is named; `None` if there is no such file.
pub(crate) fn document_of_file(
    resources: &Resources,
    project: &str,
    path: &str,
    commit: Option<Sha>,
) -> Result<Option<CitedDocument>> {
    let Some(repository) = repository_record(resources, project)? else { return Ok(None) };
    let head = || -> Result<Option<Sha>> {
        let Some(branch) = &repository.default_branch else { return Ok(None) };
        let entry = resources.ledger().repositories()?.into_iter().find(|entry| entry.project == project);
        Ok(entry.and_then(|entry| entry.indexed.get(branch.as_str()).copied()))
    };
    let commit = match commit {
        Some(commit) => Some(commit),
        None => head()?,
    };
    let Some(commit) = commit else { return Ok(None) };
    let path = RepoPath::from_escaped(path);
    let objects = open_objects(resources, project)?;
    let entry = objects.entry(commit, &path)?;
    let bytes = objects.blob(entry.id, MAX_TEXT)?;
    let text = clean_text(resources, &bytes);
    let id = NodeId::file(project, path.as_str());
    let of = match item_of_node(resources, &id)? {
        Some(Item::Repository(RepositoryItem { record: Record::File(file), .. })) => Some(file.changed_at),
        _ => None,
    };
    let context = backstory_model::reference::ReferenceContext {
        forge: repository.forge,
        project,
        forge_url: &repository.forge_url,
    };
    let url = lines_url(context, &commit.to_string(), path.as_str(), None);
    Ok(Some(CitedDocument {
        id,
        title: path.as_str().to_owned(),
        url: Some(url).filter(|url| !url.is_empty()),
        author: None,
        at: of.unwrap_or_default(),
        file: Some((commit, path.as_str().to_owned())),
        heading: 0,
        text,
        confidential: false,
    }))
}

/// Dates citations of files at their indexed heads by the newest commit that wrote one of the cited lines. Others keep the date
/// of the file.
pub(crate) fn date_by_lines<'a>(
    resources: &Resources,
    citations: impl IntoIterator<Item = &'a mut Citation>,
) -> Result<()> {
    for citation in citations {
        let (Some((first, last)), Ok(NodeId::File { project, path })) = (citation.lines, citation.id.parse()) else {
            continue;
        };
        let (Some(repository), Some(entry)) =
            (repository_record(resources, &project)?, resources.ledger().repository(&project)?)
        else {
            continue;
        };
        let Some(branch) = repository.default_branch.as_ref().map(|name| name.as_str()) else { continue };
        let Some(head) = entry.indexed.get(branch).filter(|head| citation.commit == Some(head.to_string())) else {
            continue;
        };
        let Some(Some(StoredBlame::Traced(lineage))) =
            resources.ledger().lineage_of_tip(&project, branch, *head, &path)?
        else {
            continue;
        };
        let commits: BTreeSet<Sha> =
            lineage.origins(first, last.saturating_sub(first) + 1).map(|origin| origin.source.commit).collect();
        let mut newest = None;
        for commit in commits {
            let record = commit_record(resources, &project, &commit.to_string())?;
            newest = newest.max(record.map(|record| record.commit.author.at));
        }
        citation.at = newest.unwrap_or(citation.at);
    }
    Ok(())
}

/// The document that a citation names; `None` if it is not there.
pub(crate) fn cited_document(resources: &Resources, id: &NodeId, commit: Option<Sha>) -> Result<Option<CitedDocument>> {
    Ok(match id {
        NodeId::Thread(thread) => documents_of_thread(resources, thread)?.into_iter().next(),
        NodeId::Note { thread, .. } => {
            documents_of_thread(resources, thread)?.into_iter().find(|document| document.id == *id)
        }
        NodeId::Commit { project, sha } => document_of_commit(resources, project, sha)?,
        NodeId::File { project, path } => document_of_file(resources, project, path, commit)?,
        _ => None,
    })
}

fn description(id: &ThreadId, thread: &Thread) -> CitedDocument {
    let text = if thread.description.is_empty() {
        thread.title.clone()
    } else {
        format!("{}\n\n{}", thread.title, thread.description)
    };
    CitedDocument {
        id: id.clone().into(),
        title: thread.title.clone(),
        url: Some(thread.web_url.clone()).filter(|url| !url.is_empty()),
        author: thread.author.clone(),
        at: thread.created_at,
        file: None,
        heading: if thread.description.is_empty() { 0 } else { thread.title.len() },
        text,
        confidential: thread.confidential,
    }
}
