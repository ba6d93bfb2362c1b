//! Counts of what the stores hold.

use std::collections::BTreeMap;

use backstory_model::role::ServerRole;
use backstory_store::{
    graph::queries,
    index::{Coverage, IndexOptions},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    resources::{Resources, blocking},
    status::index_coverage,
    use_case::{UseCase, Weight},
};

/// What stands for the embedding model where there is none.
pub const NO_MODEL: &str = "none";

/// Requests counts of what the stores hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatsRequest {}

impl UseCase for StatsRequest {
    const NAME: &'static str = "stats";
    const ROLE: Option<ServerRole> = None;
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Stats;

    async fn run(self, resources: &Resources) -> Result<Stats> {
        collect_stats(resources).await
    }
}

/// Counts of what the stores hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stats {
    /// Projects in the graph.
    pub projects: u64,
    /// Issues in the graph.
    pub issues: u64,
    /// Merge requests in the graph.
    pub merge_requests: u64,
    /// Discussions in the graph.
    pub discussions: u64,
    /// Notes in the graph.
    pub notes: u64,
    /// People in the graph.
    pub people: u64,
    /// Labels in the graph.
    pub labels: u64,
    /// Milestones in the graph.
    pub milestones: u64,
    /// Commits in the graph.
    pub commits: u64,
    /// Files in the graph, deleted ones included.
    pub files: u64,
    /// Code entities in the graph, deleted ones included.
    pub code_entities: u64,
    /// Branches in the graph.
    pub branches: u64,
    /// Tags in the graph.
    pub tags: u64,
    /// Design notes in the graph.
    pub design_notes: u64,
    /// Nodes of every class in the graph, by the name of the class.
    pub nodes: BTreeMap<String, u64>,
    /// Statements in the graph.
    pub quads: u64,
    /// Name of the embedding model; none if no text gets a vector.
    pub model: String,
    /// Places in which a secret was replaced before anything was stored; one secret may stand in many.
    pub redactions: u64,
    /// The same by project and kind.
    pub secrets: Vec<ProjectSecrets>,
    /// How much of the index has vectors.
    pub coverage: Coverage,
    /// How the nearest vectors are found.
    #[serde(default)]
    pub vector_search: VectorSearch,
    /// Documents that the index has beside the current ones, for further branches, tags and commits and for recorded states; 0
    /// for those who see only some projects.
    #[serde(default)]
    pub versions: u64,
}

/// How the nearest vectors are found, once there are ten thousand of them; fewer are compared one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VectorSearch {
    /// Clusters of vectors; one for every thousand vectors if absent.
    pub clusters: Option<u32>,
    /// Clusters that a search looks into.
    pub probes: usize,
    /// How many times as many vectors as are wanted are compared exactly; 0 if none is.
    pub refine: u32,
}

impl From<IndexOptions> for VectorSearch {
    fn from(of: IndexOptions) -> Self {
        Self { clusters: of.clusters, probes: of.probes, refine: of.refine }
    }
}

/// Places in all items of a project in which secrets were replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectSecrets {
    /// Full path of the project.
    pub project: String,
    /// Each kind of secret.
    pub secrets: Vec<SecretCount>,
}

/// In how many places secrets of a kind were replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretCount {
    /// Name of the kind, as in `[redacted:<kind>:<length>]`.
    pub kind: String,
    /// How many places.
    pub count: u64,
}

/// Returns counts of what the stores hold.
///
/// # Errors
/// A store cannot be read.
pub(crate) async fn collect_stats(resources: &Resources) -> Result<Stats> {
    let nodes = node_counts(resources).await?;
    let graph = resources.graph();
    let quads = blocking(move || Ok(graph.len()? as u64)).await?;
    let secrets = resources.with_ledger(|ledger| ledger.secrets()).await?;
    let embedder = resources.embedder();
    let of_class = |class: &str| nodes.get(class).copied().unwrap_or(0);
    Ok(Stats {
        projects: of_class("Project"),
        issues: of_class("Issue"),
        merge_requests: of_class("MergeRequest"),
        discussions: of_class("Discussion"),
        notes: of_class("Note"),
        people: of_class("Person"),
        labels: of_class("Label"),
        milestones: of_class("Milestone"),
        commits: of_class("Commit"),
        files: of_class("File"),
        code_entities: of_class("CodeEntity"),
        branches: of_class("Branch"),
        tags: of_class("Tag"),
        design_notes: of_class("DesignNote"),
        nodes,
        quads,
        model: if embedder.is_off() { NO_MODEL } else { embedder.model() }.to_owned(),
        redactions: secrets.values().sum(),
        secrets: group_by_project(secrets),
        coverage: index_coverage(resources),
        vector_search: resources.index().options().into(),
        // Those that nothing needs any more go when any project changes, which is not for everybody to know.
        versions: if resources.visibility().allows_all_projects() { resources.index().version_documents() } else { 0 },
    })
}

async fn node_counts(resources: &Resources) -> Result<BTreeMap<String, u64>> {
    let rows = resources.graph_query(queries::NODE_COUNTS, vec![]).await?;
    let counts = rows.iter().filter_map(|row| {
        let class = row.text("class")?.rsplit(['#', '/']).next()?.to_owned();
        Some((class_name(&class).to_owned(), row.number("count")?.unsigned_abs()))
    });
    Ok(counts.collect())
}

/// What people call a class: other ontologies have other names for some.
fn class_name(class: &str) -> &str {
    match class {
        "Thread" => "Discussion",
        "Post" => "Note",
        other => other,
    }
}

fn group_by_project(counts: BTreeMap<(String, String), u64>) -> Vec<ProjectSecrets> {
    let mut projects: Vec<ProjectSecrets> = Vec::new();
    for ((project, kind), count) in counts {
        let secrets = SecretCount { kind, count };
        match projects.last_mut().filter(|last| last.project == project) {
            Some(last) => last.secrets.push(secrets),
            None => projects.push(ProjectSecrets { project, secrets: vec![secrets] }),
        }
    }
    projects
}
