//! GraphQL types of search.

use async_graphql::{Context, Enum, ID, InputObject, Result, SimpleObject};
use backstory_engine::{
    index,
    model::{
        self,
        id::NodeId,
        score::{Parts, Profile},
    },
    search::{self, SearchRequest},
    settings::Ranking,
};

use super::{
    code::{LineRange, document_node},
    explore::GraphEdge,
    lists::DateRange,
    loaders,
    names::{DocumentKind, DocumentType, EdgeName, RankingProfile, SearchMode, State},
    node::Node,
    page,
    person::Person,
    planning::Label,
    project::Project,
    scalar::{DateTime, decimal},
    words::{name_of, value_of},
};

/// Hits of a search, unless the request says how many.
pub(super) const DEFAULT_HITS: usize = 10;

/// Which documents are read: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct DocumentFilter {
    /// Full paths of projects: the documents belong to one of them. If there is only one, short references in the
    /// query, like `#12`, refer to it. All if absent or empty.
    projects: Option<Vec<String>>,
    /// Kinds of documents. All if absent or empty.
    kinds: Option<Vec<DocumentKind>>,
    /// User names, names or e-mail addresses, in any case: one of these people wrote the documents, or began the discussions.
    /// All if absent or empty.
    authors: Option<Vec<String>>,
    /// Only documents with all of these labels, in any case; a discussion has the labels of its issue or merge request.
    /// All if absent or empty.
    all_labels: Option<Vec<String>>,
    /// When the documents were created.
    created: Option<DateRange>,
    /// Beginnings of paths: the documents belong to files whose paths start with one of them, or are commits that
    /// change such files. All if absent or empty.
    path_prefixes: Option<Vec<String>>,
    /// Names or extensions of programming languages: the documents are of files in one of them, or commits that change such
    /// files. All if absent or empty.
    languages: Option<Vec<String>>,
    /// What the documents are for. All if absent or empty.
    document_types: Option<Vec<DocumentType>>,
    /// Ids of nodes, at most 1,000: the documents are these, or parts of them. All if absent or empty.
    nodes: Option<Vec<ID>>,
    /// State of the documents; a discussion has that of its issue or merge request.
    state: Option<State>,
    /// Ids of documents that are left out with their parts, at most 1,000. None are left out if absent or empty.
    exclude: Option<Vec<ID>>,
    /// Indexed branch, tag or commit of the project: the documents are its files, as they are there, commits that it reaches, and
    /// conversations. The default branch, with all indexed commits, if absent.
    #[graphql(name = "ref")]
    revision: Option<String>,
    /// Id of a recorded state of the index, or at least its first four digits: the documents are what was in it. The
    /// current state if absent.
    snapshot: Option<ID>,
}

/// What a search finds: documents that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct SearchFilter {
    #[graphql(flatten)]
    pub(super) documents: DocumentFilter,
    /// Ids of nodes, at most 20: the documents are at most two edges from one of them, and how near they are is their
    /// relationship. All if absent or empty.
    pub(super) near: Option<Vec<ID>>,
    /// Tags: the documents have an annotation with all of them, in any case. All if absent or empty.
    pub(super) tags: Option<Vec<String>>,
}

