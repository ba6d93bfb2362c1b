//! Search.

use async_graphql::{Context, ID, InputObject, Result, SimpleObject};
use backstory_engine::{
    index, model,
    search::{self, SearchRequest},
};
use jiff::Timestamp;

use super::{
    loaders,
    names::{DocumentKind, SearchMode, State},
    node::Node,
    page,
    scalar::DateTime,
};

/// Hits of a search, unless the request says how many.
pub(super) const DEFAULT_HITS: usize = 10;

/// What a search is narrowed to: documents that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct SearchFilter {
    /// Any of these kinds; all if absent or empty.
    kinds: Option<Vec<DocumentKind>>,
    /// User name of the author; of a discussion, who began it.
    author: Option<String>,
    /// All of these labels; a discussion has those of what it belongs to.
    labels: Option<Vec<String>>,
    /// Created at or after: `2024-03-15`, `2024-03`, `2024` or `2024-03-15T10:00:00Z`.
    after: Option<String>,
    /// Created before, in the same forms.
    before: Option<String>,
    /// Full path of the project.
    project: Option<String>,
    /// Where it stands; a discussion has the state of what it belongs to.
    state: Option<State>,
}

impl TryFrom<SearchFilter> for model::filter::Filter {
    type Error = backstory_engine::error::Error;

    fn try_from(filter: SearchFilter) -> Result<Self, Self::Error> {
        let instant = |text: Option<String>| -> Result<Option<Timestamp>, Self::Error> {
            text.map(|text| model::time::parse_instant(&text)).transpose().map_err(page::invalid)
        };
        Ok(Self {
            kinds: filter.kinds.unwrap_or_default().into_iter().map(Into::into).collect(),
            author: filter.author.map(|author| author.trim_start_matches('@').to_owned()),
            labels: filter.labels.unwrap_or_default(),
            after: instant(filter.after)?,
            before: instant(filter.before)?,
            project: filter.project,
            state: filter.state.map(Into::into),
        })
    }
}

/// What a search found.
#[derive(SimpleObject)]
pub(crate) struct SearchResult {
    /// The query, without white space around it.
    query: String,
    /// What the query was compared with: LEXICAL if its vector could not be had.
    mode: SearchMode,
    /// How many documents there are, and how many have vectors.
    coverage: Coverage,
    /// How long it took, in milliseconds.
    took_ms: f64,
    /// What the reader must know.
    warnings: Vec<String>,
    /// Best first.
    hits: Vec<Hit>,
}

/// A document that was found.
#[derive(SimpleObject)]
pub(crate) struct Hit {
    /// Reference of the document.
    id: ID,
    /// What it is.
    kind: DocumentKind,
    /// Title; of a discussion, that of what it belongs to.
    title: String,
    /// Its page at the forge; null if there is none.
    url: Option<String>,
    /// Of code and documents: path of the file.
    path: Option<String>,
    /// Of code and documents: first and last line, from 1.
    lines: Option<Vec<u32>>,
    /// User name of the author; of a discussion, who began it.
    author: Option<String>,
    /// Full path of the project.
    project: String,
    /// Where it stands; null for what has no state.
    state: Option<State>,
    /// Names of its labels.
    labels: Vec<String>,
    /// When it was opened or begun.
    created_at: DateTime,
    /// When it last changed.
    updated_at: DateTime,
    /// The part of its text that answers best, about 240 characters.
    snippet: String,
    /// What it is ranked by; only comparable within one search.
    score: f32,
    /// The scores that it is made of.
    parts: Vec<ScorePart>,
    /// Of a discussion: reference of the issue or merge request it belongs to; of code, of its file.
    parent: Option<ID>,
    /// The document in the graph.
    node: Option<Node>,
}

/// One of the scores that rank a hit.
#[derive(SimpleObject)]
pub(crate) struct ScorePart {
    /// `lexical` or `semantic`.
    name: String,
    /// 0 to 1.
    score: f32,
}

impl From<search::Hit> for Hit {
    fn from(hit: search::Hit) -> Self {
        let document = hit.document;
        let facts = document.facts;
        let part = |(name, score): (&str, f32)| ScorePart { name: name.to_owned(), score };
        Self {
            parent: (*facts.thread != *document.id).then(|| facts.thread.to_string().into()),
            node: document.id.parse::<model::id::NodeId>().ok().map(Node::from),
            id: document.id.into(),
            kind: facts.kind.into(),
            title: document.title,
            url: Some(document.url).filter(|url| !url.is_empty()),
            path: document.path,
            lines: document.lines.map(|(first, last)| vec![first, last]),
            author: facts.author.as_deref().map(str::to_owned),
            project: facts.project.to_string(),
            state: facts.state.map(State::from),
            labels: facts.labels.iter().map(ToString::to_string).collect(),
            created_at: facts.created_at.into(),
            updated_at: document.updated_at.into(),
            snippet: hit.snippet,
            score: hit.score,
            parts: hit.parts.into_iter().map(part).collect(),
        }
    }
}

/// How many documents vector search can find.
#[derive(SimpleObject)]
pub(crate) struct Coverage {
    /// All documents.
    documents: u64,
    /// Documents that have all their vectors.
    embedded: u64,
    /// Passages that have a vector.
    passages: u64,
    /// The same for each kind of document that there is.
    by_kind: Vec<KindCoverage>,
}

/// How many documents of a kind vector search can find.
#[derive(SimpleObject)]
pub(crate) struct KindCoverage {
    /// The kind.
    kind: DocumentKind,
    /// All documents of it.
    documents: u64,
    /// Documents of it that have all their vectors.
    embedded: u64,
}

impl From<index::Coverage> for Coverage {
    fn from(coverage: index::Coverage) -> Self {
        let kind = |kind: index::KindCoverage| KindCoverage {
            kind: kind.kind.into(),
            documents: kind.documents,
            embedded: kind.embedded,
        };
        Self {
            documents: coverage.documents,
            embedded: coverage.embedded,
            passages: coverage.passages,
            by_kind: coverage.by_kind.into_iter().map(kind).collect(),
        }
    }
}

/// Searches.
pub(super) async fn search(
    ctx: &Context<'_>,
    query: String,
    filter: Option<SearchFilter>,
    mode: SearchMode,
    first: Option<i32>,
) -> Result<SearchResult> {
    let filter = model::filter::Filter::try_from(filter.unwrap_or_default())?;
    // The engine says what is wrong with a limit; one below zero is as wrong as zero.
    let limit = first.map_or(DEFAULT_HITS, |first| usize::try_from(first).unwrap_or(0));
    let found = loaders::engine(ctx)?.search(SearchRequest { query, filter, mode: mode.into(), limit }).await?;
    Ok(SearchResult {
        query: found.query,
        mode: found.mode.into(),
        coverage: found.coverage.into(),
        took_ms: found.took_ms,
        warnings: found.warnings,
        hits: found.hits.into_iter().map(Hit::from).collect(),
    })
}
