//! GraphQL types of search.

use async_graphql::{Context, ID, InputObject, Result, SimpleObject};
use backstory_engine::{
    index,
    model::{self, score::Profile},
    search::{self, SearchRequest},
    settings::Ranking,
};
use jiff::Timestamp;

use super::{
    loaders,
    names::{DocumentKind, RankingProfile, SearchMode, State},
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
    /// User name, name or e-mail address of the author, in any case; of a discussion, who began it.
    author: Option<String>,
    /// All of these labels, in any case; a discussion has those of what it belongs to.
    labels: Option<Vec<String>>,
    /// Created at or after: `2024-03-15`, `2024-03`, `2024` or `2024-03-15T10:00:00Z`.
    after: Option<String>,
    /// Created before, in the same forms.
    before: Option<String>,
    /// Full path of the project.
    project: Option<String>,
    /// Where it stands; a discussion has the state of what it belongs to.
    state: Option<State>,
    /// References of documents that are left out with their parts, at most 1,000.
    exclude: Option<Vec<ID>>,
}

/// How hits are ranked, where it is not as configured.
#[derive(InputObject)]
pub(crate) struct RankingInput {
    /// How the parts become a score; that of the configuration if absent.
    profile: Option<RankingProfile>,
    /// What each part counts, 0 to 1; that of the profile if absent.
    semantic: Option<f32>,
    /// The same for the words.
    lexical: Option<f32>,
    /// The same for how new it is.
    recency: Option<f32>,
    /// The same for how much it weighs.
    importance: Option<f32>,
    /// The same for its place in the graph.
    relationship: Option<f32>,
    /// The same for its author.
    author: Option<f32>,
}

impl RankingInput {
    fn over(self, configured: Ranking) -> Result<Ranking> {
        let mut ranking = self.profile.map_or(configured, |profile| Ranking::from(Profile::from(profile)));
        let given = [self.semantic, self.lexical, self.recency, self.importance, self.relationship, self.author];
        if ranking.profile == Profile::Rrf && given.iter().any(Option::is_some) {
            let message = "weights do not count with the profile RRF; leave them out or name another profile";
            return Err(page::invalid(message).into());
        }
        let weights = &mut ranking.weights;
        let own = [
            &mut weights.semantic,
            &mut weights.lexical,
            &mut weights.recency,
            &mut weights.importance,
            &mut weights.relationship,
            &mut weights.author,
        ];
        for (weight, given) in own.into_iter().zip(given) {
            *weight = given.unwrap_or(*weight);
        }
        Ok(ranking)
    }
}

impl TryFrom<SearchFilter> for model::filter::Filter {
    type Error = backstory_engine::error::Error;

    fn try_from(filter: SearchFilter) -> Result<Self, Self::Error> {
        let instant = |text: Option<String>| -> Result<Option<Timestamp>, Self::Error> {
            text.map(|text| model::time::parse_instant(&text)).transpose().map_err(page::invalid)
        };
        Ok(Self {
            kinds: filter.kinds.unwrap_or_default().into_iter().map(Into::into).collect(),
            authors: filter.author.map(|author| author.trim_start_matches('@').to_owned()).into_iter().collect(),
            labels: filter.labels.unwrap_or_default(),
            path: None,
            governing: false,
            after: instant(filter.after)?,
            before: instant(filter.before)?,
            project: filter.project,
            state: filter.state.map(Into::into),
            exclude: filter.exclude.unwrap_or_default().into_iter().map(|id| id.0).collect(),
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
    /// The profile that hits were ranked with.
    profile: RankingProfile,
    /// What each part counted.
    weights: Vec<ScorePart>,
    /// How the query was understood beyond its words.
    understood: Vec<String>,
    /// What the reader must know.
    warnings: Vec<String>,
    /// Stories, the best first: an issue, the merge request that closed it and its commits are one.
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
    /// The parts of the score, each 0 to 1: `semantic`, `lexical`, `recency`, `importance`, `relationship`, `author`.
    /// Those without a weight are not computed, and 0.
    parts: Vec<ScorePart>,
    /// Why it is here, in words.
    why: Vec<String>,
    /// Its best passages, of itself, its discussions and its commits; the best first, at most 3.
    passages: Vec<HitPassage>,
    /// What else belongs to the story.
    members: Vec<Member>,
    /// Of a discussion: reference of the issue or merge request it belongs to; of code, of its file.
    parent: Option<ID>,
    /// The document in the graph.
    node: Option<Node>,
    /// Whether only some may see it.
    confidential: bool,
}

/// A passage of a hit.
#[derive(SimpleObject)]
pub(crate) struct HitPassage {
    /// Reference of the document that it is of.
    document: ID,
    /// Its text.
    text: String,
    /// How near its meaning is to that of the query, 0 to 1.
    similarity: f32,
    /// Share of the query's words that it has, rare ones counting more, 0 to 1.
    coverage: f32,
}

/// What belongs to a hit's story.
#[derive(SimpleObject)]
pub(crate) struct Member {
    /// Its reference.
    id: ID,
    /// The edge by which it belongs to it.
    relation: &'static str,
    /// It in the graph.
    node: Option<Node>,
}

/// One of the scores that rank a hit, or what it counts.
#[derive(SimpleObject)]
pub(crate) struct ScorePart {
    /// Its name.
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
            confidential: facts.confidential,
            labels: facts.labels.iter().map(ToString::to_string).collect(),
            created_at: facts.created_at.into(),
            updated_at: document.updated_at.into(),
            snippet: hit.snippet,
            score: hit.score,
            parts: hit.parts.named().into_iter().map(part).collect(),
            why: hit.why,
            passages: hit.passages.into_iter().map(HitPassage::from).collect(),
            members: hit.members.into_iter().map(Member::from).collect(),
        }
    }
}

impl From<search::Passage> for HitPassage {
    fn from(passage: search::Passage) -> Self {
        let search::Passage { document, text, similarity, coverage } = passage;
        Self { document: document.into(), text, similarity, coverage }
    }
}

impl From<search::Member> for Member {
    fn from(member: search::Member) -> Self {
        Self { id: member.id.to_string().into(), relation: member.relation.name(), node: Some(member.id.into()) }
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
    ranking: Option<RankingInput>,
    first: Option<i32>,
) -> Result<SearchResult> {
    let filter = model::filter::Filter::try_from(filter.unwrap_or_default())?;
    // The engine says what is wrong with a limit; one below zero is as wrong as zero.
    let limit = first.map_or(DEFAULT_HITS, |first| usize::try_from(first).unwrap_or(0));
    let engine = loaders::engine(ctx)?;
    let ranking = ranking.map(|ranking| ranking.over(engine.settings().ranking)).transpose()?;
    let found = engine
        .search_documents(SearchRequest { query, filter, mode: mode.into(), limit, ranking, rerank: true })
        .await?;
    let weight = |(name, score): (&str, f32)| ScorePart { name: name.to_owned(), score };
    Ok(SearchResult {
        query: found.query,
        mode: found.mode.into(),
        coverage: found.coverage.into(),
        took_ms: found.took_ms,
        profile: found.ranking.profile.into(),
        weights: found.ranking.weights.named().into_iter().map(weight).collect(),
        understood: found.understood,
        warnings: found.warnings,
        hits: found.hits.into_iter().map(Hit::from).collect(),
    })
}
