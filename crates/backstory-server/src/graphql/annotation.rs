//! GraphQL types of annotations: what people and programs wrote about nodes.

use std::collections::BTreeMap;

use async_graphql::{Context, ID, InputObject, Result, SimpleObject};
use backstory_engine::{
    enrich::{self, AnnotateRequest, ListAnnotations},
    model::id::NodeId,
};

use super::{
    code::{LineRange, LineRangeInput},
    loaders,
    scalar::DateTime,
};

/// What somebody wrote about a node.
#[derive(SimpleObject)]
pub(crate) struct Annotation {
    /// Number of the annotation among those of the node, from 1.
    number: u32,
    /// Kind of the annotation: `note`, `summary`, `review`, or another word.
    kind: String,
    /// What made the annotation: `person`, or the name of a program.
    source: String,
    /// Text of the annotation.
    content: String,
    /// Text of the annotation in a sentence; null if nobody wrote one.
    summary: Option<String>,
    /// Tags of the annotation, in lower case.
    tags: Vec<String>,
    /// Lines of a file that the annotation is about; null if it is about the whole node.
    lines: Option<LineRange>,
    /// What else is known of the annotation, by name.
    metadata: Vec<Metadatum>,
    /// Whether somebody has approved the annotation.
    approved: bool,
    /// Name of who wrote the annotation down.
    author: String,
    /// When the annotation was written down.
    created_at: DateTime,
}

/// Something that is known of an annotation, by name.
#[derive(SimpleObject)]
pub(crate) struct Metadatum {
    /// Name of what is known.
    name: String,
    /// Value of what is known.
    value: String,
}

impl From<enrich::Annotation> for Annotation {
    fn from(annotation: enrich::Annotation) -> Self {
        let metadata = annotation.metadata.into_iter().map(|(name, value)| Metadatum { name, value }).collect();
        Self {
            number: annotation.number,
            kind: annotation.kind,
            source: annotation.source,
            content: annotation.content,
            summary: annotation.summary,
            tags: annotation.tags,
            lines: annotation.lines.map(LineRange::from),
            metadata,
            approved: annotation.approved,
            author: annotation.author,
            created_at: annotation.created_at.into(),
        }
    }
}

/// What is written about a node.
#[derive(InputObject)]
pub(crate) struct AnnotationInput {
    /// Kind of the annotation, in a word; `note` if absent.
    kind: Option<String>,
    /// What made the annotation; `person` if absent.
    source: Option<String>,
    /// Text of the annotation.
    content: String,
    /// Text of the annotation in a sentence.
    summary: Option<String>,
    /// Tags of the annotation, in any case; none if absent or empty.
    tags: Option<Vec<String>>,
    /// Lines of a file that the annotation is about; the whole node if absent.
    lines: Option<LineRangeInput>,
    /// Whether somebody has approved the annotation; false if absent.
    approved: Option<bool>,
}

/// What was written about a node, as far as it has all of these tags.
pub(super) async fn of(ctx: &Context<'_>, id: &NodeId, tags: Option<Vec<String>>) -> Result<Vec<Annotation>> {
    let request = ListAnnotations { id: Some(id.clone()), tags: tags.unwrap_or_default(), kinds: vec![] };
    let found = loaders::engine(ctx)?.answer(request).await?;
    Ok(found.into_iter().flat_map(|node| node.annotations).map(Annotation::from).collect())
}

/// Writes something about a node.
pub(super) async fn annotate(ctx: &Context<'_>, id: &ID, input: AnnotationInput) -> Result<Annotation> {
    let request = AnnotateRequest {
        id: id.as_str().parse()?,
        kind: input.kind,
        source: input.source,
        content: input.content,
        summary: input.summary,
        tags: input.tags.unwrap_or_default(),
        lines: input.lines.map(|lines| lines.bounds()),
        metadata: BTreeMap::new(),
        approved: input.approved.unwrap_or(false),
    };
    Ok(loaders::engine(ctx)?.answer(request).await?.into())
}
