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
    /// Commits.
    commits: Vec<Node>,
    /// Paths of files.
    files: Vec<String>,
    /// Who wrote it.
    authors: Vec<String>,
    /// Issues, merge requests and discussions.
    items: Vec<Node>,
}

/// How many entries of a section.
#[derive(SimpleObject)]
pub(crate) struct PackCount {
    /// The section.
    section: PackSection,
    /// How many.
    count: u32,
}

/// A name and what it stands for.
#[derive(SimpleObject)]
pub(crate) struct PackParameter {
    /// Its name.
    name: String,
    /// What it is.
    value: String,
}

/// An item or chunk by its id and what it says by its hash.
#[derive(SimpleObject)]
pub(crate) struct PackHash {
    /// Reference of the item, or id of the chunk.
    id: ID,
    /// SHA-256 of its text.
    content_hash: String,
}

/// What makes the same pack again, and shows what was read.
#[derive(SimpleObject)]
pub(crate) struct PackManifest {
    /// It follows from everything below.
    id: ID,
    /// What was asked.
    query: String,
    /// How it was asked.
    parameters: Vec<PackParameter>,
    /// Id of the state of the index.
    snapshot: ID,
    /// When that state was reached; null while it is on no record.
    timestamp: Option<DateTime>,
    /// The indexed commit of each repository, by project.
    commits: Vec<PackParameter>,
    /// Name of the embedding model.
    embedding_model: String,
    /// Documents of the index.
    documents: u64,
    /// Documents that have vectors.
    embedded: u64,
    /// Who counted the tokens.
    tokenizer: String,
    /// What each part of the score weighs.
    weights: Vec<PackParameter>,
    /// The items that were read.
    items: Vec<PackHash>,
    /// The chunks that are in the pack; the hash is that of their text.
    chunks: Vec<PackHash>,
    /// Entries of each section.
    counts: Vec<PackCount>,
}

/// How many entries each section has.
pub(super) fn counts(of: BTreeMap<pack::Section, usize>) -> Vec<PackCount> {
    of.into_iter().map(|(section, count)| PackCount { section: section.into(), count: number(count) }).collect()
}

fn named<V: ToString>(of: BTreeMap<String, V>) -> Vec<PackParameter> {
    of.into_iter().map(|(name, value)| PackParameter { name, value: value.to_string() }).collect()
}

fn hashes(of: Vec<pack::HashedEntry>) -> Vec<PackHash> {
    of.into_iter().map(|of| PackHash { id: of.id.into(), content_hash: of.content_hash }).collect()
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
            documents: of.documents,
            embedded: of.embedded,
            tokenizer: of.tokenizer,
            weights: named(of.weights),
            items: hashes(of.items),
            chunks: hashes(of.chunks),
            counts: counts(of.counts),
        }
    }
}

impl From<pack::Provenance> for PackSources {
    fn from(of: pack::Provenance) -> Self {
        Self { commits: nodes(&of.commits), files: of.files, authors: of.authors, items: nodes(&of.items) }
    }
}
