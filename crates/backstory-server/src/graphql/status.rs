//! GraphQL types of status: how much there is, how far syncs are, and what a check found.

use async_graphql::{Context, Enum, ID, Json, Result, SimpleObject};
use backstory_engine::{
    SyncRequest, backup, check, ledger, model, quarantine, stats,
    status::{self, SyncStatusRequest},
};

use super::{
    counter::Counter,
    loaders,
    names::{SyncPart, SyncScope, TaskStatus},
    page,
    project::Project,
    scalar::{BigInt, DateTime},
    secret::Secrets,
    task::{self, Task},
    words::value_of,
};

/// Runs that are listed, unless the request says how many.
pub(super) const DEFAULT_RUNS: usize = 5;

/// How many items of each kind there are.
#[derive(SimpleObject)]
pub(crate) struct Stats {
    /// How many projects the graph has.
    project_count: u64,
    /// How many issues the graph has.
    issue_count: u64,
    /// How many merge requests the graph has.
    merge_request_count: u64,
    /// How many discussions the graph has.
    discussion_count: u64,
    /// How many notes the graph has.
    note_count: u64,
    /// How many people the graph has.
    person_count: u64,
    /// How many labels the graph has.
    label_count: u64,
    /// How many milestones the graph has.
    milestone_count: u64,
    /// How many commits the graph has.
    commit_count: u64,
    /// How many files the graph has, including those that are gone.
    file_count: u64,
    /// How many code entities the graph has, including those that are gone.
    code_entity_count: u64,
    /// How many branches the graph has.
    branch_count: u64,
    /// How many tags the graph has.
    tag_count: u64,
    /// How many design notes the graph has.
    design_note_count: u64,
    /// How many nodes of each class the graph has, by the name of the class.
    nodes: Vec<ClassCount>,
    /// How many statements the graph has.
    quads: BigInt,
    /// Name of the embedding model; none if no text gets a vector.
    model: String,
    /// In how many places a secret was replaced before anything was stored; one secret may be in many.
    redaction_count: u64,
    /// In how many places secrets were replaced, by project and kind.
    secrets: Vec<ProjectSecrets>,
    /// How the nearest vectors are found.
    vector_search: VectorSearch,
}

/// How the nearest vectors are found, once there are ten thousand of them; fewer are compared one by one.
#[derive(SimpleObject)]
pub(crate) struct VectorSearch {
    /// Clusters of vectors; one for every thousand vectors if null.
    clusters: Option<u32>,
    /// Clusters that a search looks into.
    probes: usize,
    /// How many times as many vectors as are wanted are compared exactly; 0 if none is.
    refine: u32,
}

/// Class of nodes of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum NodeClass {
    /// Projects of forges and repositories.
    Project,
    /// People, by user name or address.
    Person,
    /// Labels of projects.
    Label,
    /// Milestones of projects.
    Milestone,
    /// Releases that a forge has.
    Release,
    /// Issues of projects.
    Issue,
    /// Merge requests of projects.
    MergeRequest,
    /// Discussions of issues and merge requests.
    Discussion,
    /// Notes of discussions.
    Note,
    /// Commits of repositories.
    Commit,
    /// Branches of repositories.
    Branch,
    /// Tags of repositories.
    Tag,
    /// Files, including those that are gone.
    File,
    /// Code entities, including those that are gone.
    CodeEntity,
    /// Code entities that are tests.
    TestCase,
    /// Design notes in code and commits.
    DesignNote,
    /// Notes that a language model wrote.
    WrittenNote,
    /// Tickets of other trackers.
    Ticket,
}

/// How many nodes of a class there are.
#[derive(SimpleObject)]
pub(crate) struct ClassCount {
    /// Name of the class.
    name: NodeClass,
    /// How many nodes of the class there are.
    count: u64,
}

