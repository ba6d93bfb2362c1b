//! Items as quads: the only place that says which facts of an item become which quads.

mod code;

use std::collections::BTreeMap;

use backstory_model::{
    edge::Edge,
    entity::{
        Discussion, Issue, Item, Label, LinkKind, MergeRequest, Milestone, Note, NoteKind, Person, Project, Release,
        SystemEvent, Thread,
    },
    id::{NAMESPACE, NodeId, NodeKind, ThreadId, ThreadKind},
    numbers::SharedNumbers,
    redaction::SecretCounts,
    reference::{Forge, ReferenceContext, extract},
    repository::CommitIdentity,
    security::SecurityFlag,
    tracker::{TicketMention, Trackers},
};
use jiff::Timestamp;
use oxigraph::model::{
    GraphName, Literal, NamedNode, Quad, Term,
    vocab::{rdf, xsd},
};

/// Marks an item, discussion, note or person as confidential.
pub(super) const CONFIDENTIAL: &str = "confidential";
pub(super) const DCTERMS: &str = "http://purl.org/dc/terms/";
pub(super) const FOAF: &str = "http://xmlns.com/foaf/0.1/";
pub(super) const SIOC: &str = "http://rdfs.org/sioc/ns#";

/// What is known of what texts refer to.
#[derive(Clone, Copy)]
pub(super) struct TextSyntax<'a> {
    /// What a number means.
    pub(super) numbers: &'a SharedNumbers,
    /// How tickets of other trackers are written.
    pub(super) trackers: &'a Trackers,
}

/// The quads of an item, all in the graph of that IRI. One may occur more than once; the store keeps a set. What texts
/// call by number is what has that number. Of a confidential one each node that is its own says so.
pub(super) fn item_quads(item: &Item, graph: &str, texts: TextSyntax<'_>, confidential: bool) -> Vec<Quad> {
    let TextSyntax { numbers, trackers } = texts;
    let mut facts = QuadBuilder { graph: NamedNode::new_unchecked(graph).into(), quads: Vec::new(), numbers, trackers };
    match item {
        Item::Project(project) => facts.project(project),
        Item::Person(person) => facts.person(person),
        Item::Label(label) => facts.label(label),
        Item::Milestone(milestone) => facts.milestone(milestone),
        Item::Release(release) => facts.release(release),
        Item::Issue(issue) => facts.issue(issue),
        Item::MergeRequest(mr) => facts.merge_request(mr),
        Item::Discussion(discussion) => facts.discussion(discussion),
        Item::Identity(identity) => facts.identity(identity),
        Item::Repository(record) => facts.repository(record),
    }
    if confidential {
        facts.flag(&item.id(), CONFIDENTIAL, true);
        if let Item::Discussion(discussion) = item {
            discussion.notes.iter().for_each(|note| facts.flag(&discussion.note_id(note), CONFIDENTIAL, true));
        }
    }
    facts.quads
}

pub(super) fn node(id: &NodeId) -> NamedNode {
    // model::id escapes whatever an IRI cannot hold.
    NamedNode::new_unchecked(id.iri())
}

struct QuadBuilder<'a> {
    graph: GraphName,
    quads: Vec<Quad>,
    numbers: &'a SharedNumbers,
    trackers: &'a Trackers,
}

