//! Documents, the units of search, as canonical text: one for every issue, merge request, discussion and commit, and
//! for every file, with its code entities or sections apart.

mod code;

use std::borrow::Cow;

use jiff::Timestamp;

use crate::{
    digest::sha256_hex,
    entity::{Discussion, Issue, MergeRequest, State, Thread},
    filter::DocumentKind,
    id::{NodeId, ThreadId, ThreadKind},
    sentence::own_markdown,
    time::utc_date,
};

pub use code::{commit_document, commit_url, file_documents, lines_url, tree_url};

/// Longest `whole_text`, in bytes: what full-text search reads of one issue with all its discussions.
pub const MAX_WHOLE_TEXT: usize = 1 << 20;

/// Paths of a commit by which it can be found; of the others nothing is known.
pub const MAX_CHANGED_PATHS: usize = 1000;

/// Notes of a discussion that is as long as any.
const LONG_TALK: f32 = 50.0;
/// Changed lines of a commit that is as large as any.
const LARGE_COMMIT: f32 = 1000.0;

/// What search finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Id of its node, as a person writes it.
    pub id: String,
    /// What it is.
    pub kind: DocumentKind,
    /// Full path of the project.
    pub project: String,
    /// Of a discussion: the issue or merge request it belongs to.
    pub parent: Option<String>,
    /// Title; of a discussion, that of what it belongs to.
    pub title: String,
    /// Address for people.
    pub url: String,
    /// User name of the author; of a discussion, who began it.
    pub author: Option<String>,
    /// Labels; of a discussion, those of what it belongs to.
    pub labels: Vec<String>,
    /// State, of what has one; of a discussion, that of what it belongs to.
    pub state: Option<State>,
    /// When it was opened or begun.
    pub created_at: Timestamp,
    /// When it last changed; of a discussion, the newest change of a note.
    pub updated_at: Timestamp,
    /// The line that every chunk begins with: what it is part of.
    pub header: String,
    /// The text below the header, in parts that belong together.
    pub parts: Vec<DocumentPart>,
    /// What full-text search reads if it is not the text: of an issue or merge request that and all its discussions, of
    /// a commit also the names of files and the words it touches. Else empty.
    pub whole_text: String,
    /// Of code and documents: path of the file.
    pub path: Option<String>,
    /// Of a commit: the paths that it changes, the first [`MAX_CHANGED_PATHS`].
    pub changed: Vec<String>,
    /// Of code and documents: first and last line, from 1.
    pub lines: Option<(u32, u32)>,
    /// How much it weighs among its kind, 0 to 1: how long people talked, how much a commit changed.
    pub importance: f32,
    /// Whether only some may see it.
    pub confidential: bool,
}

/// A description or a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPart {
    /// Who wrote it and when, `@alice (2024-03-15):`; empty for a description.
    pub attribution: String,
    /// What they wrote.
    pub body: String,
}

impl Document {
    /// The canonical text: `title\n\ndescription`, or the header of a discussion and its notes with who wrote each
    /// and when.
    pub fn text(&self) -> String {
        let mut text = self.header.clone();
        for part in self.parts.iter().filter(|part| !part.body.is_empty() || !part.attribution.is_empty()) {
            text.push_str("\n\n");
            if !part.attribution.is_empty() {
                text.push_str(&part.attribution);
                text.push('\n');
            }
            text.push_str(&part.body);
        }
        text
    }

    /// SHA-256 of the canonical text, which tells whether it must be embedded again.
    pub fn content_hash(&self) -> String {
        sha256_hex(&self.text())
    }
}

/// The documents of an issue and its discussions, the issue first. Discussions without a note have none. One that is
/// internal has its own and no part in that of what it belongs to.
pub fn issue_documents(issue: &Issue, discussions: &[Discussion]) -> Vec<Document> {
    of_thread(&issue.id, &issue.thread, discussions)
}

/// The documents of a merge request and its discussions, the merge request first.
pub fn merge_request_documents(mr: &MergeRequest, discussions: &[Discussion]) -> Vec<Document> {
    of_thread(&mr.id, &mr.thread, discussions)
}