impl From<stats::Stats> for Stats {
    fn from(stats: stats::Stats) -> Self {
        let of_class = |(class, count): (String, u64)| Some(ClassCount { name: value_of(&class)?, count });
        Self {
            project_count: stats.projects,
            issue_count: stats.issues,
            merge_request_count: stats.merge_requests,
            discussion_count: stats.discussions,
            note_count: stats.notes,
            person_count: stats.people,
            label_count: stats.labels,
            milestone_count: stats.milestones,
            commit_count: stats.commits,
            file_count: stats.files,
            code_entity_count: stats.code_entities,
            branch_count: stats.branches,
            tag_count: stats.tags,
            design_note_count: stats.design_notes,
            quads: stats.quads.into(),
            model: stats.model,
            redaction_count: stats.redactions,
            secrets: stats.secrets.into_iter().map(ProjectSecrets::from).collect(),
            vector_search: {
                let stats::VectorSearch { clusters, probes, refine } = stats.vector_search;
                VectorSearch { clusters, probes, refine }
            },
            nodes: stats.nodes.into_iter().filter_map(of_class).collect(),
        }
    }
}

/// How fresh the stores are, compared with the forges and each other.
#[derive(SimpleObject)]
pub(crate) struct SyncStatus {
    /// The newest runs, newest first.
    runs: Vec<SyncRun>,
    /// Every project of a forge.
    projects: Vec<ProjectSync>,
    /// How fresh each project is, of a forge or not, and how much of it is known.
    freshness: Vec<Freshness>,
    /// Items that forges sent and that cannot be read. They are not stored; what was stored of them before stays, and each
    /// sync asks for them again.
    quarantine: Quarantine,
    /// Number of the newest change in the ledger.
    ledger_seq: BigInt,
    /// Number of the newest change that the graph has.
    graph_seq: BigInt,
    /// Number of the newest change that the lists have.
    lists_seq: BigInt,
    /// Number of the newest change that the index has.
    index_seq: BigInt,
    /// Sync that is running; null if none is.
    running: Option<Task>,
}

/// A sync, as it is on record.
#[derive(SimpleObject)]
pub(crate) struct SyncRun {
    /// Id of the sync, `sync-run/12`.
    id: ID,
    /// Number of the sync in the ledger.
    number: i64,
    /// How much the sync reads.
    scope: SyncScope,
    /// Parts that the sync reads; empty if it reads all.
    only: Vec<SyncPart>,
    /// Projects that the sync was asked to read; empty if it was all, null if that is not on record.
    projects: Option<Vec<Project>>,
    /// When the sync began.
    started_at: DateTime,
    /// When the sync ended; null if it has not.
    finished_at: Option<DateTime>,
    /// State of the sync.
    status: TaskStatus,
    /// Why the sync failed; null if it did not.
    error: Option<String>,
    /// What the sync did, as an object of counts; null if that is not known.
    summary: Option<Json<serde_json::Value>>,
}

/// A copy of the ledger.
#[derive(SimpleObject)]
pub(crate) struct Backup {
    /// Path of the copy on the server's machine.
    path: String,
    /// Size of the copy in bytes.
    bytes: BigInt,
    /// Number of the newest change that is in the copy, or of one before.
    ledger_seq: BigInt,
}

impl From<backup::Backup> for Backup {
    fn from(backup: backup::Backup) -> Self {
        let backup::Backup { path, bytes, ledger_seq } = backup;
        Self { path: path.display().to_string(), bytes: bytes.into(), ledger_seq: ledger_seq.into() }
    }
}

/// Places in everything of a project in which secrets were replaced.
#[derive(SimpleObject)]
pub(crate) struct ProjectSecrets {
    /// Project that the secrets were in.
    project: Project,
    /// In how many places there were secrets of each kind.
    secrets: Vec<Secrets>,
}

impl From<stats::ProjectSecrets> for ProjectSecrets {
    fn from(of: stats::ProjectSecrets) -> Self {
        let secrets = of.secrets.into_iter().map(|secret| Secrets::new(secret.kind, secret.count));
        Self { project: Project::new(of.project), secrets: secrets.collect() }
    }
}

