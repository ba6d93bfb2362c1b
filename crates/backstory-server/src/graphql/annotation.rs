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
    /// Its number among those of the node, from 1.
    number: u32,
    /// What it is: `note`, `summary`, `review`, or another word.
    kind: String,
    /// What made it: `person`, or the name of a program.
    source: String,
    /// What it says.
    content: String,
    /// The same in a sentence.
    summary: Option<String>,
    /// Tags, in lower case.
    tags: Vec<String>,
    /// Lines of a file that it is about.
    lines: Option<LineRange>,
    /// More of it, by name.
    metadata: Vec<Metadatum>,
    /// Whether somebody has approved it.
    approved: bool,
    /// Who wrote it down.
    author: String,
    /// When.
    created_at: DateTime,
}

/// Something that is known of an annotation, by name.
#[derive(SimpleObject)]
pub(crate) struct Metadatum {
    /// Its name.
    name: String,
    /// What it is.
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
    /// What it is, in a word; `note` if absent.
    kind: Option<String>,
    /// What made it; `person` if absent.
    source: Option<String>,
    /// What it says.
    content: String,
    /// The same in a sentence.
    summary: Option<String>,
    /// Tags, in any case.
    tags: Option<Vec<String>>,
    /// Lines of a file that it is about.
    lines: Option<LineRangeInput>,
    /// Whether somebody has approved it.
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