fn of_thread(id: &ThreadId, thread: &Thread, discussions: &[Discussion]) -> Vec<Document> {
    let kind = match id.kind {
        ThreadKind::Issue => DocumentKind::Issue,
        ThreadKind::MergeRequest => DocumentKind::MergeRequest,
    };
    let own = Document {
        id: id.to_string(),
        kind,
        project: id.project.clone(),
        parent: None,
        title: thread.title.clone(),
        url: thread.web_url.clone(),
        author: thread.author.clone(),
        labels: thread.labels.clone(),
        state: Some(thread.state),
        created_at: thread.created_at,
        updated_at: thread.updated_at,
        header: thread.title.clone(),
        parts: vec![DocumentPart { attribution: String::new(), body: normalize(&thread.description) }],
        whole_text: String::new(),
        path: None,
        changed: vec![],
        lines: None,
        importance: 0.0,
        confidential: thread.confidential,
    };
    let threads: Vec<Document> = discussions.iter().filter_map(|discussion| of_discussion(discussion, &own)).collect();
    let notes = threads.iter().filter(|part| colors(part, &own)).map(|discussion| discussion.parts.len()).sum();
    let mut documents = vec![Document { importance: among(notes, LONG_TALK), ..own }];
    documents.extend(threads);
    documents[0].whole_text = whole_text(&documents);
    documents
}

fn of_discussion(discussion: &Discussion, parent: &Document) -> Option<Document> {
    let first = discussion.notes.first()?;
    let what = match discussion.thread.kind {
        ThreadKind::Issue => "Issue",
        ThreadKind::MergeRequest => "MR",
    };
    let updated_at = discussion.notes.iter().map(|note| note.updated_at).max()?;
    let parts = discussion.notes.iter().map(|note| DocumentPart {
        attribution: format!("@{} ({}):", note.author.as_deref().unwrap_or("deleted"), utc_date(note.created_at)),
        body: normalize(&note.body),
    });
    Some(Document {
        id: NodeId::Discussion { thread: discussion.thread.clone(), id: discussion.id.clone() }.to_string(),
        kind: DocumentKind::Discussion,
        parent: Some(parent.id.clone()),
        url: discussion.web_url.clone(),
        author: first.author.clone(),
        created_at: first.created_at,
        updated_at,
        header: format!("[{what} {}: {}] Discussion", discussion.thread.local_reference(), parent.title),
        parts: parts.collect(),
        whole_text: String::new(),
        importance: among(discussion.notes.len(), LONG_TALK),
        confidential: parent.confidential || discussion.confidential,
        ..parent.clone()
    })
}

/// Whether a discussion has a part in what is said of what it belongs to: a reader of that must see the discussion.
fn colors(discussion: &Document, of: &Document) -> bool {
    of.confidential || !discussion.confidential
}

/// Where a count stands between nothing, 0, and `many`, 1: each doubling is worth the same.
fn among(count: usize, many: f32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "counts of notes and lines are small")]
    let count = count as f32;
    (count.ln_1p() / many.ln_1p()).min(1.0)
}

fn whole_text(documents: &[Document]) -> String {
    let mut whole = documents[0].text();
    let colored = documents[1..].iter().filter(|document| colors(document, &documents[0]));
    for part in colored.flat_map(|document| &document.parts) {
        if whole.len() + part.body.len() > MAX_WHOLE_TEXT {
            break;
        }
        whole.push_str("\n\n");
        whole.push_str(&part.body);
    }
    whole
}

/// What the canonical text of a document of that kind, or a passage of one, says below its header; empty if it has nothing
/// else. Of what people wrote it is what they say themselves, without quotations of others and trailers.
pub fn own_body(kind: DocumentKind, text: &str) -> Cow<'_, str> {
    let (header, body) = text.split_once("\n\n").unwrap_or((text, ""));
    match kind {
        DocumentKind::File | DocumentKind::Code | DocumentKind::Section => Cow::Borrowed(body.trim()),
        DocumentKind::Issue | DocumentKind::MergeRequest | DocumentKind::Discussion | DocumentKind::Commit => {
            // Trailers are known as such below a title only.
            let own = own_markdown(text);
            Cow::Owned(own.strip_prefix(header).unwrap_or(&own).trim().to_owned())
        }
    }
}