/// How fresh a project is, and how much of it is known.
#[derive(SimpleObject)]
pub(crate) struct Freshness {
    /// Project that this is about.
    project: Project,
    /// When the last sync that read it to the end began; null if none did.
    synced_at: Option<DateTime>,
    /// Why it could not be read from its forge when that was last tried; null if it could.
    last_error: Option<String>,
    /// When the project could not be read; null if it could when that was last tried.
    failed_at: Option<DateTime>,
    /// How many issues are known.
    issue_count: u64,
    /// How many merge requests are known.
    merge_request_count: u64,
    /// How many confidential issues are known.
    confidential_issue_count: u64,
    /// How many internal discussions are known on what is not itself confidential.
    internal_discussion_count: u64,
}

impl From<status::ProjectFreshness> for Freshness {
    fn from(known: status::ProjectFreshness) -> Self {
        Self {
            last_error: known.last_error,
            failed_at: known.failed_at.map(DateTime::from),
            project: Project::new(known.project),
            synced_at: known.synced_at.map(DateTime::from),
            issue_count: known.issues,
            merge_request_count: known.merge_requests,
            confidential_issue_count: known.confidential_issues,
            internal_discussion_count: known.internal_discussions,
        }
    }
}

/// What forges sent that cannot be read.
#[derive(SimpleObject)]
pub(crate) struct Quarantine {
    /// How many items cannot be read.
    count: u64,
    /// The first hundred items that cannot be read, by project, kind and key.
    items: Vec<QuarantinedItem>,
}

/// Kind of an item that the ledger stores.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::entity::ItemKind")]
pub(crate) enum ItemKind {
    /// A project.
    Project,
    /// A person, as the forge knows them.
    Person,
    /// A label of a project.
    Label,
    /// A milestone of a project.
    Milestone,
    /// A release, as the forge has it.
    Release,
    /// An issue, without its discussions.
    Issue,
    /// A merge request, without its discussions.
    MergeRequest,
    /// A discussion with its notes.
    Discussion,
    /// A git repository.
    Repository,
    /// A commit and the code entities that it changes.
    Commit,
    /// What a merge commit introduced to the default branch.
    Merge,
    /// A branch of a repository.
    Branch,
    /// A tag of a repository.
    Tag,
    /// The commits that a tag is the first release of.
    Shipment,
    /// A file at the indexed head.
    File,
    /// References and tests of a file.
    FileLinks,
    /// What often changes in the same commits.
    CoChange,
    /// How central code is.
    Importance,
    /// A person as commits know them.
    Identity,
}

/// An item that a forge sent and that cannot be read.
#[derive(SimpleObject)]
pub(crate) struct QuarantinedItem {
    /// Project that the item came with.
    project: Project,
    /// Kind of the item, of those that forges send.
    kind: ItemKind,
    /// What the item is called: `acme/shop#12`, `label bug of acme/shop`; `?` stands for what is not known.
    reference: String,
    /// Path of the field that is wrong, `notes[0].created_at`; empty if no single one is.
    field: String,
    /// What is wrong with the item, without the value.
    reason: String,
    /// When the item first could not be read.
    first_seen: DateTime,
    /// When the item was last asked for.
    last_tried: DateTime,
}

impl From<quarantine::Quarantine> for Quarantine {
    fn from(known: quarantine::Quarantine) -> Self {
        let item = |row: quarantine::QuarantinedItem| QuarantinedItem {
            reference: row.reference,
            project: Project::new(row.project),
            kind: row.kind.into(),
            field: row.field,
            reason: row.reason,
            first_seen: row.first_seen.into(),
            last_tried: row.last_tried.into(),
        };
        Self { count: known.count, items: known.items.into_iter().map(item).collect() }
    }
}

/// How far the lists of a project have been read.
#[derive(SimpleObject)]
pub(crate) struct ProjectSync {
    /// Project whose lists are read.
    project: Project,
    /// How far the project's issues have been read; null if they never were.
    issues_cursor: Option<Cursor>,
    /// How far the project's merge requests have been read; null if they never were.
    merge_requests_cursor: Option<Cursor>,
}

