//! Items of a repository as quads; those of a forge are in the parent module.

use backstory_model::{
    classify,
    code::{ContentAnalysis, DocAnalysis, Entity, FileAnalysis, TestRole, last_part_of_name},
    commit::{ChangeStatus, Commit, FileChange, Sha, Tag},
    edge::Edge,
    id::{NAMESPACE, NodeId, NoteSource, ThreadId},
    message::{self, ClosingVerb, CorrectionKind, RelatedChange},
    repository::{
        CoChangedPairs, CodeLinkKind, CodeRanks, CommitRecord, EntityChange, EntityChangeKind, HeadFile, IndexedBranch,
        Merge, Record, RepositoryItem, ResolvedFileLinks, Shipment, code_node_id, identity_key,
    },
};
use oxigraph::model::{Literal, NamedNode, NamedOrBlankNode, Quad, vocab::xsd};

use super::{DCTERMS, QuadBuilder};

impl QuadBuilder<'_> {
    pub(super) fn repository(&mut self, of: &RepositoryItem) {
        let project = &of.project;
        match &of.record {
            Record::Repository(repository) => {
                let id = NodeId::Project(project.clone());
                self.class(&id, &format!("{NAMESPACE}Project"));
                self.own(&id, "path", project);
                self.own(&id, "repository", &repository.address);
                self.flag(&id, "shallow", repository.shallow);
                if let Some(branch) = &repository.default_branch {
                    self.own(&id, "defaultBranch", branch.as_str());
                }
            }
            Record::Commit(record) => self.commit_record(of, record),
            Record::Merge(merge) => self.merge(project, merge),
            Record::Branch(branch) => self.branch(project, branch),
            Record::Tag(tag) => self.tag(project, tag),
            Record::Shipment(shipment) => self.shipment(project, shipment),
            Record::File(file) => self.head_file(project, file),
            Record::FileLinks(path, links) => self.file_links(project, path.as_str(), links),
            Record::CoChanges(changes) => self.co_changes(project, changes),
            Record::Importance(importance) => self.importance(project, importance),
        }
    }

    /// Says how the inferred edges of the graph were found.
    fn method(&mut self, method: &str) {
        let oxigraph::model::GraphName::NamedNode(graph) = &self.graph else { return };
        self.quads.push(Quad::new(
            NamedOrBlankNode::from(graph.clone()),
            NamedNode::new_unchecked(format!("{NAMESPACE}method")),
            Literal::new_simple_literal(method),
            self.graph.clone(),
        ));
    }

    pub(super) fn file_node(&mut self, project: &str, path: &str) -> NodeId {
        let id = NodeId::file(project, path);
        self.class(&id, &format!("{NAMESPACE}File"));
        self.own(&id, "path", path);
        id
    }

    fn decimal(&mut self, subject: &NodeId, name: &str, millionths: u64) {
        let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
        self.add(subject, format!("{NAMESPACE}{name}"), Literal::new_typed_literal(text, xsd::DECIMAL));
    }

    fn commit_record(&mut self, of: &RepositoryItem, record: &CommitRecord) {
        let (project, commit) = (&of.project, &record.commit);
        let id = NodeId::commit(project, &commit.sha.to_string());
        self.commit(&id, &commit.sha.to_string());
        self.text(&id, format!("{DCTERMS}title"), commit.title());
        self.instant(&id, format!("{DCTERMS}created"), commit.author.at);
        self.instant(&id, format!("{NAMESPACE}committedAt"), commit.committer.at);
        if let Some(at) = record.corrected_at {
            self.instant(&id, format!("{NAMESPACE}correctedAt"), at);
        }
        self.edge(&id, Edge::PartOf, &NodeId::Project(project.clone()));
        let author = NodeId::person(identity_key(&commit.author.name, &commit.author.email));
        let committer = NodeId::person(identity_key(&commit.committer.name, &commit.committer.email));
        self.edge(&author, Edge::Authored, &id);
        if committer != author {
            self.edge(&committer, Edge::Committed, &id);
        }
        for parent in &commit.parents {
            self.edge(&NodeId::commit(project, &parent.to_string()), Edge::ParentOf, &id);
        }
        if record.rewritten {
            self.flag(&id, "rewritten", true);
        }
        self.secrets(&id, &commit.secret_counts());
        self.add_message_facts(of, record, &id);
        // What a merge changes against its first parent are the commits that it brought.
        if commit.is_merge() {
            return;
        }
        self.change_type(&id, commit);
        for change in &commit.changes {
            self.file_change(project, &id, change);
        }
        for change in &record.entities {
            self.entity_change(project, &id, change);
        }
    }

    fn change_type(&mut self, id: &NodeId, commit: &Commit) {
        let Some(found) = classify::classify_commit(commit) else { return };
        self.own(id, "changeType", found.main.kind.as_str());
        self.decimal(id, "changeTypeConfidence", millionths(found.main.confidence));
        let (insertions, deletions) = commit.line_counts();
        self.number(id, "insertions", insertions);
        self.number(id, "deletions", deletions);
    }

    /// What the message says.
    fn add_message_facts(&mut self, of: &RepositoryItem, record: &CommitRecord, id: &NodeId) {
        let project = &of.project;
        let findings = message::parse_references(&record.commit.message, of.context());
        let whole = |project: &str, sha: &str| {
            let known = record.named.get(sha).filter(|_| project == of.project).map(Sha::to_string);
            NodeId::commit(project, &known.unwrap_or_else(|| sha.to_owned()))
        };
        let earlier = |earlier: &RelatedChange| match earlier {
            RelatedChange::Commit { project, sha } => Some(whole(project, sha)),
            RelatedChange::Request(request) => Some(request.clone().into()),
            RelatedChange::Subject(_) => None,
        };
        for closing in &findings.closes {
            let edge = match closing.kind {
                ClosingVerb::Closes => Edge::Closes,
                ClosingVerb::Fixes => Edge::Fixes,
            };
            self.edge(id, edge, &closing.issue.clone().into());
        }
        for carrier in &findings.introduced_by {
            self.edge(&carrier.request.clone().into(), Edge::MergedAs, id);
        }
        for target in findings.reverts.iter().filter_map(earlier) {
            self.edge(id, Edge::Reverts, &target);
        }
        for target in findings.cherry_picks.iter().filter_map(earlier) {
            self.edge(id, Edge::CherryPickOf, &target);
        }
        for correction in findings.corrects.iter().filter(|correction| correction.kind == CorrectionKind::Fixes) {
            if let Some(target) = earlier(&correction.target) {
                self.edge(id, Edge::Fixes, &target);
            }
        }
        self.tickets(id, self.trackers.in_plain_text(&record.commit.message));
        self.security(id, &classify::security_flags(&record.commit));
        for target in &findings.mentions {
            match target {
                NodeId::Person(_) => self.edge(id, Edge::Mentions, target),
                NodeId::Commit { project, sha } => self.edge(id, Edge::References, &whole(project, sha)),
                target => self.edge(id, Edge::References, target),
            }
        }
        for note in message::design_notes(&record.commit.message) {
            let source = NoteSource::Commit(record.commit.sha.to_string());
            let note_id = NodeId::DesignNote { project: project.clone(), source, line: note.first_line };
            self.design_note(&note_id, note.last_line, "rationale");
            self.edge(&note_id, Edge::PartOf, id);
        }
    }

    fn design_note(&mut self, id: &NodeId, last_line: u32, kind: &str) {
        let NodeId::DesignNote { line, .. } = id else { return };
        self.class(id, &format!("{NAMESPACE}DesignNote"));
        self.own(id, "noteKind", kind);
        self.number(id, "lineStart", u64::from(*line));
        self.number(id, "lineEnd", u64::from(last_line));
    }

    fn file_change(&mut self, project: &str, commit: &NodeId, change: &FileChange) {
        // What a path was is said where the path comes from.
        let file = NodeId::file(project, change.path.as_str());
        match change.status {
            ChangeStatus::Added | ChangeStatus::Copied => {
                self.file_node(project, change.path.as_str());
                self.edge(commit, Edge::Introduces, &file);
            }
            ChangeStatus::Deleted => self.edge(commit, Edge::Removes, &file),
            ChangeStatus::Modified | ChangeStatus::TypeChanged => self.edge(commit, Edge::Modifies, &file),
            ChangeStatus::Renamed => {
                self.file_node(project, change.path.as_str());
                self.edge(commit, Edge::Modifies, &file);
                if let Some(old) = &change.old_path {
                    let old = NodeId::file(project, old.as_str());
                    self.edge(&old, Edge::ReplacedBy, &file);
                    self.edge(commit, Edge::Removes, &old);
                }
            }
        }
    }

    fn entity_change(&mut self, project: &str, commit: &NodeId, change: &EntityChange) {
        let id = NodeId::entity(project, change.entity.path.as_str(), &change.entity.name);
        let edge = match change.change {
            EntityChangeKind::Introduced => Edge::Introduces,
            EntityChangeKind::Modified => Edge::Modifies,
            EntityChangeKind::Removed => Edge::Removes,
        };
        self.edge(commit, edge, &id);
        if change.change == EntityChangeKind::Removed {
            self.removed_name(&id);
        }
        if change.change == EntityChangeKind::Introduced || change.from.is_some() {
            self.entity_class(&id, change.kind);
        }
        if let Some(from) = &change.from {
            let from = NodeId::entity(project, from.path.as_str(), &from.name);
            self.edge(&from, Edge::ReplacedBy, &id);
            self.edge(commit, Edge::Removes, &from);
            self.removed_name(&from);
        }
    }

    /// What a removed entity is found by: the IRI of one begins with its path, which who asks for a name need not know.
    fn removed_name(&mut self, id: &NodeId) {
        if let NodeId::Entity { name, .. } = id {
            self.own(id, "removedName", last_part_of_name(name));
        }
    }

    fn entity_class(&mut self, id: &NodeId, kind: backstory_model::code::EntityKind) {
        self.class(id, &format!("{NAMESPACE}CodeEntity"));
        self.own(id, "entityKind", kind.as_str());
    }

    fn merge(&mut self, project: &str, merge: &Merge) {
        let id = NodeId::commit(project, &merge.sha.to_string());
        for brought in &merge.brought {
            self.edge(&NodeId::commit(project, &brought.to_string()), Edge::MergedBy, &id);
        }
        for request in &merge.requests {
            self.edge(&ThreadId::merge_request(project, *request).into(), Edge::MergedAs, &id);
        }
    }

    fn branch(&mut self, project: &str, branch: &IndexedBranch) {
        let id = NodeId::Branch { project: project.to_owned(), name: branch.branch.name.as_str().to_owned() };
        self.class(&id, &format!("{NAMESPACE}Branch"));
        self.text(&id, format!("{DCTERMS}title"), branch.branch.name.as_str());
        self.flag(&id, "default", branch.default);
        self.edge(&id, Edge::PartOf, &NodeId::Project(project.to_owned()));
        self.edge(&id, Edge::PointsAt, &NodeId::commit(project, &branch.branch.tip.to_string()));
    }

    fn tag(&mut self, project: &str, tag: &Tag) {
        let id = NodeId::Tag { project: project.to_owned(), name: tag.name.as_str().to_owned() };
        self.class(&id, &format!("{NAMESPACE}Tag"));
        self.text(&id, format!("{DCTERMS}title"), tag.name.as_str());
        self.edge(&id, Edge::PartOf, &NodeId::Project(project.to_owned()));
        if tag.kind == backstory_model::commit::ObjectKind::Commit {
            self.edge(&id, Edge::PointsAt, &NodeId::commit(project, &tag.target.to_string()));
        }
        if let Some(tagger) = tag.annotation.as_ref().and_then(|annotation| annotation.tagger.as_ref()) {
            self.instant(&id, format!("{DCTERMS}created"), tagger.at);
            self.edge(&NodeId::person(identity_key(&tagger.name, &tagger.email)), Edge::Authored, &id);
        }
    }

    fn shipment(&mut self, project: &str, shipment: &Shipment) {
        let tag = NodeId::Tag { project: project.to_owned(), name: shipment.tag.as_str().to_owned() };
        for commit in &shipment.commits {
            self.edge(&NodeId::commit(project, &commit.to_string()), Edge::ShippedIn, &tag);
        }
    }

    fn head_file(&mut self, project: &str, file: &HeadFile) {
        let id = self.file_node(project, file.path.as_str());
        self.flag(&id, "current", true);
        self.own(&id, "blob", &file.blob.to_string());
        self.number(&id, "bytes", file.bytes);
        self.edge(&id, Edge::PartOf, &NodeId::Project(project.to_owned()));
        let Some(FileAnalysis { line_count, content }) = &file.analysis else { return };
        self.number(&id, "lines", u64::from(*line_count));
        match content {
            ContentAnalysis::Code(code) => {
                self.own(&id, "language", code.language.name());
                let node = |at: u32| {
                    let entity = code.entities.get(at as usize)?;
                    Some(NodeId::entity(project, file.path.as_str(), &entity.qualified_name))
                };
                for entity in &code.entities {
                    let own = NodeId::entity(project, file.path.as_str(), &entity.qualified_name);
                    self.head_entity(&own, entity);
                    let holder = entity.parent.and_then(node).unwrap_or_else(|| id.clone());
                    self.edge(&holder, Edge::Contains, &own);
                }
                for note in &code.explanations {
                    let source = NoteSource::File(file.path.as_str().to_owned());
                    let own = NodeId::DesignNote { project: project.to_owned(), source, line: note.lines.first };
                    self.design_note(&own, note.lines.last, note.kind.as_str());
                    self.edge(&own, Edge::PartOf, &note.entity.and_then(node).unwrap_or_else(|| id.clone()));
                }
            }
            ContentAnalysis::Doc(doc) => self.decision(project, file.path.as_str(), &id, doc),
            ContentAnalysis::Text => {}
        }
    }

    fn decision(&mut self, project: &str, path: &str, file: &NodeId, doc: &DocAnalysis) {
        let Some(decision) = &doc.decision else { return };
        let (first, last) = decision.lines.map_or((1, 1), |lines| (lines.first, lines.last));
        let source = NoteSource::File(path.to_owned());
        let id = NodeId::DesignNote { project: project.to_owned(), source, line: first };
        self.design_note(&id, last, "decision");
        self.text(&id, format!("{DCTERMS}title"), &decision.title);
        if let Some(status) = &decision.status {
            self.own(&id, "status", status);
        }
        self.edge(&id, Edge::PartOf, file);
    }

    fn head_entity(&mut self, id: &NodeId, entity: &Entity) {
        self.entity_class(id, entity.kind);
        if entity.test == TestRole::Test {
            self.class(id, &format!("{NAMESPACE}TestCase"));
        }
        self.flag(id, "current", true);
        self.text(id, format!("{DCTERMS}title"), &entity.qualified_name);
        self.own(id, "signature", &entity.signature);
        self.number(id, "lineStart", u64::from(entity.lines.first));
        self.number(id, "lineEnd", u64::from(entity.lines.last));
    }

    fn file_links(&mut self, project: &str, path: &str, found: &ResolvedFileLinks) {
        self.method("names of definitions, imports and test files");
        let node = |path: &str, name: Option<&String>| match name {
            Some(name) => NodeId::entity(project, path, name),
            None => NodeId::file(project, path),
        };
        for link in &found.links {
            let edge = match link.kind {
                CodeLinkKind::Calls => Edge::Calls,
                CodeLinkKind::Imports => Edge::Imports,
                CodeLinkKind::Extends => Edge::Extends,
                CodeLinkKind::Implements => Edge::Implements,
            };
            self.edge(&node(path, link.from.as_ref()), edge, &node(&link.path, link.to.as_ref()));
        }
        for test in &found.tests {
            self.edge(&NodeId::file(project, path), Edge::VerifiedBy, &NodeId::file(project, &test.path));
        }
        for (test, other_path, other) in &found.verifies {
            let tested = NodeId::entity(project, other_path, other);
            self.edge(&tested, Edge::VerifiedBy, &NodeId::entity(project, path, test));
        }
    }

    fn co_changes(&mut self, project: &str, changes: &CoChangedPairs) {
        self.method("commits that change both");
        for pair in &changes.pairs {
            self.edge(&code_node_id(project, &pair.first), Edge::CoEvolvesWith, &code_node_id(project, &pair.second));
        }
    }

    fn importance(&mut self, project: &str, importance: &CodeRanks) {
        self.method("PageRank over calls, imports and base types");
        for (code, rank) in &importance.ranks {
            self.decimal(&code_node_id(project, code), "importance", *rank);
        }
    }
}

fn millionths(share: f32) -> u64 {
    // 0 to 1, so neither sign nor size is lost.
    (f64::from(share.clamp(0.0, 1.0)) * 1_000_000.0).round() as u64
}
