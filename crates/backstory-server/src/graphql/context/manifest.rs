//! GraphQL types of a pack's manifest.

use std::collections::BTreeMap;

use async_graphql::{ID, SimpleObject};
use backstory_engine::model::pack;

use super::{
    super::{node::Node, scalar::DateTime},
    PackSection, nodes, number,
};

/// What a pack is made from.
#[derive(SimpleObject)]
pub(crate) struct PackSources {
    /// Commits that the pack is made from.
    commits: Vec<Node>,
    /// Paths of files that the pack is made from.
    files: Vec<String>,
    /// Names of the people who wrote the sources.
    authors: Vec<String>,
    /// Issues, merge requests and discussions that the pack is made from.
    items: Vec<Node>,
}

/// How many entries a section of a pack has, or lacks.
#[derive(SimpleObject)]
pub(crate) struct PackCount {
    /// Section of the pack.
    section: PackSection,
    /// How many entries there are.
    count: u32,
}

/// A parameter of a request: its name and value.
#[derive(SimpleObject)]
pub(crate) struct ManifestParameter {
    /// Name of the parameter.
    name: String,
    /// Value of the parameter.
    value: String,
}

/// An item or chunk with the hash of its text.
#[derive(SimpleObject)]
pub(crate) struct PackHash {
    /// Id of the item as a node, or of the chunk.
    reference: ID,
    /// SHA-256 of the text, in hex.
    content_hash: String,
}

/// What is needed to make a pack again, and what was read.
#[derive(SimpleObject)]
pub(crate) struct PackManifest {
    /// Id of the manifest, which follows from everything else in it.
    id: ID,
    /// What was asked.
    query: String,
    /// Parameters of the request, by name.
    parameters: Vec<ManifestParameter>,
    /// Id of the state of the index that the pack was made from.
    snapshot: ID,
    /// When the state of the index was reached; null while it is not on record.
    timestamp: Option<DateTime>,
    /// Name of the indexed commit of each repository, by project.
    commits: Vec<ManifestParameter>,
    /// Name of the embedding model.
    embedding_model: String,
    /// How many documents the index has.
    document_count: u64,
    /// How many documents have vectors.
    embedded_count: u64,
    /// Name of the tokenizer that counted the tokens.
    tokenizer: String,
    /// Weight of each part of a score, 0 to 1.
    weights: Vec<ManifestParameter>,
    /// Items that were read.
    items: Vec<PackHash>,
    /// Chunks that are in the pack.
    chunks: Vec<PackHash>,
    /// How many entries each section has.
    counts: Vec<PackCount>,
}

/// How many entries each section has.
pub(super) fn counts(of: BTreeMap<pack::Section, usize>) -> Vec<PackCount> {
    of.into_iter().map(|(section, count)| PackCount { section: section.into(), count: number(count) }).collect()
}

fn named<V: ToString>(of: BTreeMap<String, V>) -> Vec<ManifestParameter> {
    of.into_iter().map(|(name, value)| ManifestParameter { name, value: value.to_string() }).collect()
}

fn hashes(of: Vec<pack::HashedEntry>) -> Vec<PackHash> {
    of.into_iter().map(|of| PackHash { reference: of.id.into(), content_hash: of.content_hash }).collect()
}

impl From<pack::Manifest> for PackManifest {
    fn from(of: pack::Manifest) -> Self {
        Self {
            id: of.id.into(),
            query: of.query,
            parameters: named(of.parameters),
            snapshot: of.snapshot.into(),
            timestamp: of.timestamp.map(DateTime::from),
            commits: named(of.commits),
            embedding_model: of.embedding_model,
            document_count: of.documents,
            embedded_count: of.embedded,
            tokenizer: of.tokenizer,
            weights: named(of.weights),
            items: hashes(of.items),
            chunks: hashes(of.chunks),
            counts: counts(of.counts),
        }
    }
}

impl From<pack::PackSources> for PackSources {
    fn from(of: pack::PackSources) -> Self {
        Self { commits: nodes(&of.commits), files: of.files, authors: of.authors, items: nodes(&of.items) }
    }
}
