//! GraphQL types of status: how much there is, how far syncs are, and what a check found.

use async_graphql::{Context, ID, Json, Result, SimpleObject};
use backstory_engine::{
    backup, check, ledger, quarantine, stats,
    status::{self, SyncStatusRequest},
};

use super::{
    loaders,
    names::TaskStatus,
    page,
    project::Project,
    scalar::{BigInt, DateTime},
    secret::Secrets,
    task::{self, Task},
};

/// Runs that are listed, unless the request says how many.
pub(super) const DEFAULT_RUNS: usize = 5;

/// How many items of each kind there are.
#[derive(SimpleObject)]
pub(crate) struct Stats {
    /// Projects in the graph.
    projects: u64,
    /// Issues in the graph.
    issues: u64,
    /// Merge requests in the graph.
    merge_requests: u64,
    /// Discussions in the graph.
    discussions: u64,
    /// Notes in the graph.
    notes: u64,
    /// People in the graph.
    people: u64,
    /// Labels in the graph.
    labels: u64,
    /// Milestones in the graph.
    milestones: u64,
    /// Commits in the graph.
    commits: u64,
    /// Files in the graph, also those that are no more.
    files: u64,
    /// Code entities in the graph, also those that are no more.
    code_entities: u64,
    /// Branches in the graph.
    branches: u64,
    /// Tags in the graph.
    tags: u64,
    /// Design notes in the graph.
    design_notes: u64,
    /// Nodes of every class in the graph, by the name of the class.
    nodes: Vec<ClassCount>,
    /// Statements in the graph.
    quads: BigInt,
    /// Name of the embedding model.
    model: String,
    /// Secrets that were replaced before anything was stored.
    redactions: u64,
    /// The same by project and kind.
    secrets: Vec<ProjectSecrets>,
}

/// How many nodes of a class there are.
#[derive(SimpleObject)]
pub(crate) struct ClassCount {
    /// Name of the class: `Issue`, `Person`, …
    name: String,
    /// How many.
    count: u64,
}

impl From<stats::Stats> for Stats {
    fn from(stats: stats::Stats) -> Self {
        Self {
            projects: stats.projects,
            issues: stats.issues,
            merge_requests: stats.merge_requests,
            discussions: stats.discussions,
            notes: stats.notes,
            people: stats.people,
            labels: stats.labels,
            milestones: stats.milestones,
            commits: stats.commits,
            files: stats.files,
            code_entities: stats.code_entities,
            branches: stats.branches,
            tags: stats.tags,
            design_notes: stats.design_notes,
            quads: stats.quads.into(),
            model: stats.model,
            redactions: stats.redactions,
            secrets: stats.secrets.into_iter().map(ProjectSecrets::from).collect(),
            nodes: stats.nodes.into_iter().map(|(name, count)| ClassCount { name, count }).collect(),
        }
    }
}

/// How the stores stand towards the forges and each other.
#[derive(SimpleObject)]
pub(crate) struct SyncStatus {
    /// The newest runs, newest first.
    runs: Vec<SyncRun>,
    /// Every configured project.
    projects: Vec<ProjectSync>,
    /// How fresh each project is, of a forge or not, and how much of it is known.
    freshness: Vec<Freshness>,
    /// What forges sent and cannot be read. It is not stored; what was stored of it before stays, and each sync asks for it
    /// again.
    quarantine: Quarantine,
    /// Number of the newest change in the ledger.
    ledger_seq: BigInt,
    /// Number of the newest change that the graph has.
    graph_seq: BigInt,
    /// Number of the newest change that the lists have.
    lists_seq: BigInt,
    /// Number of the newest change that the index has.
    index_seq: BigInt,
    /// The sync that is at work.
    running: Option<Task>,
}

/// A sync, as it is on record.
#[derive(SimpleObject)]
pub(crate) struct SyncRun {
    /// Its number in the ledger.
    id: ID,
    /// What was asked for: `sync`, `sync --reconcile` or `sync --full`.
    command: String,
    /// When it began.
    started_at: DateTime,
    /// When it ended.
    finished_at: Option<DateTime>,
    /// How it stands.
    status: TaskStatus,
    /// Why it failed.
    error: Option<String>,
    /// What it did: an object of counts.
    summary: Option<Json<serde_json::Value>>,
}