/// One kind of line end and no white space at the ends, so that equal texts have equal hashes.
fn normalize(text: &str) -> String {
    text.replace("\r\n", "\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::{
        entity::{Note, NoteKind},
        reference::Forge,
    };

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn issue(description: &str) -> Issue {
        Issue {
            id: ThreadId::issue("acme/shop", 234),
            thread: Thread {
                forge: Forge::GitLab,
                title: "Authentication redesign".into(),
                description: description.into(),
                state: State::Opened,
                author: Some("janedoe".into()),
                labels: vec!["auth".into(), "bug".into()],
                milestone: None,
                assignees: vec![],
                created_at: at("2024-02-28T09:00:00Z"),
                updated_at: at("2024-03-20T09:00:00Z"),
                closed_at: None,
                closed_by: None,
                web_url: "https://git.example.com/acme/shop/-/issues/234".into(),
                notes_count: 2,
                confidential: false,
            },
            related: vec![],
            closed_by_requests: vec![],
            links: vec![],
        }
    }

    fn note(id: u64, author: &str, created_at: &str, body: &str) -> Note {
        Note {
            id,
            kind: NoteKind::Discussion,
            author: Some(author.into()),
            body: body.into(),
            created_at: at(created_at),
            updated_at: at(created_at),
            resolvable: false,
            resolved: false,
            resolved_by: None,
            resolved_at: None,
            position: None,
        }
    }

    fn discussion(notes: Vec<Note>) -> Discussion {
        Discussion {
            id: "6a9c".into(),
            thread: ThreadId::issue("acme/shop", 234),
            forge: Forge::GitLab,
            individual: false,
            notes,
            events: vec![],
            web_url: "https://git.example.com/acme/shop/-/issues/234#note_1".into(),
            confidential: false,
        }
    }

    #[test]
    fn people_say_neither_trailers_nor_what_they_quote() {
        let own = "It is, see\n\n```\n> run\n```";
        let body = format!("> Is it safe?\n\n{own}\n\nReviewed-by: Bo <bo@example.com>\nCc: Al <al@example.com>");
        let text = format!("Lock the cart\n\n{body}");
        assert_eq!(own_body(DocumentKind::Commit, &text), own);
        assert_eq!(own_body(DocumentKind::Section, &text), body);
        let signed = "Lock the cart\n\nSigned-off-by: Bo <bo@example.com>";
        for text in [signed, "Lock the cart", "Lock the cart\n\n> Is it safe?"] {
            assert_eq!(own_body(DocumentKind::Commit, text), "", "{text}");
        }
    }

    #[test]
    fn extracts_issue_document_as_title_and_description() {
        let documents = issue_documents(&issue("We need to redesign it.\r\n"), &[]);
        expect![[r"
            Authentication redesign

            We need to redesign it."]]
        .assert_eq(&documents[0].text());
        assert_eq!(issue_documents(&issue(""), &[])[0].text(), "Authentication redesign");
    }

    #[test]
    fn extracts_discussion_document_with_full_thread_context() {
        let notes = vec![
            note(1, "johndoe", "2024-03-15T10:00:00Z", "I think we should move to JWT."),
            note(2, "janedoe", "2024-03-15T23:59:59Z", "Agreed.\n\nWhat about refresh tokens?"),
        ];
        let documents = issue_documents(&issue("text"), &[discussion(notes)]);
        expect![[r"
            [Issue #234: Authentication redesign] Discussion

            @johndoe (2024-03-15):
            I think we should move to JWT.

            @janedoe (2024-03-15):
            Agreed.

            What about refresh tokens?"]]
        .assert_eq(&documents[1].text());
        let discussion = &documents[1];
        assert_eq!(discussion.id, "acme/shop#234~6a9c");
        assert_eq!(discussion.parent.as_deref(), Some("acme/shop#234"));
        assert_eq!(discussion.author.as_deref(), Some("johndoe"));
        assert_eq!(discussion.labels, ["auth", "bug"]);
        assert_eq!(discussion.updated_at, at("2024-03-15T23:59:59Z"));
    }

    #[test]
    fn whole_text_of_an_issue_has_its_discussions() {
        let notes = vec![note(1, "johndoe", "2024-03-15T10:00:00Z", "I think we should move to JWT.")];
        let documents = issue_documents(&issue("text"), &[discussion(notes)]);
        assert_eq!(documents[0].whole_text, "Authentication redesign\n\ntext\n\nI think we should move to JWT.");
        assert_eq!(documents[1].whole_text, "");
    }

    #[test]
    fn an_internal_discussion_does_not_color_a_public_issue() {
        let notes = vec![note(1, "johndoe", "2024-03-15T10:00:00Z", "The customer is Initech.")];
        let internal = Discussion { confidential: true, ..discussion(notes) };
        let documents = issue_documents(&issue("text"), std::slice::from_ref(&internal));
        let silent = issue_documents(&issue("text"), &[]);
        assert_eq!(documents[0], silent[0]);
        assert!(documents[1].confidential && documents[1].text().contains("Initech"));

        let mut confidential = issue("text");
        confidential.thread.confidential = true;
        let documents = issue_documents(&confidential, &[Discussion { confidential: false, ..internal }]);
        assert!(documents.iter().all(|document| document.confidential));
        assert!(documents[0].whole_text.contains("Initech"));
    }

    #[test]
    fn discussion_without_notes_is_no_document() {
        assert_eq!(issue_documents(&issue("text"), &[discussion(vec![])]).len(), 1);
    }

    #[test]
    fn content_hash_changes_with_the_text_and_only_then() {
        let one = issue_documents(&issue("text"), &[]);
        let mut relabelled = issue("text");
        relabelled.thread.labels.clear();
        assert_eq!(one[0].content_hash(), issue_documents(&relabelled, &[])[0].content_hash());
        assert_ne!(one[0].content_hash(), issue_documents(&issue("other"), &[])[0].content_hash());
    }
}