/// How far a list has been read: everything up to this change and number.
#[derive(SimpleObject)]
pub(crate) struct Cursor {
    /// When the last item changed.
    updated_at: DateTime,
    /// The forge's number of the last item.
    forge_id: String,
}

impl From<ledger::Cursor> for Cursor {
    fn from(cursor: ledger::Cursor) -> Self {
        Self { updated_at: cursor.updated_at.into(), forge_id: cursor.id.to_string() }
    }
}

impl From<ledger::Run> for SyncRun {
    fn from(run: ledger::Run) -> Self {
        let request = SyncRequest::from_command(&run.command);
        Self {
            id: Counter::SyncRun.id(run.id),
            number: run.id,
            scope: request.scope.into(),
            only: request.only.into_iter().map(SyncPart::from).collect(),
            projects: run.projects.map(|projects| projects.into_iter().map(Project::new).collect()),
            started_at: run.started_at.into(),
            finished_at: run.finished_at.map(DateTime::from),
            status: match run.status {
                ledger::RunStatus::Running => TaskStatus::Running,
                ledger::RunStatus::Succeeded => TaskStatus::Succeeded,
                ledger::RunStatus::Failed => TaskStatus::Failed,
            },
            error: run.error,
            summary: task::object(run.summary),
        }
    }
}

/// Where everything stands.
pub(super) async fn sync_status(ctx: &Context<'_>, runs: Option<i32>) -> Result<SyncStatus> {
    let runs = page::size(runs, DEFAULT_RUNS)?;
    let status = loaders::engine(ctx)?.answer(SyncStatusRequest { runs }).await?;
    let project = |project: status::ProjectStatus| ProjectSync {
        project: Project::new(project.path),
        issues_cursor: project.issues_cursor.map(Cursor::from),
        merge_requests_cursor: project.merge_requests_cursor.map(Cursor::from),
    };
    Ok(SyncStatus {
        runs: status.runs.into_iter().map(SyncRun::from).collect(),
        projects: status.projects.into_iter().map(project).collect(),
        freshness: status.freshness.into_iter().map(Freshness::from).collect(),
        quarantine: status.quarantine.into(),
        ledger_seq: status.ledger_seq.into(),
        graph_seq: status.graph_seq.into(),
        lists_seq: status.lists_seq.into(),
        index_seq: status.index_seq.into(),
        running: status.running.map(Task::from),
    })
}

/// What a check found.
#[derive(SimpleObject)]
pub(crate) struct CheckReport {
    /// Whether every rule holds.
    ok: bool,
    /// Every rule with what breaks it.
    findings: Vec<Finding>,
    /// Digest of graph and lists.
    digest: Digest,
}

/// A rule and what breaks it.
#[derive(SimpleObject)]
pub(crate) struct Finding {
    /// Rule that must hold.
    rule: String,
    /// What breaks the rule, the first few problems; empty if it holds.
    problems: Vec<String>,
}

/// A digest of the contents of graph and lists: equal contents have equal digests.
#[derive(SimpleObject)]
pub(crate) struct Digest {
    /// Digest in 64 hex digits.
    value: String,
    /// How many statements of the graph the digest covers.
    quads: BigInt,
    /// How many rows of the lists the digest covers.
    rows: BigInt,
}

impl From<check::ProjectionDigest> for Digest {
    fn from(digest: check::ProjectionDigest) -> Self {
        Self { value: digest.digest, quads: digest.quads.into(), rows: digest.rows.into() }
    }
}

impl From<check::CheckReport> for CheckReport {
    fn from(report: check::CheckReport) -> Self {
        let finding = |finding: check::Finding| Finding { rule: finding.rule, problems: finding.problems };
        Self {
            ok: report.ok,
            findings: report.findings.into_iter().map(finding).collect(),
            digest: Digest { value: report.digest, quads: report.quads.into(), rows: report.rows.into() },
        }
    }
}