impl QuadBuilder<'_> {
    fn add(&mut self, subject: &NodeId, predicate: String, object: impl Into<Term>) {
        let predicate = NamedNode::new_unchecked(predicate);
        self.quads.push(Quad::new(node(subject), predicate, object, self.graph.clone()));
    }

    fn edge(&mut self, from: &NodeId, edge: Edge, to: &NodeId) {
        let (subject, object) = if edge.is_reversed() { (to, from) } else { (from, to) };
        let (subject, object) = (self.numbers.resolve(subject), self.numbers.resolve(object));
        self.add(&subject, edge.iri(), node(&object));
    }

    fn class(&mut self, subject: &NodeId, class: &str) {
        self.add(subject, rdf::TYPE.as_str().to_owned(), NamedNode::new_unchecked(class));
    }

    fn text(&mut self, subject: &NodeId, predicate: String, text: &str) {
        self.add(subject, predicate, Literal::new_simple_literal(text));
    }

    fn own(&mut self, subject: &NodeId, name: &str, text: &str) {
        self.text(subject, format!("{NAMESPACE}{name}"), text);
    }

    fn number(&mut self, subject: &NodeId, name: &str, value: u64) {
        self.add(subject, format!("{NAMESPACE}{name}"), Literal::new_typed_literal(value.to_string(), xsd::INTEGER));
    }

    fn flag(&mut self, subject: &NodeId, name: &str, value: bool) {
        self.add(subject, format!("{NAMESPACE}{name}"), Literal::from(value));
    }

    /// That secrets were replaced, and of which kinds.
    fn secrets(&mut self, subject: &NodeId, secrets: &SecretCounts) {
        if !secrets.is_empty() {
            self.flag(subject, "securityWarning", true);
        }
        for rule in secrets.keys() {
            self.own(subject, "secretKind", rule);
        }
    }

    /// The tickets of other trackers that a text names. Only a commit or merge request fixes one.
    fn tickets(&mut self, from: &NodeId, tickets: BTreeMap<String, TicketMention>) {
        let can_fix = matches!(from.kind(), NodeKind::Commit | NodeKind::MergeRequest);
        for (key, TicketMention { url, is_fixed }) in tickets {
            let ticket = NodeId::Ticket(key.clone());
            self.class(&ticket, &format!("{NAMESPACE}Ticket"));
            self.text(&ticket, format!("{DCTERMS}identifier"), &key);
            self.link(&ticket, &url);
            self.edge(from, if is_fixed && can_fix { Edge::Fixes } else { Edge::References }, &ticket);
        }
    }

    /// What a text says of security.
    fn security(&mut self, subject: &NodeId, flags: &[SecurityFlag]) {
        for flag in flags {
            self.own(subject, "securityFlag", &flag.id);
        }
    }

    fn instant(&mut self, subject: &NodeId, predicate: String, at: Timestamp) {
        self.add(subject, predicate, Literal::new_typed_literal(at.to_string(), xsd::DATE_TIME));
    }

    fn link(&mut self, subject: &NodeId, url: &str) {
        if let Ok(url) = NamedNode::new(url) {
            self.add(subject, format!("{SIOC}link"), url);
        }
    }

    fn project(&mut self, project: &Project) {
        let id = NodeId::Project(project.path.clone());
        self.class(&id, &format!("{NAMESPACE}Project"));
        self.text(&id, format!("{DCTERMS}title"), &project.name);
        self.own(&id, "path", &project.path);
        self.link(&id, &project.web_url);
        if let Some(description) = &project.description {
            self.text(&id, format!("{DCTERMS}description"), description);
        }
        if let Some(branch) = &project.default_branch {
            self.own(&id, "defaultBranch", branch);
        }
        if let Some(at) = project.created_at {
            self.instant(&id, format!("{DCTERMS}created"), at);
        }
    }

    fn person(&mut self, person: &Person) {
        let id = NodeId::person(&person.username);
        self.class(&id, &format!("{FOAF}Person"));
        self.text(&id, format!("{FOAF}nick"), &person.username);
        self.text(&id, format!("{FOAF}name"), &person.name);
        if let Some(url) = &person.web_url {
            self.link(&id, url);
        }
    }

    fn identity(&mut self, identity: &CommitIdentity) {
        let id = NodeId::person(&identity.key);
        self.class(&id, &format!("{FOAF}Person"));
        for name in &identity.names {
            self.text(&id, format!("{FOAF}name"), name);
        }
        if let Some(person) = &identity.same_as {
            self.edge(&id, Edge::SameAs, &NodeId::person(person));
        }
    }

    fn label(&mut self, label: &Label) {
        let id = self.label_node(&label.project, &label.name);
        if let Some(color) = &label.color {
            self.own(&id, "color", color);
        }
        if let Some(description) = &label.description {
            self.text(&id, format!("{DCTERMS}description"), description);
        }
    }

    /// Says that a label exists and what it is called; every item that carries it says so too.
    fn label_node(&mut self, project: &str, name: &str) -> NodeId {
        let id = NodeId::Label { project: project.to_owned(), name: name.to_owned() };
        self.class(&id, &format!("{NAMESPACE}Label"));
        self.text(&id, format!("{DCTERMS}title"), name);
        self.edge(&id, Edge::PartOf, &NodeId::Project(project.to_owned()));
        id
    }

    fn milestone(&mut self, milestone: &Milestone) {
        let id = NodeId::Milestone { project: milestone.project.clone(), iid: milestone.iid };
        self.class(&id, &format!("{NAMESPACE}Milestone"));
        self.text(&id, format!("{DCTERMS}title"), &milestone.title);
        self.own(&id, "state", &milestone.state);
        self.edge(&id, Edge::PartOf, &NodeId::Project(milestone.project.clone()));
        if let Some(url) = &milestone.web_url {
            self.link(&id, url);
        }
    }

    /// A release is the tag that it is of, with what the forge says about it.
    fn release(&mut self, release: &Release) {
        let id = release.node_id();
        self.class(&id, &format!("{NAMESPACE}Release"));
        self.text(&id, format!("{DCTERMS}title"), &release.name);
        self.own(&id, "tagName", &release.tag);
        self.flag(&id, "preliminary", release.preliminary);
        self.edge(&id, Edge::PartOf, &NodeId::Project(release.project.clone()));
        if let Some(at) = release.released_at {
            self.instant(&id, format!("{DCTERMS}issued"), at);
        }
        if let Some(author) = &release.author {
            self.edge(&NodeId::person(author), Edge::Authored, &id);
        }
        if let Some(url) = &release.web_url {
            self.link(&id, url);
        }
    }

    fn thread(&mut self, id: &ThreadId, thread: &Thread) -> NodeId {
        let node = NodeId::Thread(id.clone());
        self.text(&node, format!("{DCTERMS}title"), &thread.title);
        self.number(&node, "iid", id.iid);
        self.own(&node, "state", thread.state.as_str());
        self.instant(&node, format!("{DCTERMS}created"), thread.created_at);
        self.instant(&node, format!("{DCTERMS}modified"), thread.updated_at);
        self.link(&node, &thread.web_url);
        self.edge(&node, Edge::PartOf, &NodeId::Project(id.project.clone()));
        if let Some(author) = &thread.author {
            self.edge(&NodeId::person(author), Edge::Authored, &node);
        }
        for assignee in &thread.assignees {
            self.edge(&node, Edge::AssignedTo, &NodeId::person(assignee));
        }
        for label in &thread.labels {
            let label = self.label_node(&id.project, label);
            self.edge(&node, Edge::Labeled, &label);
        }
        if let Some(iid) = thread.milestone {
            self.edge(&node, Edge::InMilestone, &NodeId::Milestone { project: id.project.clone(), iid });
        }
        if let Some(at) = thread.closed_at {
            self.instant(&node, format!("{NAMESPACE}closedAt"), at);
        }
        self.secrets(&node, &thread.secrets());
        self.references(&node, &node, &thread.description, thread.forge, &thread.web_url);
        if !self.trackers.is_empty() {
            self.tickets(&node, self.trackers.in_markdown(&format!("{}\n\n{}", thread.title, thread.description)));
        }
        self.security(&node, &thread.security_flags());
        node
    }

    fn issue(&mut self, issue: &Issue) {
        let id = self.thread(&issue.id, &issue.thread);
        self.class(&id, &format!("{NAMESPACE}Issue"));
        for mr in &issue.related {
            self.edge(&id, Edge::RelatesTo, &mr.clone().into());
        }
        for mr in &issue.closed_by_requests {
            self.edge(&mr.clone().into(), Edge::Closes, &id);
        }
        for (kind, other) in &issue.links {
            let other = other.clone().into();
            match kind {
                LinkKind::RelatesTo => self.edge(&id, Edge::RelatesTo, &other),
                LinkKind::Blocks => self.edge(&id, Edge::Blocks, &other),
                LinkKind::BlockedBy => self.edge(&other, Edge::Blocks, &id),
            }
        }
    }

    fn merge_request(&mut self, mr: &MergeRequest) {
        let id = self.thread(&mr.id, &mr.thread);
        self.class(&id, &format!("{NAMESPACE}MergeRequest"));
        self.own(&id, "sourceBranch", &mr.source_branch);
        self.tickets(&id, self.trackers.in_plain_text(&mr.source_branch));
        self.own(&id, "targetBranch", &mr.target_branch);
        self.flag(&id, "draft", mr.draft);
        if let Some(at) = mr.merged_at {
            self.instant(&id, format!("{NAMESPACE}mergedAt"), at);
        }
        if let Some(person) = &mr.merged_by {
            self.add(&id, format!("{NAMESPACE}mergedBy"), node(&NodeId::person(person)));
        }
        for reviewer in &mr.reviewers {
            self.edge(&NodeId::person(reviewer), Edge::Reviewed, &id);
        }
        for approver in &mr.approved_by {
            self.edge(&NodeId::person(approver), Edge::Approved, &id);
        }
        for issue in &mr.closes {
            // A request that another's description says it closes is not closed by it.
            let issue = issue.clone().into();
            if matches!(&*self.numbers.resolve(&issue), NodeId::Thread(issue) if issue.kind == ThreadKind::Issue) {
                self.edge(&id, Edge::Closes, &issue);
            }
        }
        for file in mr.files.iter().filter(|_| mr.merged_at.is_none()) {
            for path in [Some(&file.path), file.old_path.as_ref()].into_iter().flatten() {
                let file = self.file_node(&mr.id.project, path);
                self.edge(&id, Edge::Proposes, &file);
            }
        }
        // The head of an unmerged request is no commit that it was merged as.
        if mr.merged_at.is_some() {
            for sha in [&mr.merge_commit_sha, &mr.squash_commit_sha].into_iter().flatten() {
                let commit = NodeId::commit(&mr.id.project, sha);
                self.commit(&commit, sha);
                self.edge(&id, Edge::MergedAs, &commit);
            }
        }
        if let Some(sha) = &mr.head_sha {
            self.own(&id, "headCommit", sha);
        }
    }

    fn commit(&mut self, id: &NodeId, sha: &str) {
        self.class(id, &format!("{NAMESPACE}Commit"));
        self.own(id, "sha", sha);
    }

    fn discussion(&mut self, discussion: &Discussion) {
        let thread = NodeId::Thread(discussion.thread.clone());
        for event in &discussion.events {
            self.event(&thread, event);
        }
        let (Some(first), Some(last)) = (discussion.notes.first(), discussion.notes.last()) else { return };
        let id = discussion.node_id();
        self.class(&id, &format!("{SIOC}Thread"));
        self.edge(&id, Edge::PartOf, &thread);
        self.flag(&id, "individual", discussion.individual);
        self.flag(&id, "resolvable", discussion.is_resolvable());
        self.flag(&id, "isResolved", discussion.is_resolved());
        self.instant(&id, format!("{DCTERMS}created"), first.created_at);
        self.instant(&id, format!("{NAMESPACE}lastNoteAt"), last.created_at);
        self.link(&id, &discussion.web_url);
        if let Some(author) = &first.author {
            self.edge(&NodeId::person(author), Edge::Authored, &id);
        }
        let mut before: Option<NodeId> = None;
        for note in &discussion.notes {
            let note_id = discussion.note_id(note);
            self.note(&note_id, note, discussion);
            self.edge(&note_id, Edge::PartOf, &id);
            if let Some(before) = &before {
                self.edge(&note_id, Edge::RepliesTo, before);
            }
            if let Some(person) = &note.resolved_by {
                self.edge(&NodeId::person(person), Edge::Resolved, &id);
            }
            before = Some(note_id);
        }
    }

    fn note(&mut self, id: &NodeId, note: &Note, discussion: &Discussion) {
        self.class(id, &format!("{SIOC}Post"));
        self.instant(id, format!("{DCTERMS}created"), note.created_at);
        if let Some(author) = &note.author {
            self.edge(&NodeId::person(author), Edge::Authored, id);
        }
        let kind = match note.kind {
            NoteKind::Comment => "comment",
            NoteKind::Discussion => "discussion",
            NoteKind::Diff => "diff",
        };
        self.own(id, "noteKind", kind);
        self.secrets(id, &note.secrets());
        let thread = NodeId::Thread(discussion.thread.clone());
        self.references(id, &thread, &note.body, discussion.forge, &discussion.web_url);
        self.tickets(id, self.trackers.in_markdown(&note.body));
        let Some(position) = &note.position else { return };
        let project = &discussion.thread.project;
        let file = self.file_node(project, &position.new_path);
        self.edge(id, Edge::CommentsOn, &file);
        self.own(id, "oldPath", &position.old_path);
        if let Some((first, last)) = position.old_lines {
            self.number(id, "oldLineStart", first.into());
            self.number(id, "oldLineEnd", last.into());
        }
        if let Some((first, last)) = position.new_lines {
            self.number(id, "newLineStart", first.into());
            self.number(id, "newLineEnd", last.into());
        }
        for (name, sha) in [("baseCommit", &position.base_sha), ("headCommit", &position.head_sha)] {
            if let Some(sha) = sha {
                self.own(id, name, sha);
            }
        }
    }

    fn event(&mut self, thread: &NodeId, event: &SystemEvent) {
        match event {
            SystemEvent::MentionedIn(source) => self.edge(source, Edge::References, thread),
            SystemEvent::ClosedBy(source) => self.edge(source, Edge::Closes, thread),
            SystemEvent::DuplicateOf(other) => self.edge(thread, Edge::Duplicates, &other.clone().into()),
            SystemEvent::RelatedTo(other) => self.edge(thread, Edge::RelatesTo, &other.clone().into()),
            SystemEvent::Blocks(other) => self.edge(thread, Edge::Blocks, &other.clone().into()),
            SystemEvent::BlockedBy(other) => self.edge(&other.clone().into(), Edge::Blocks, thread),
            SystemEvent::AssignedTo(person) => self.edge(thread, Edge::WasAssignedTo, &NodeId::person(person)),
            SystemEvent::ReviewRequested(person) => self.edge(thread, Edge::ReviewRequested, &NodeId::person(person)),
        }
    }

    /// Edges for what a text refers to, but for what it is part of.
    fn references(&mut self, from: &NodeId, thread: &NodeId, markdown: &str, forge: Forge, web_url: &str) {
        let Some(project) = thread.project() else { return };
        let forge_url = forge.url_in(web_url, project).unwrap_or_default();
        let context = ReferenceContext { forge, project, forge_url };
        for target in extract(markdown, context) {
            match &*self.numbers.resolve(&target) {
                target @ NodeId::Person(_) => self.edge(from, Edge::Mentions, target),
                target if target == from || target == thread => {}
                target => self.edge(from, Edge::References, target),
            }
        }
    }
}
