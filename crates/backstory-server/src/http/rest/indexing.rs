//! Addresses for the operator of the index (`/api/index`): what is indexed of each repository, jobs and snapshots,
//! with the names of fields of the tool that plans work from retrieved passages.

use axum::http::{Method, StatusCode};
use backstory_engine::{
    error::{Error, ErrorKind},
    ledger::{JobKind, JobStatus, SnapshotStatus},
    model::{access::Scope, digest::project_uuid},
    repository::{AddRef, ListRepositories, RepositoryState, RepositoryStatus},
    revisions::IndexedRevision,
    snapshot::{ListSnapshots, PinSnapshot, PruneSnapshots, SnapshotReport},
    status::CoverageRequest,
    worker::{GetJob, JobReport, ListJobs, QueueJob},
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    cursor::MAX_LIMIT,
    prefer,
    repositories::repository_of,
    route::{Asked, Doc, Reply, Route, change, get},
};
use crate::http::{Refusal, execute::execute};

const fn doc(summary: &'static str, scope: Scope) -> Doc {
    Doc { tag: "index", summary, scope }
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get::<_, Vec<IndexedRepo>, _, _>(
            "/api/index/repos",
            doc("What is indexed of each repository", Scope::Read),
            list,
        ),
        get::<_, IndexedRepo, _, _>("/api/index/repos/{repo_id}", doc("What is indexed of one", Scope::Read), find),
        change::<_, NewJob, IndexJob, _, _>(
            Method::POST,
            "/api/index/jobs",
            doc("Index what is new in a repository, or all of it again", Scope::Sync),
            StatusCode::ACCEPTED,
            start,
        )
        .with_success_statuses(&[StatusCode::OK])
        .waits(),
        get::<_, IndexJob, _, _>("/api/index/jobs/{job_id}", doc("How far a job is", Scope::Read), job),
        get::<_, Vec<IndexSnapshot>, _, _>(
            "/api/index/snapshots",
            doc("Recorded states of the index", Scope::Read),
            snapshots,
        ),
        change::<_, Pinned, IndexSnapshot, _, _>(
            Method::POST,
            "/api/index/snapshots/{snapshot_id}/pin",
            doc("Keep a state, or do not", Scope::Admin),
            StatusCode::OK,
            pin,
        ),
        change::<_, (), Deleted, _, _>(
            Method::DELETE,
            "/api/index/snapshots",
            doc("Delete old states that are not pinned", Scope::Admin),
            StatusCode::OK,
            prune,
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct NoParameters {}

#[derive(Deserialize, JsonSchema)]
struct RepoParameter {
    /// Its id.
    repo_id: String,
}

/// What is indexed of a repository.
#[derive(Serialize, JsonSchema)]
struct IndexedRepo {
    /// Its id.
    repo_id: String,
    /// Full path of its project.
    repo_full_name: String,
    /// How far it is.
    status: RepositoryState,
    /// The indexed commit.
    last_indexed_commit_sha: Option<String>,
    /// Further branches, tags and commits whose files are indexed.
    revisions: Vec<IndexedRevision>,
    /// When it was last indexed to the end.
    last_indexed_at: Option<Timestamp>,
    /// Documents of the project that can be found.
    document_count: u64,
    /// Passages of the project that have vectors.
    chunk_count: u64,
    /// The newest job of the project.
    last_job: Option<IndexJob>,
    /// Why it could not be read when that was last tried.
    last_error: Option<String>,
}

/// A job.
#[derive(Serialize, JsonSchema)]
struct IndexJob {
    /// Its number.
    job_id: String,
    /// Id of the repository.
    repo_id: String,
    /// What it does.
    kind: JobKind,
    /// How it stands.
    status: JobStatus,
    /// When it was last begun.
    started_at: Option<Timestamp>,
    /// When it ended.
    finished_at: Option<Timestamp>,
    /// Why the last attempt failed.
    error: Option<String>,
    /// How much of it is done, if that is known.
    progress: Option<Progress>,
}

/// How much of a job is done.
#[derive(Serialize, JsonSchema)]
struct Progress {
    /// What it does now.
    phase: String,
    /// How much of that is done.
    done: u64,
    /// Of how much, if that is known.
    total: Option<u64>,
}

/// A recorded state of the index.
#[derive(Serialize, JsonSchema)]
struct IndexSnapshot {
    /// Its id.
    snapshot_id: String,
    /// When it was reached.
    created_at: Timestamp,
    /// Whether it was reached as it should.
    status: SnapshotStatus,
    /// Whether the index is in this state now.
    is_current: bool,
    /// Whether passages of this state can be retrieved.
    is_searchable: bool,
    /// Bytes that what has changed since then takes in the ledger as it was.
    kept_bytes: u64,
    /// Whether its record is kept.
    pinned: bool,
    /// The model of the vectors.
    embedding_model: String,
    /// Indexed commits.
    commits: Vec<SnapshotCommit>,
    /// Documents.
    document_count: u64,
    /// Passages with vectors.
    chunk_count: u64,
    /// Why it failed.
    last_error: Option<String>,
}

/// An indexed commit.
#[derive(Serialize, JsonSchema)]
struct SnapshotCommit {
    /// Id of the repository.
    repo_id: String,
    /// Full path of its project.
    repo_full_name: String,
    /// The commit.
    commit_sha: String,
}

impl From<JobReport> for IndexJob {
    fn from(JobReport { job, task }: JobReport) -> Self {
        let progress = task.map(|task| Progress { phase: task.phase, done: task.done, total: task.total });
        Self {
            job_id: job.id.to_string(),
            repo_id: project_uuid(&job.job.project),
            kind: job.job.kind,
            status: job.status,
            started_at: job.started_at,
            finished_at: job.finished_at,
            error: job.error,
            progress,
        }
    }
}

impl From<SnapshotReport> for IndexSnapshot {
    fn from(snapshot: SnapshotReport) -> Self {
        let commit = |commit: backstory_engine::snapshot::SnapshotCommit| SnapshotCommit {
            repo_id: project_uuid(&commit.project),
            repo_full_name: commit.project,
            commit_sha: commit.sha,
        };
        Self {
            snapshot_id: snapshot.id,
            created_at: snapshot.created_at,
            status: snapshot.status,
            is_current: snapshot.current,
            is_searchable: snapshot.searchable,
            kept_bytes: snapshot.kept_bytes,
            pinned: snapshot.pinned,
            embedding_model: snapshot.model,
            commits: snapshot.commits.into_iter().map(commit).collect(),
            document_count: snapshot.stats.documents,
            chunk_count: snapshot.stats.passages,
            last_error: snapshot.last_error,
        }
    }
}

async fn describe(asked: &Asked, repository: RepositoryStatus, jobs: &[JobReport]) -> Result<IndexedRepo, Refusal> {
    // The coverage of a project is what a caller gets who sees only that project.
    let visibility = asked.caller.visibility.within_project(&repository.project);
    let within = backstory_engine::model::access::Caller { visibility, ..asked.caller.clone() };
    let coverage = execute(&asked.app, &within, CoverageRequest {}).await?;
    let last_job = jobs.iter().find(|report| report.job.job.project == repository.project).cloned();
    Ok(IndexedRepo {
        repo_id: project_uuid(&repository.project),
        status: repository.state,
        last_indexed_commit_sha: repository.head.map(|head| head.to_string()),
        revisions: repository.revisions,
        last_indexed_at: repository.synced_at,
        document_count: coverage.documents,
        chunk_count: coverage.passages,
        last_job: last_job.map(IndexJob::from),
        last_error: repository.last_error,
        repo_full_name: repository.project,
    })
}

async fn newest_jobs(asked: &Asked) -> Result<Vec<JobReport>, Refusal> {
    asked.answer(ListJobs { limit: MAX_LIMIT, ..ListJobs::default() }).await
}

async fn list(asked: Asked, _: NoParameters) -> Result<Vec<IndexedRepo>, Refusal> {
    let (repositories, jobs) = (asked.answer(ListRepositories {}).await?, newest_jobs(&asked).await?);
    let mut described = Vec::new();
    for repository in repositories {
        described.push(describe(&asked, repository, &jobs).await?);
    }
    Ok(described)
}

async fn find(asked: Asked, parameters: RepoParameter) -> Result<IndexedRepo, Refusal> {
    let repository = repository_of(&asked, &parameters.repo_id).await?;
    let jobs = newest_jobs(&asked).await?;
    describe(&asked, repository, &jobs).await
}

/// A job to be done.
#[derive(Deserialize, JsonSchema)]
struct NewJob {
    /// Id or full path of the repository.
    repo_id: String,
    /// What to do; `index` if absent.
    mode: Option<IndexMode>,
    /// Branch, tag or commit whose files are indexed too, from now on.
    #[serde(rename = "ref")]
    revision: Option<String>,
    /// The same of a commit, instead of `ref`.
    commit_sha: Option<String>,
}

/// What to do.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum IndexMode {
    /// Index what is new.
    #[default]
    Index,
    /// Index everything again.
    Reindex,
}

async fn start(asked: Asked, _: NoParameters, new: NewJob) -> Result<Reply, Refusal> {
    let project = repository_of(&asked, &new.repo_id).await?.project;
    if new.revision.is_some() && new.commit_sha.is_some() {
        return Err(Error::new(ErrorKind::Invalid, "ref and commit_sha were both given; give one of them").into());
    }
    if let Some(name) = new.revision.or(new.commit_sha) {
        asked.answer(AddRef { project: project.clone(), name }).await?;
    }
    let kind = match new.mode.unwrap_or_default() {
        IndexMode::Index => JobKind::Sync,
        IndexMode::Reindex => JobKind::Full,
    };
    let job = asked.answer(QueueJob { kind, project }).await?;
    let (job, waited) = prefer::wait_for(&asked, job).await?;
    Reply::waited(prefer::status_of(&job), &IndexJob::from(JobReport { job, task: None }), waited)
}

#[derive(Deserialize, JsonSchema)]
struct JobParameter {
    /// Its number.
    job_id: i64,
}

async fn job(asked: Asked, parameters: JobParameter) -> Result<IndexJob, Refusal> {
    Ok(asked.answer(GetJob { id: parameters.job_id }).await?.into())
}

async fn snapshots(asked: Asked, _: NoParameters) -> Result<Vec<IndexSnapshot>, Refusal> {
    Ok(asked.answer(ListSnapshots {}).await?.recorded.into_iter().map(IndexSnapshot::from).collect())
}

#[derive(Deserialize, JsonSchema)]
struct SnapshotParameter {
    /// Its id, or at least four of its first digits.
    snapshot_id: String,
}

#[derive(Deserialize, JsonSchema)]
struct Pinned {
    /// Whether its record is kept.
    pinned: bool,
}

async fn pin(asked: Asked, parameters: SnapshotParameter, Pinned { pinned }: Pinned) -> Result<Reply, Refusal> {
    let snapshot = asked.answer(PinSnapshot { id: parameters.snapshot_id, pinned }).await?;
    Reply::json(StatusCode::OK, &IndexSnapshot::from(snapshot))
}

/// What was deleted.
#[derive(Serialize, JsonSchema)]
struct Deleted {
    /// Ids of the snapshots.
    deleted: Vec<String>,
}

async fn prune(asked: Asked, _: NoParameters, (): ()) -> Result<Reply, Refusal> {
    Reply::json(StatusCode::OK, &Deleted { deleted: asked.answer(PruneSnapshots::default()).await? })
}
