//! Makes the documents of commits and files; those of conversations are made in the parent module.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};

use super::{Document, DocumentPart, LARGE_COMMIT, MAX_CHANGED_PATHS, MAX_WHOLE_TEXT, among, normalize};
use crate::{
    code::{ContentAnalysis, Lines, Passage},
    filter::DocumentKind,
    id::NodeId,
    message,
    reference::{Forge, ReferenceContext},
    repository::{CommitRecord, HeadFile, identity_key},
};

/// Words that the diff touches, of a commit, that full-text search reads.
const MAX_TOUCHED: usize = 100;
/// Files of a commit whose names full-text search reads.
const MAX_PATHS: usize = 200;
/// How often the first line of a message counts in full-text search: it says what the commit is for.
const SUBJECT_COUNTS: usize = 3;
/// Longest text of one document of a file, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// The document of a commit; none for a merge that only repeats the text of its merge request. Where a clone is all that
/// is read of a project on GitHub, its merges alone tell what its pull requests say.
pub fn commit_document(record: &CommitRecord, context: ReferenceContext<'_>) -> Option<Document> {
    let commit = &record.commit;
    let repeats = || commit.is_merge() && !message::parse_references(&commit.message, context).introduced_by.is_empty();
    if record.rewritten || (context.forge == Forge::GitLab && repeats()) {
        return None;
    }
    let (title, body) = commit.message.trim().split_once('\n').unwrap_or((commit.message.trim(), ""));
    // Without the lines that only say who signed what.
    let message = message::Message::parse(&commit.message);
    let mut whole_text = format!("{}\n", purpose(&message)).repeat(SUBJECT_COUNTS);
    if purpose(&message) != message.subject {
        whole_text.push_str(&message.subject);
        whole_text.push('\n');
    }
    whole_text.push_str(&message.body);
    whole_text.push('\n');
    for change in commit.changes.iter().take(MAX_PATHS) {
        // Directories are the same in most commits and only make the text longer.
        let path = change.path.as_str();
        let _ = write!(whole_text, "\n{}", path.rsplit_once('/').map_or(path, |(_, name)| name));
    }
    for entity in record.entities.iter().take(MAX_TOUCHED) {
        let _ = write!(whole_text, "\n{}", entity.entity.name);
    }
    for word in commit.identifiers.iter().take(MAX_TOUCHED) {
        let _ = write!(whole_text, " {}", word.name);
    }
    let lines = commit.changes.iter().filter_map(|change| change.lines);
    let changed = lines.map(|lines| (lines.insertions + lines.deletions) as usize).sum();
    let sha = commit.sha.to_string();
    Some(Document {
        id: NodeId::commit(context.project, &sha).to_string(),
        kind: DocumentKind::Commit,
        project: context.project.to_owned(),
        parent: None,
        title: title.trim().to_owned(),
        url: commit_url(context, &sha),
        author: Some(identity_key(&commit.author.name, &commit.author.email)),
        labels: vec![],
        state: None,
        created_at: commit.author.at,
        updated_at: commit.committer.at,
        header: title.trim().to_owned(),
        parts: vec![DocumentPart { attribution: String::new(), body: normalize(body) }],
        whole_text,
        path: None,
        changed: commit.changes.iter().take(MAX_CHANGED_PATHS).map(|change| change.path.as_str().to_owned()).collect(),
        lines: None,
        importance: among(changed, LARGE_COMMIT),
        confidential: false,
    })
}

/// What says what a commit is for: its subject; of a merge whose subject only names a request, the title of that.
fn purpose(message: &message::Message) -> &str {
    let title = message.body.lines().next().unwrap_or_default();
    if message.subject.starts_with("Merge pull request #") && !title.is_empty() { title } else { &message.subject }
}

/// Address of a commit for people; empty if its repository has no forge.
pub fn commit_url(context: ReferenceContext<'_>, sha: &str) -> String {
    let ReferenceContext { forge, project, forge_url } = context;
    match forge {
        _ if forge_url.is_empty() => String::new(),
        Forge::GitLab => format!("{forge_url}/{project}/-/commit/{sha}"),
        Forge::GitHub => format!("{forge_url}/{project}/commit/{sha}"),
    }
}

/// Address of the files at a branch or tag for people; empty if its repository has no forge.
pub fn tree_url(context: ReferenceContext<'_>, name: &str) -> String {
    let ReferenceContext { forge, project, forge_url } = context;
    let name = name.replace('%', "%25").replace(' ', "%20").replace('#', "%23").replace('?', "%3F");
    match forge {
        _ if forge_url.is_empty() => String::new(),
        Forge::GitLab => format!("{forge_url}/{project}/-/tree/{name}"),
        Forge::GitHub => format!("{forge_url}/{project}/tree/{name}"),
    }
}

