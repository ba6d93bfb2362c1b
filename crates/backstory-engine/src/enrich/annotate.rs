//! Annotating nodes by hand or by a program, and listing annotations.

use std::collections::BTreeMap;

use backstory_model::{id::NodeId, text::truncate_echo};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    files::check_file_has_line,
    generated::annotations::{Annotation, annotated_nodes, annotations_of, normal_tag, put_annotations},
    read::{existing_nodes, not_found, resolve_id},
    resources::Resources,
    use_case::{Scope, UseCase},
};

/// Most annotations of a node.
pub const MAX_ANNOTATIONS: usize = 100;
/// Most annotated nodes of one answer.
pub const MAX_ANNOTATED: usize = 1_000;
/// Longest content, in characters.
pub const MAX_CONTENT: usize = 10_000;
/// Longest summary, in characters.
const MAX_SUMMARY: usize = 1_000;
/// Longest tag, kind, source, and name of metadata, in characters.
const MAX_WORD: usize = 100;
/// Most tags, and most metadata, of an annotation.
const MAX_TAGS: usize = 50;

/// Writes something about a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnnotateRequest {
    /// The node: a file, a code entity, a commit, an issue, a merge request.
    pub id: NodeId,
    /// What it is, in a word; `note` if absent.
    #[serde(default)]
    pub kind: Option<String>,
    /// What made it; `person` if absent.
    #[serde(default)]
    pub source: Option<String>,
    /// What it says.
    pub content: String,
    /// The same in a sentence.
    #[serde(default)]
    pub summary: Option<String>,
    /// Tags, in any case.
    #[serde(default)]
    pub tags: Vec<String>,
    /// First and last line of a file that it is about.
    #[serde(default)]
    pub lines: Option<(u32, u32)>,
    /// More of it, by name.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Whether somebody has approved it.
    #[serde(default)]
    pub approved: bool,
}

impl UseCase for AnnotateRequest {
    const NAME: &'static str = "annotate";
    const SCOPE: Scope = Scope::Admin;
    type Answer = Annotation;

    async fn run(self, resources: &Resources) -> Result<Annotation> {
        annotate(resources, self).await
    }
}

/// Removes an annotation of a node, or approves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeAnnotation {
    /// The node.
    pub id: NodeId,
    /// Number of the annotation.
    pub number: u32,
    /// What to do with it.
    pub change: AnnotationChange,
}

/// What to do with an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnnotationChange {
    /// It is taken away.
    Remove,
    /// It is approved.
    Approve,
}

impl UseCase for ChangeAnnotation {
    const NAME: &'static str = "change-annotation";
    const SCOPE: Scope = Scope::Admin;
    /// The annotations that the node has afterwards.
    type Answer = Vec<Annotation>;

    async fn run(self, resources: &Resources) -> Result<Vec<Annotation>> {
        change(resources, self).await
    }
}

/// Requests annotations: those of a node, or all that have some tags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListAnnotations {
    /// The node; all if absent.
    #[serde(default)]
    pub id: Option<NodeId>,
    /// Tags that they all have, in any case.
    #[serde(default)]
    pub tags: Vec<String>,
    /// One of these kinds; all if empty.
    #[serde(default)]
    pub kinds: Vec<String>,
}

/// A node and what was written about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnnotatedNode {
    /// The node.
    pub id: NodeId,
    /// The annotations, in the order in which they were written.
    pub annotations: Vec<Annotation>,
}

impl UseCase for ListAnnotations {
    const NAME: &'static str = "annotations";
    /// The nodes by reference, at most [`MAX_ANNOTATED`].
    type Answer = Vec<AnnotatedNode>;

    async fn run(self, resources: &Resources) -> Result<Vec<AnnotatedNode>> {
        list(resources, self).await
    }
}