/// How hits are ranked, where that differs from the configuration. Weights that add up to more than 1 are scaled down,
/// so that scores are 0 to 1.
#[derive(InputObject)]
pub(crate) struct RankingInput {
    /// How the parts of a hit become its score; as configured if absent.
    profile: Option<RankingProfile>,
    /// Weight of similar meaning, 0 to 1; that of the profile if absent.
    semantic: Option<f32>,
    /// Weight of matching words, 0 to 1; that of the profile if absent.
    lexical: Option<f32>,
    /// Weight of the document's age, 0 to 1; that of the profile if absent.
    recency: Option<f32>,
    /// Weight of the document's importance, 0 to 1; that of the profile if absent.
    importance: Option<f32>,
    /// Weight of the document's place in the graph, 0 to 1; that of the profile if absent.
    relationship: Option<f32>,
    /// Weight of the document's author, 0 to 1; that of the profile if absent.
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

impl From<DocumentFilter> for model::filter::Filter {
    fn from(filter: DocumentFilter) -> Self {
        let DateRange { from, to } = filter.created.unwrap_or_default();
        let mut projects = filter.projects.unwrap_or_default();
        // What is short in a text is of the only project.
        let project = if projects.len() == 1 { projects.pop() } else { None };
        let authors = filter.authors.into_iter().flatten();
        Self {
            kinds: filter.kinds.unwrap_or_default().into_iter().map(Into::into).collect(),
            authors: authors.map(|author| author.trim_start_matches('@').to_owned()).collect(),
            labels: filter.all_labels.unwrap_or_default(),
            paths: filter.path_prefixes.unwrap_or_default(),
            languages: filter.languages.unwrap_or_default(),
            document_types: filter.document_types.unwrap_or_default().into_iter().map(Into::into).collect(),
            nodes: filter.nodes.unwrap_or_default().into_iter().map(|id| id.0).collect(),
            after: from.map(Into::into),
            before: to.map(Into::into),
            project,
            projects,
            state: filter.state.map(Into::into),
            exclude: filter.exclude.unwrap_or_default().into_iter().map(|id| id.0).collect(),
            revision: filter.revision,
            snapshot: filter.snapshot.map(|id| id.0),
        }
    }
}

/// What a search found.
#[derive(SimpleObject)]
pub(crate) struct SearchResult {
    /// Query without white space around it.
    query: String,
    /// What the query was compared with: LEXICAL if its vector could not be computed.
    mode: SearchMode,
    /// How many documents there are, and how many have vectors.
    coverage: Coverage,
    /// How long the search took, in milliseconds.
    took_ms: f64,
    /// Profile that hits were ranked with.
    profile: RankingProfile,
    /// Weight of each part of a score, 0 to 1; empty with the profile RRF, which has no weights.
    weights: Vec<ScorePart>,
    /// How the query was understood beyond its words, a sentence each.
    understood: Vec<String>,
    /// What the reader must know, a sentence each.
    warnings: Vec<String>,
    /// Hits, the best first. Each is a story: an issue, the merge request that closed it and its commits are one
    /// hit.
    hits: Vec<Hit>,
    /// Where the next page begins, for `after`; null if this is the last one.
    end_cursor: Option<String>,
    /// Counts of the candidates; null unless they were asked for.
    facets: Option<SearchFacets>,
    /// Every candidate with its ranks before ranking, those that any retriever ranks best first; at most 500.
    candidates: Vec<SearchCandidate>,
}

/// The candidates of a search, counted by what a filter can take.
#[derive(SimpleObject)]
pub(crate) struct SearchFacets {
    /// How many documents were counted: the best with words or a meaning like the query's.
    document_count: usize,
    /// Whether there are more documents than were counted, so that every count is a lower bound.
    is_lower_bound: bool,
    /// Counts by project, kind, author, label and path.
    facets: Vec<SearchFacet>,
}

/// A property by which the candidates of a search are counted.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum SearchProperty {
    /// Full path of the project.
    Project,
    /// Kind of the document. All that a search for code alone finds are of kind CODE, whole files too.
    Kind,
    /// Person who wrote the document or began the discussion, under all their names and addresses.
    Author,
    /// Labels of the document.
    Label,
    /// Directories of the files, or files.
    Path,
}

/// The candidates of a search by one property.
#[derive(SimpleObject)]
pub(crate) struct SearchFacet {
    /// Name of the property.
    name: SearchProperty,
    /// Most frequent values of the property, at most 20.
    values: Vec<SearchFacetValue>,
    /// How many values were left out.
    left_out_count: usize,
}

/// How many candidates of a search have a value.
#[derive(SimpleObject)]
pub(crate) struct SearchFacetValue {
    /// Value of the property, as filters take it: the full path of a project, a value of `DocumentKind`, the user name of a
    /// person or the address that commits know them by, the name of a label, or the beginning of a path.
    value: String,
    /// How many candidates have the value.
    count: usize,
    /// The person or project that the value names; null if it names neither.
    node: Option<Node>,
}

/// A document that words, meaning or the graph proposed, before it was ranked.
#[derive(SimpleObject)]
pub(crate) struct SearchCandidate {
    /// Node of the candidate; null for a section of a file.
    node: Option<Node>,
    /// Id of the candidate: that of its node, or of a section of a file.
    document_id: ID,
    /// Rank by words, from 1; null if they did not propose the candidate.
    words: Option<u32>,
    /// Rank by meaning, from 1; null if it did not propose the candidate.
    vectors: Option<u32>,
    /// Rank by how strongly the graph ties the candidate to the strongest ones, or to what the search is near to, from 1; null
    /// if it did not propose the candidate.
    graph: Option<u32>,
    /// Edges by which the graph leads to the candidate; empty if it did not propose it.
    reached_by: Vec<GraphEdge>,
}

impl From<search::Facets> for SearchFacets {
    fn from(of: search::Facets) -> Self {
        let facets = of.facets.into_iter().filter_map(SearchFacet::new).collect();
        Self { document_count: of.documents, is_lower_bound: of.is_lower_bound, facets }
    }
}