/// A copy of the ledger.
#[derive(SimpleObject)]
pub(crate) struct Backup {
    /// The file, on the server's machine.
    path: String,
    /// Its size.
    bytes: BigInt,
    /// The newest change that is in it, or one before.
    ledger_seq: BigInt,
}

impl From<backup::Backup> for Backup {
    fn from(backup: backup::Backup) -> Self {
        let backup::Backup { path, bytes, ledger_seq } = backup;
        Self { path: path.display().to_string(), bytes: bytes.into(), ledger_seq: ledger_seq.into() }
    }
}

/// Secrets that were replaced in everything of a project.
#[derive(SimpleObject)]
pub(crate) struct ProjectSecrets {
    /// The project.
    project: Project,
    /// How many of each kind.
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
    /// The project.
    project: Project,
    /// When the last sync that read it to the end began; null if none did.
    synced_at: Option<DateTime>,
    /// Why it could not be read from its forge when that was last tried; null if it could.
    last_error: Option<String>,
    /// When that was tried.
    failed_at: Option<DateTime>,
    /// Issues that are known.
    issues: u64,
    /// Merge requests that are known.
    merge_requests: u64,
    /// Confidential issues among those.
    confidential_issues: u64,
    /// Internal discussions of what is not confidential itself.
    internal_discussions: u64,
}

impl From<status::Freshness> for Freshness {
    fn from(known: status::Freshness) -> Self {
        Self {
            last_error: known.last_error,
            failed_at: known.failed_at.map(DateTime::from),
            project: Project::new(known.project),
            synced_at: known.synced_at.map(DateTime::from),
            issues: known.issues,
            merge_requests: known.merge_requests,
            confidential_issues: known.confidential_issues,
            internal_discussions: known.internal_discussions,
        }
    }
}

/// What forges sent and cannot be read.
#[derive(SimpleObject)]
pub(crate) struct Quarantine {
    /// How many items.
    count: u64,
    /// The first hundred of them, by project, kind and key.
    items: Vec<QuarantinedItem>,
}

/// Something that a forge sent and that cannot be read.
#[derive(SimpleObject)]
pub(crate) struct QuarantinedItem {
    /// The project that it came with.
    project: Project,
    /// What it is: `issue`, `merge_request`, `discussion`, `label`, `milestone`, `person` or `project`.
    kind: String,
    /// What it is called: `acme/shop#12`, `label bug of acme/shop`; `?` stands for what cannot be told.
    #[graphql(name = "ref")]
    reference: String,
    /// Path of the field that is wrong, `notes[0].created_at`; empty if it is no single one.
    field: String,
    /// What is wrong, without the value.
    reason: String,
    /// When it first could not be read.
    first_seen: DateTime,
    /// When it was last asked for.
    last_tried: DateTime,
}

impl From<quarantine::Quarantine> for Quarantine {
    fn from(known: quarantine::Quarantine) -> Self {
        let item = |row: quarantine::QuarantinedItem| QuarantinedItem {
            reference: row.reference,
            project: Project::new(row.project),
            kind: row.kind.as_str().to_owned(),
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
    /// Full path of the project.
    path: String,
    /// How far its issues have been read; null if they never were.
    issues_cursor: Option<Cursor>,
    /// How far its merge requests have been read; null if they never were.
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
        Self {
            id: run.id.to_string().into(),
            command: run.command,
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
        path: project.path,
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
    /// Every rule.
    findings: Vec<Finding>,
    /// The digest of graph and lists.
    digest: Digest,
}

/// A rule and what breaks it.
#[derive(SimpleObject)]
pub(crate) struct Finding {
    /// What must hold.
    rule: String,
    /// What breaks it, the first few; empty if it holds.
    problems: Vec<String>,
}

/// What graph and lists hold, in short: if they hold the same, they have the same digest.
#[derive(SimpleObject)]
pub(crate) struct Digest {
    /// 64 hex digits.
    value: String,
    /// How many statements of the graph it covers.
    quads: BigInt,
    /// How many rows of the lists it covers.
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