async fn annotate(resources: &Resources, request: AnnotateRequest) -> Result<Annotation> {
    check(&request)?;
    let id = resolve_id(resources, request.id.clone()).await?;
    if !existing_nodes(resources, vec![id.clone()]).await?.contains(&id) {
        return Err(not_found("node", &id.to_string()));
    }
    resources
        .blocking(move |resources| {
            if let (Some((_, last)), NodeId::File { project, path }) = (request.lines, &id) {
                check_file_has_line(resources, project, path, last)?;
            }
            // Of two at the same time one would be lost.
            let _held = resources.shared.annotating.lock();
            let mut all = annotations_of(resources, &id)?;
            if all.len() >= MAX_ANNOTATIONS {
                return Err(Error::invalid(format!("{id} has {MAX_ANNOTATIONS} annotations; remove one first")));
            }
            let clean = |text: &str| resources.redactor().redact(text.trim()).0.into_owned();
            let mut tags: Vec<String> = request.tags.iter().map(|tag| clean(&normal_tag(tag))).collect();
            tags.sort();
            tags.dedup();
            let annotation = Annotation {
                number: all.iter().map(|of| of.number).max().unwrap_or(0) + 1,
                kind: clean(request.kind.as_deref().unwrap_or("note")),
                source: clean(request.source.as_deref().unwrap_or("person")),
                content: clean(&request.content),
                summary: request.summary.as_deref().map(clean),
                tags,
                lines: request.lines,
                metadata: request.metadata.iter().map(|(name, value)| (clean(name), clean(value))).collect(),
                approved: request.approved,
                author: resources.actor().to_string(),
                created_at: Timestamp::from_millisecond(Timestamp::now().as_millisecond()).unwrap_or_default(),
            };
            all.push(annotation.clone());
            put_annotations(resources, &id, &all)?;
            Ok(annotation)
        })
        .await
}

fn check(request: &AnnotateRequest) -> Result<()> {
    let length = request.content.trim().chars().count();
    if length == 0 || length > MAX_CONTENT {
        let message = format!("the annotation has {length} characters; it must have 1 to {MAX_CONTENT}");
        return Err(Error::invalid(message));
    }
    if request.summary.as_ref().is_some_and(|summary| summary.chars().count() > MAX_SUMMARY) {
        return Err(Error::invalid(format!("the summary has more than {MAX_SUMMARY} characters")));
    }
    if request.tags.len() > MAX_TAGS || request.metadata.len() > MAX_TAGS {
        return Err(Error::invalid(format!("an annotation has at most {MAX_TAGS} tags and {MAX_TAGS} metadata")));
    }
    let words = request.tags.iter().chain(&request.kind).chain(&request.source).chain(request.metadata.keys());
    let is_word = |text: &String| !text.trim().is_empty() && text.chars().count() <= MAX_WORD;
    if !words.clone().all(is_word) || request.metadata.values().any(|value| value.chars().count() > MAX_SUMMARY) {
        let message = format!("tags, kinds, sources and names of metadata have 1 to {MAX_WORD} characters");
        return Err(Error::invalid(message));
    }
    if let Some(kind) = request.kind.as_deref().filter(|kind| kind.trim().contains(char::is_whitespace)) {
        return Err(Error::invalid(format!("the kind '{}' has several words", truncate_echo(kind)))
            .with_hint("write it in one, like review or audit-result"));
    }
    match (request.lines, &request.id) {
        (None, _) => Ok(()),
        (Some((first, last)), NodeId::File { .. }) if first > 0 && first <= last => Ok(()),
        (Some((first, last)), _) => {
            Err(Error::invalid(format!("{first}-{last} is not a range of lines of {}", request.id))
                .with_hint("lines are those of a file, from 1"))
        }
    }
}

async fn change(resources: &Resources, request: ChangeAnnotation) -> Result<Vec<Annotation>> {
    let id = resolve_id(resources, request.id).await?;
    resources
        .blocking(move |resources| {
            let _held = resources.shared.annotating.lock();
            let mut all = annotations_of(resources, &id)?;
            let Some(at) = all.iter().position(|of| of.number == request.number) else {
                let message = format!("{id} has no annotation {}", request.number);
                return Err(Error::new(ErrorKind::NotFound, message));
            };
            match request.change {
                AnnotationChange::Remove => drop(all.remove(at)),
                AnnotationChange::Approve => all[at].approved = true,
            }
            put_annotations(resources, &id, &all)?;
            Ok(all)
        })
        .await
}

async fn list(resources: &Resources, request: ListAnnotations) -> Result<Vec<AnnotatedNode>> {
    let ListAnnotations { id, tags, kinds } = request;
    let tags: Vec<String> = tags.iter().map(|tag| normal_tag(tag)).collect();
    let id = match id {
        Some(id) => Some(resolve_id(resources, id).await?),
        None => None,
    };
    resources
        .blocking(move |resources| {
            let mut found = match id {
                Some(id) => {
                    let mut own = annotations_of(resources, &id)?;
                    own.retain(|of| tags.iter().all(|tag| of.tags.contains(tag)));
                    vec![(id, own)]
                }
                None => annotated_nodes(resources, &tags)?,
            };
            for (_, annotations) in &mut found {
                annotations.retain(|of| kinds.is_empty() || kinds.contains(&of.kind));
            }
            found.retain(|(_, annotations)| !annotations.is_empty());
            found.truncate(MAX_ANNOTATED);
            Ok(found.into_iter().map(|(id, annotations)| AnnotatedNode { id, annotations }).collect())
        })
        .await
}
