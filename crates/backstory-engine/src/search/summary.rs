//! What faces show of a search.

use backstory_model::{
    entity::{Item, State},
    filter::DocumentKind,
    id::NodeId,
    repository::Record,
    score::Parts,
};
use backstory_store::graph::GraphEdge;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Hit, Member, SearchRequest, SearchResponse,
    provenance::{HitChunk, chunks_of},
    search_documents,
};
use crate::{
    error::Result,
    read::load_items,
    resources::Resources,
    tokens,
    use_case::{UseCase, Weight},
    views::at_state,
};

/// A hit without the text of its document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HitSummary {
    /// Reference of the document.
    pub id: NodeId,
    /// What it is.
    pub kind: DocumentKind,
    /// Title; of a discussion, the title of its issue or merge request.
    pub title: String,
    /// Address for people.
    pub url: Option<String>,
    /// Of code and documents: path of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Of code and documents: first and last line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// User name or e-mail address of the author; of a discussion, who began it.
    pub author: Option<String>,
    /// Of a commit, the name of who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_name: Option<String>,
    /// Full path of the project.
    pub project: String,
    /// State of what has one; of a discussion, the state of its issue or merge request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Labels.
    pub labels: Vec<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The part of its text that answers best.
    pub snippet: String,
    /// What it is ranked by, 0 to 1; 1 for what the query names.
    pub score: f32,
    /// What the score is made of, each 0 to 1.
    pub parts: Parts,
    /// Why it is here, in words.
    pub why: Vec<String>,
    /// What else belongs to the story.
    pub members: Vec<Member>,
    /// The edges by which the graph leads to it, from what the search is near to or from another hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reached_by: Vec<GraphEdge>,
    /// The piece that answers best; absent if it cannot be read any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<HitChunk>,
    /// Of a discussion, its issue or merge request; of code and sections, their file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<NodeId>,
    /// Whether only some may see it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confidential: bool,
}

impl UseCase for SearchRequest {
    const NAME: &'static str = "search";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = SearchResponse<HitSummary>;

    async fn run(self, resources: &Resources) -> Result<Self::Answer> {
        let mut request = self;
        let has_chunks = !request.without_chunks;
        if has_chunks {
            tokens::prepare();
        }
        let resources = &at_state(resources, &mut request.filter).await?;
        let found = search_documents(resources, request).await?;
        let chunks = match has_chunks {
            true => chunks_of(resources, &found.query, &found.hits).await?,
            false => vec![None; found.hits.len()],
        };
        let hits = found.hits.into_iter().zip(chunks).filter_map(|(hit, chunk)| hit.into_summary(chunk));
        let mut hits: Vec<HitSummary> = hits.collect();
        add_author_names(resources, &mut hits).await?;
        Ok(SearchResponse {
            query: found.query,
            mode: found.mode,
            ranking: found.ranking,
            coverage: found.coverage,
            took_ms: found.took_ms,
            understood: found.understood,
            warnings: found.warnings,
            hits,
            next: found.next,
            facets: found.facets,
            candidates: found.candidates,
        })
    }
}

/// Adds the names of those who wrote commits.
async fn add_author_names(resources: &Resources, hits: &mut [HitSummary]) -> Result<()> {
    let commits = hits.iter().filter(|hit| hit.kind == DocumentKind::Commit).map(|hit| hit.id.clone());
    let items = load_items(resources, commits.collect()).await?;
    for hit in hits {
        let Some(Item::Repository(of)) = items.get(&hit.id) else { continue };
        if let Record::Commit(record) = &of.record {
            hit.author_name = Some(record.commit.author.name.clone()).filter(|name| !name.is_empty());
        }
    }
    Ok(())
}

impl Hit {
    /// The score as people see it, 0 to 1. The order of the hits tells apart what is more than that.
    pub fn bounded_score(&self) -> f32 {
        self.score.clamp(0.0, 1.0)
    }

    /// Leaves the texts out. `None` if the id of the document is not a reference.
    fn into_summary(self, chunk: Option<HitChunk>) -> Option<HitSummary> {
        let score = self.bounded_score();
        let Self { document, snippet, score: _, parts, why, passages: _, members, reached_by } = self;
        let facts = document.facts;
        Some(HitSummary {
            parent: if *facts.thread == *document.id { None } else { facts.thread.parse().ok() },
            id: document.id.parse().ok()?,
            kind: facts.kind,
            title: document.title,
            url: Some(document.url).filter(|url| !url.is_empty()),
            path: document.path,
            lines: document.lines,
            author: facts.author.as_deref().map(str::to_owned),
            author_name: None,
            project: facts.project.to_string(),
            state: facts.state,
            labels: facts.labels.iter().map(ToString::to_string).collect(),
            created_at: facts.created_at,
            updated_at: document.updated_at,
            snippet,
            score,
            parts,
            why,
            members,
            reached_by,
            chunk,
            confidential: facts.confidential,
        })
    }
}