impl SearchProperty {
    /// The node that a value names.
    fn node(self, value: &str) -> Option<Node> {
        match self {
            Self::Project => Some(NodeId::Project(value.to_owned()).into()),
            Self::Author => Some(NodeId::person(value).into()),
            Self::Kind | Self::Label | Self::Path => None,
        }
    }
}

impl SearchFacet {
    /// `None` for a property that the API does not know.
    fn new(of: search::Facet) -> Option<Self> {
        let name = value_of::<SearchProperty>(&of.name)?;
        let value = |of: search::FacetValue| SearchFacetValue {
            node: name.node(&of.value),
            value: if name == SearchProperty::Kind { name_of::<DocumentKind>(of.value) } else { of.value },
            count: of.count,
        };
        Some(Self { name, values: of.values.into_iter().map(value).collect(), left_out_count: of.left_out })
    }
}

impl From<search::CandidateRanks> for SearchCandidate {
    fn from(of: search::CandidateRanks) -> Self {
        Self {
            words: of.words,
            vectors: of.vectors,
            graph: of.graph,
            reached_by: of.reached_by.into_iter().map(GraphEdge::from).collect(),
            document_id: of.id.to_string().into(),
            node: document_node(Some(of.id), of.kind.into()),
        }
    }
}

/// A document that was found.
#[derive(SimpleObject)]
pub(crate) struct Hit {
    /// Id of the document: that of its node, or of a section of a file.
    document_id: ID,
    /// Kind of the document. In a search for code alone, it is FILE for a file of which no part answers.
    kind: DocumentKind,
    /// What the document is for.
    document_type: DocumentType,
    /// Title of the document; of a discussion, that of what it belongs to.
    title: String,
    /// Page of the document at the forge; null if there is none.
    url: Option<String>,
    /// Path of the file; null for what is not in a file.
    path: Option<String>,
    /// Lines of the file; null for what is not in a file.
    lines: Option<LineRange>,
    /// Person who wrote the document or began the discussion; null if that is not known.
    author: Option<Person>,
    /// Project that the document belongs to.
    project: Project,
    /// State of the document; null if it has none.
    state: Option<State>,
    /// Labels of the document; a discussion has those of its issue or merge request.
    labels: Vec<Label>,
    /// When the document was opened or started.
    created_at: DateTime,
    /// When the document last changed.
    updated_at: DateTime,
    /// Part of the text that answers best, about 240 characters.
    snippet: String,
    /// What the hit is ranked by, 0 to 1, and 1 for what the query names; only comparable within one search.
    score: f64,
    /// Parts of the score, each 0 to 1. Parts without a weight are not computed and are 0, except for the relationship
    /// of what only the graph found.
    parts: Vec<ScorePart>,
    /// Why the document was found, in words.
    why: Vec<String>,
    /// Best passages of the document, its discussions and its commits; the best first, at most 3.
    passages: Vec<HitPassage>,
    /// What else belongs to the story of the hit.
    members: Vec<Member>,
    /// Edges by which the graph leads to the document, from what the search is near to or from another hit; empty if the graph
    /// was not needed to find it.
    reached_by: Vec<GraphEdge>,
    /// Issue or merge request that a discussion belongs to, or file that code is in; null for others.
    parent: Option<Node>,
    /// Node of the document; null for a section of a file.
    node: Option<Node>,
    /// Whether only some may see the document.
    confidential: bool,
}

/// A passage of a hit.
#[derive(SimpleObject)]
pub(crate) struct HitPassage {
    /// Node of the document that the passage is of; null for a section of a file.
    node: Option<Node>,
    /// Text of the passage.
    text: String,
    /// How near the meaning of the passage is to that of the query, 0 to 1.
    similarity: f64,
    /// Share of the query's words that the passage has, rare ones counting more, 0 to 1.
    coverage: f64,
}

/// What belongs to a hit's story.
#[derive(SimpleObject)]
pub(crate) struct Member {
    /// Name of the edge by which the node belongs to the hit.
    relation: EdgeName,
    /// Node that belongs to the hit.
    node: Node,
}

/// What a hit is ranked by.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum ScorePartName {
    /// How near passages of the document are to the meaning of the query.
    Semantic,
    /// How many of the query's words the document has, rare ones counting more.
    Lexical,
    /// How new the document is.
    Recency,
    /// How important the document is among those of its kind.
    Importance,
    /// How near the document is in the graph to what the query names and to what matches best.
    Relationship,
    /// Whether the query names the author of the document.
    Author,
}

/// A part of the score of a hit, or its weight.
#[derive(SimpleObject)]
pub(crate) struct ScorePart {
    /// Name of the part.
    name: ScorePartName,
    /// Score or weight of the part, 0 to 1.
    score: f64,
}