/// Address of lines of a file at a revision for people; empty if its repository has no forge.
pub fn lines_url(context: ReferenceContext<'_>, revision: &str, path: &str, lines: Option<(u32, u32)>) -> String {
    let ReferenceContext { forge, project, forge_url } = context;
    let path = path.replace('%', "%25").replace(' ', "%20").replace('#', "%23").replace('?', "%3F");
    let (blob, range) = match forge {
        _ if forge_url.is_empty() => return String::new(),
        Forge::GitLab => ("-/blob", lines.map(|(first, last)| format!("#L{first}-{last}"))),
        Forge::GitHub => ("blob", lines.map(|(first, last)| format!("#L{first}-L{last}"))),
    };
    format!("{forge_url}/{project}/{blob}/{revision}/{path}{}", range.unwrap_or_default())
}

/// The documents of a file at the indexed head: the file first, then its code entities or sections, each with the
/// passages that are of it. `text` is what the passages were cut from.
pub fn file_documents(
    file: &HeadFile,
    text: &str,
    passages: &[Passage],
    context: ReferenceContext<'_>,
    revision: &str,
) -> Vec<Document> {
    let Some(analysis) = &file.analysis else { return vec![] };
    let path = file.path.as_str();
    let base = Document {
        id: NodeId::file(context.project, path).to_string(),
        kind: DocumentKind::File,
        project: context.project.to_owned(),
        parent: None,
        title: path.to_owned(),
        url: lines_url(context, revision, path, None),
        author: None,
        labels: vec![],
        state: None,
        created_at: file.changed_at,
        updated_at: file.changed_at,
        header: path.to_owned(),
        parts: vec![],
        whole_text: String::new(),
        path: Some(path.to_owned()),
        changed: vec![],
        lines: Some((1, analysis.line_count.max(1))),
        importance: 0.0,
        confidential: false,
    };
    let lines: Vec<&str> = text.split('\n').collect();
    // Passages of one part stand together, in order.
    let mut parts: BTreeMap<(Option<u32>, Option<u32>), Vec<Lines>> = BTreeMap::new();
    for passage in passages {
        parts.entry((passage.entity, passage.section)).or_default().push(passage.lines);
    }
    let mut documents = Vec::new();
    let mut own = Document { parts: bodies(&lines, parts.remove(&(None, None)).unwrap_or_default()), ..base.clone() };
    let mut names: HashMap<String, u32> = HashMap::new();
    // A section that is too long is as many documents as it has passages: each is found by what it says itself.
    let parts = parts.into_iter().flat_map(|(key, ranges)| match key {
        (None, Some(_)) => ranges.into_iter().map(|range| (key, vec![range])).collect(),
        _ => vec![(key, ranges)],
    });
    for ((entity, section), ranges) in parts {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { continue };
        let range = (first.first, last.last);
        let named = match (&analysis.content, entity, section) {
            (ContentAnalysis::Code(code), Some(entity), _) => code.entities.get(entity as usize).map(|entity| {
                let header = format!("{path}: {} {}", entity.kind.as_str(), entity.qualified_name);
                (DocumentKind::Code, entity.qualified_name.clone(), header)
            }),
            (ContentAnalysis::Doc(doc), _, Some(section)) => doc.sections.get(section as usize).map(|section| {
                let heading = section.path.last().map_or("top", String::as_str).trim().to_owned();
                let header = std::iter::once(path).chain(section.path.iter().map(String::as_str));
                (DocumentKind::Section, heading, header.collect::<Vec<_>>().join(" › "))
            }),
            _ => None,
        };
        let Some((kind, name, header)) = named.filter(|(_, name, _)| !name.is_empty()) else { continue };
        let count = names.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { name } else { format!("{name}~{count}") };
        documents.push(Document {
            id: NodeId::entity(context.project, path, &name).to_string(),
            kind,
            parent: Some(base.id.clone()),
            title: name,
            url: lines_url(context, revision, path, Some(range)),
            header,
            parts: bodies(&lines, ranges),
            lines: Some(range),
            ..base.clone()
        });
    }
    own.whole_text = outline(&own, &documents, file);
    documents.insert(0, own);
    documents
}

/// What full-text search reads of a file itself: its path, what it says of itself, the names of its parts, and what is
/// in none of them.
fn outline(own: &Document, parts: &[Document], file: &HeadFile) -> String {
    let mut text = own.title.clone();
    let code = file.analysis.as_ref().and_then(|analysis| analysis.code());
    if let Some(doc) = code.and_then(|code| code.doc.as_ref()) {
        let _ = write!(text, "\n\n{doc}");
    }
    for name in parts.iter().map(|part| &part.title) {
        let _ = write!(text, "\n{name}");
    }
    for part in &own.parts {
        if text.len() + part.body.len() > MAX_WHOLE_TEXT {
            break;
        }
        let _ = write!(text, "\n\n{}", part.body);
    }
    text
}

fn bodies(lines: &[&str], ranges: Vec<Lines>) -> Vec<DocumentPart> {
    let mut left = MAX_TEXT;
    let mut parts = Vec::new();
    for range in ranges {
        let end = (range.last as usize).min(lines.len());
        let body = normalize(&lines[(range.first.saturating_sub(1) as usize).min(end)..end].join("\n"));
        if body.is_empty() {
            continue;
        }
        if body.len() > left {
            break;
        }
        left -= body.len();
        parts.push(DocumentPart { attribution: String::new(), body });
    }
    parts
}
