//! GraphQL types of search.

use async_graphql::{Context, ID, InputObject, Result, SimpleObject};
use backstory_engine::{
    index,
    model::{self, id::NodeId, score::Profile},
    search::{self, SearchRequest},
    settings::Ranking,
};

use super::{
    code::LineRange,
    explore::GraphEdge,
    loaders,
    names::{DocumentKind, DocumentType, EdgeName, RankingProfile, SearchMode, State},
    node::Node,
    page,
    person::Person,
    planning::Label,
    project::Project,
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
    /// Created then or later.
    after: Option<DateTime>,
    /// Created before.
    before: Option<DateTime>,
    /// Full path of the project. What is short in the query, like `#12`, is of it.
    project: Option<String>,
    /// Of any of these projects, by their full paths.
    projects: Option<Vec<String>>,
    /// Of files whose paths begin in one of these ways, or commits that change such files.
    paths: Option<Vec<String>>,
    /// Of files in any of these languages, by name or extension, or commits that change such files.
    languages: Option<Vec<String>>,
    /// For any of these purposes.
    document_types: Option<Vec<DocumentType>>,
    /// References of nodes, at most 1,000: only these, and parts of them.
    nodes: Option<Vec<ID>>,
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
    /// How hits are ranked with it, where they are usually ranked as configured.
    pub(super) fn over(self, configured: Ranking) -> Result<Ranking> {
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

impl From<SearchFilter> for model::filter::Filter {
    fn from(filter: SearchFilter) -> Self {
        Self {
            kinds: filter.kinds.unwrap_or_default().into_iter().map(Into::into).collect(),
            authors: filter.author.map(|author| author.trim_start_matches('@').to_owned()).into_iter().collect(),
            labels: filter.labels.unwrap_or_default(),
            paths: filter.paths.unwrap_or_default(),
            languages: filter.languages.unwrap_or_default(),
            document_types: filter.document_types.unwrap_or_default().into_iter().map(Into::into).collect(),
            nodes: filter.nodes.unwrap_or_default().into_iter().map(|id| id.0).collect(),
            projects: filter.projects.unwrap_or_default(),
            after: filter.after.map(Into::into),
            before: filter.before.map(Into::into),
            project: filter.project,
            state: filter.state.map(Into::into),
            exclude: filter.exclude.unwrap_or_default().into_iter().map(|id| id.0).collect(),
        }
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
    /// Where the next page begins, for `after`; null if this is the last one.
    end_cursor: Option<String>,
    /// The candidates, counted.
    facets: Option<SearchFacets>,
    /// Every candidate with its ranks before ranking, the best one in any leg first, at most 500.
    candidates: Vec<SearchCandidate>,
}

/// The candidates of a search, counted by what a filter can take.
#[derive(SimpleObject)]
pub(crate) struct SearchFacets {
    /// How many documents were counted: the best of those with words or a meaning like the query's.
    documents: usize,
    /// Whether there are more than these, so that every count is at least so much.
    is_lower_bound: bool,
    /// By project, kind, author, label and path.
    facets: Vec<SearchFacet>,
}

/// The candidates of a search by one property.
#[derive(SimpleObject)]
pub(crate) struct SearchFacet {
    /// `project`, `kind`, `author`, `label` or `path`.
    name: String,
    /// The most frequent values, at most 20.
    values: Vec<SearchFacetValue>,
    /// How many values were left out.
    left_out: usize,
}

/// How many candidates of a search have a value.
#[derive(SimpleObject)]
pub(crate) struct SearchFacetValue {
    /// A name, or the beginning of a path.
    value: String,
    /// How many candidates have it.
    count: usize,
}

/// A document that words, meaning or the graph proposed, before it was ranked.
#[derive(SimpleObject)]
pub(crate) struct SearchCandidate {
    /// It.
    node: Node,
    /// Its place by words, from 1; null if they did not propose it.
    words: Option<u32>,
    /// Its place by meaning, from 1.
    vectors: Option<u32>,
    /// Its place by how strongly the graph ties it to the strongest candidates, or to what the search is near to, from 1.
    graph: Option<u32>,
    /// The edges by which the graph leads to it.
    reached_by: Vec<GraphEdge>,
}

impl From<search::Facets> for SearchFacets {
    fn from(of: search::Facets) -> Self {
        let value = |of: search::FacetValue| SearchFacetValue { value: of.value, count: of.count };
        let facet = |of: search::Facet| SearchFacet {
            name: of.name,
            values: of.values.into_iter().map(value).collect(),
            left_out: of.left_out,
        };
        let facets = of.facets.into_iter().map(facet).collect();
        Self { documents: of.documents, is_lower_bound: of.is_lower_bound, facets }
    }
}

impl From<search::CandidateRanks> for SearchCandidate {
    fn from(of: search::CandidateRanks) -> Self {
        Self {
            words: of.words,
            vectors: of.vectors,
            graph: of.graph,
            reached_by: of.reached_by.into_iter().map(GraphEdge::from).collect(),
            node: of.id.into(),
        }
    }
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
    /// Of code and documents: its lines.
    lines: Option<LineRange>,
    /// The author; of a discussion, who began it.
    author: Option<Person>,
    /// The project.
    project: Project,
    /// Where it stands; null for what has no state.
    state: Option<State>,
    /// Its labels; a discussion has those of what it belongs to.
    labels: Vec<Label>,
    /// When it was opened or begun.
    created_at: DateTime,
    /// When it last changed.
    updated_at: DateTime,
    /// The part of its text that answers best, about 240 characters.
    snippet: String,
    /// What it is ranked by; only comparable within one search.
    score: f32,
    /// The parts of the score, each 0 to 1: `semantic`, `lexical`, `recency`, `importance`, `relationship`, `author`.
    /// Those without a weight are not computed, and 0, but for the relationship of what only the graph found.
    parts: Vec<ScorePart>,
    /// Why it is here, in words.
    why: Vec<String>,
    /// Its best passages, of itself, its discussions and its commits; the best first, at most 3.
    passages: Vec<HitPassage>,
    /// What else belongs to the story.
    members: Vec<Member>,
    /// The edges by which the graph leads to it, from what the search is near to or from another hit; empty if it was not
    /// needed to find it.
    reached_by: Vec<GraphEdge>,
    /// Of a discussion: the issue or merge request it belongs to; of code: its file.
    parent: Option<Node>,
    /// The document in the graph.
    node: Option<Node>,
    /// Whether only some may see it.
    confidential: bool,
}

/// A passage of a hit.
#[derive(SimpleObject)]
pub(crate) struct HitPassage {
    /// The document that it is of.
    node: Option<Node>,
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
    /// The edge by which it belongs to it.
    relation: EdgeName,
    /// It.
    node: Node,
}

/// One of the scores that rank a hit, or what it counts.
#[derive(SimpleObject)]
pub(crate) struct ScorePart {
    /// Its name.
    name: String,
    /// 0 to 1.
    score: f32,
}

/// The node of a document.
pub(super) fn node_of(id: &str) -> Option<Node> {
    id.parse::<NodeId>().ok().map(Node::from)
}

impl From<search::Hit> for Hit {
    fn from(hit: search::Hit) -> Self {
        let document = hit.document;
        let facts = document.facts;
        let part = |(name, score): (&str, f32)| ScorePart { name: name.to_owned(), score };
        Self {
            parent: Some(&*facts.thread).filter(|parent| **parent != *document.id).and_then(node_of),
            node: node_of(&document.id),
            id: document.id.into(),
            kind: facts.kind.into(),
            title: document.title,
            url: Some(document.url).filter(|url| !url.is_empty()),
            path: document.path,
            lines: document.lines.map(LineRange::from),
            author: facts.author.as_deref().map(|author| Person::new(author.to_owned())),
            project: Project::new(facts.project.to_string()),
            state: facts.state.map(State::from),
            confidential: facts.confidential,
            labels: facts.labels.iter().map(|name| Label::new(facts.project.to_string(), name.to_string())).collect(),
            created_at: facts.created_at.into(),
            updated_at: document.updated_at.into(),
            snippet: hit.snippet,
            score: hit.score,
            parts: hit.parts.named().into_iter().map(part).collect(),
            why: hit.why,
            passages: hit.passages.into_iter().map(HitPassage::from).collect(),
            members: hit.members.into_iter().map(Member::from).collect(),
            reached_by: hit.reached_by.into_iter().map(GraphEdge::from).collect(),
        }
    }
}

impl From<search::Passage> for HitPassage {
    fn from(passage: search::Passage) -> Self {
        let search::Passage { document, text, similarity, coverage } = passage;
        Self { node: node_of(&document), text, similarity, coverage }
    }
}

impl From<search::Member> for Member {
    fn from(member: search::Member) -> Self {
        Self { relation: member.relation.into(), node: member.id.into() }
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

/// What a search is given besides its words.
pub(super) struct SearchArguments {
    pub(super) filter: Option<SearchFilter>,
    pub(super) near: Option<Vec<ID>>,
    pub(super) tags: Option<Vec<String>>,
    pub(super) mode: SearchMode,
    pub(super) ranking: Option<RankingInput>,
    pub(super) first: Option<i32>,
    pub(super) after: Option<String>,
}

/// Searches.
pub(super) async fn search(ctx: &Context<'_>, query: String, arguments: SearchArguments) -> Result<SearchResult> {
    let SearchArguments { filter, near, tags, mode, ranking, first, after } = arguments;
    let filter = model::filter::Filter::from(filter.unwrap_or_default());
    // The engine says what is wrong with a limit; one below zero is as wrong as zero.
    let limit = first.map_or(DEFAULT_HITS, |first| usize::try_from(first).unwrap_or(0));
    let engine = loaders::engine(ctx)?;
    let ranking = ranking.map(|ranking| ranking.over(engine.settings().ranking)).transpose()?;
    let selects = |field: &str| ctx.look_ahead().field(field).exists();
    let request = SearchRequest {
        query,
        filter,
        near: references(near)?,
        tags: tags.unwrap_or_default(),
        mode: mode.into(),
        limit,
        after,
        ranking,
        rerank: true,
        facets: selects("facets"),
        explain: selects("candidates"),
        ..SearchRequest::default()
    };
    let found = engine.search_documents(request).await?;
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
        end_cursor: found.next,
        facets: found.facets.map(SearchFacets::from),
        candidates: found.candidates.into_iter().map(SearchCandidate::from).collect(),
    })
}

/// Reads references of nodes.
pub(super) fn references(ids: Option<Vec<ID>>) -> Result<Vec<NodeId>> {
    ids.unwrap_or_default().iter().map(|id| Ok(id.parse::<NodeId>()?)).collect()
}