/// Each part with its score or weight.
fn score_parts(of: &Parts) -> Vec<ScorePart> {
    let Parts { semantic, lexical, recency, importance, relationship, author } = *of;
    let part = |(name, score)| ScorePart { name, score: decimal(score) };
    [
        (ScorePartName::Semantic, semantic),
        (ScorePartName::Lexical, lexical),
        (ScorePartName::Recency, recency),
        (ScorePartName::Importance, importance),
        (ScorePartName::Relationship, relationship),
        (ScorePartName::Author, author),
    ]
    .map(part)
    .into()
}

/// The node of a reference.
pub(super) fn node_of(id: &str) -> Option<Node> {
    id.parse::<NodeId>().ok().map(Node::from)
}

impl From<search::Hit> for Hit {
    fn from(hit: search::Hit) -> Self {
        let score = decimal(hit.bounded_score());
        let document = hit.document;
        let facts = document.facts;
        let parent = Some(&*facts.thread).filter(|parent| *parent != document.id);
        Self {
            parent: parent.and_then(node_of),
            node: document_node(document.id.parse().ok(), facts.kind.into()),
            document_id: document.id.into(),
            kind: facts.kind.into(),
            document_type: facts.document_type.into(),
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
            score,
            parts: score_parts(&hit.parts),
            why: hit.why,
            passages: hit.passages.into_iter().map(HitPassage::from).collect(),
            members: hit.members.into_iter().map(Member::from).collect(),
            reached_by: hit.reached_by.into_iter().map(GraphEdge::from).collect(),
        }
    }
}

impl From<search::Passage> for HitPassage {
    fn from(passage: search::Passage) -> Self {
        let search::Passage { document, kind, text, similarity, coverage } = passage;
        let node = document_node(document.parse().ok(), kind.into());
        Self { node, text, similarity: decimal(similarity), coverage: decimal(coverage) }
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
    /// How many documents there are.
    document_count: u64,
    /// How many documents have all their vectors.
    embedded_count: u64,
    /// How many passages have a vector.
    passage_count: u64,
    /// How many documents of each kind exist, and how many have all their vectors.
    by_kind: Vec<KindCoverage>,
}

/// How many documents of a kind vector search can find.
#[derive(SimpleObject)]
pub(crate) struct KindCoverage {
    /// Kind of the documents.
    kind: DocumentKind,
    /// How many documents of the kind there are.
    document_count: u64,
    /// How many documents of the kind have all their vectors.
    embedded_count: u64,
}

impl From<index::Coverage> for Coverage {
    fn from(coverage: index::Coverage) -> Self {
        let kind = |kind: index::KindCoverage| KindCoverage {
            kind: kind.kind.into(),
            document_count: kind.documents,
            embedded_count: kind.embedded,
        };
        Self {
            document_count: coverage.documents,
            embedded_count: coverage.embedded,
            passage_count: coverage.passages,
            by_kind: coverage.by_kind.into_iter().map(kind).collect(),
        }
    }
}

/// What a search is given besides its words.
pub(super) struct SearchArguments {
    pub(super) filter: Option<SearchFilter>,
    pub(super) mode: SearchMode,
    pub(super) ranking: Option<RankingInput>,
    pub(super) first: Option<i32>,
    pub(super) after: Option<String>,
}

/// Searches.
pub(super) async fn search(ctx: &Context<'_>, query: String, arguments: SearchArguments) -> Result<SearchResult> {
    let SearchArguments { filter, mode, ranking, first, after } = arguments;
    let SearchFilter { documents, near, tags } = filter.unwrap_or_default();
    // The engine says what is wrong with a limit; one below zero is as wrong as zero.
    let limit = first.map_or(DEFAULT_HITS, |first| usize::try_from(first).unwrap_or(0));
    let engine = loaders::engine(ctx)?;
    let ranking = ranking.map(|ranking| ranking.over(engine.settings().ranking)).transpose()?;
    let selects = |field: &str| ctx.look_ahead().field(field).exists();
    let request = SearchRequest {
        query,
        filter: documents.into(),
        near: references(near)?,
        tags: tags.unwrap_or_default(),
        mode: mode.into(),
        limit,
        after,
        // A model would put what the weights order into an order of its own.
        rerank: ranking.is_none(),
        ranking,
        facets: selects("facets"),
        explain: selects("candidates"),
        ..SearchRequest::default()
    };
    let found = engine.search_documents(request).await?;
    let is_weighted = found.ranking.profile != Profile::Rrf;
    Ok(SearchResult {
        query: found.query,
        mode: found.mode.into(),
        coverage: found.coverage.into(),
        took_ms: found.took_ms,
        profile: found.ranking.profile.into(),
        weights: if is_weighted { score_parts(&found.ranking.weights) } else { Vec::new() },
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
