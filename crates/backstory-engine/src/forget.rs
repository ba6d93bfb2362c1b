//! Legal erasure of an issue, merge request, project or person: out of the ledger, both projections and the disk, never
//! to be ingested again, and a search afterwards for anything that is left. Dropping what is old or large belongs to
//! `sync::retention`.
//!
//! Neither projection gives up by itself what was deleted: Oxigraph keeps every string it ever saw, LanceDB keeps old
//! versions and words in its text index. So the graph is computed from the ledger, which is as fast as copying it, and
//! the index is copied row by row with its vectors (`Index::copy_to`), both into new directories (`rebuild`).
//!
//! A run, in order: pieces of text that nothing else has are chosen (`subject`); the ledger drops the subject from all
//! tables and lists it, in one transaction; the projections apply that; tombstones are deleted; both projections and
//! the ledger's file are rewritten; the pieces are searched for (`verify`). An erasure that was interrupted is reported
//! when the stores are opened next, and can be repeated. Answers and generated texts that are ready only afterwards are
//! compared with the list when they are stored (`Ledger::add_messages`, `Ledger::put_generated`).

mod person;
pub(crate) mod subject;
mod verify;

use std::path::Path;

use backstory_model::{
    alias::PersonNames,
    entity::ItemKind,
    id::{NodeId, ThreadId},
};
use backstory_store::{
    ledger::{AuditAction, AuditEntry, Erased, ErasureTarget},
    missing_resource::{MissingResource, descriptor_limit},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    confidential::clear_mention_index,
    error::{Error, ErrorKind, Result},
    projection::reindex_files,
    read::clear_caches,
    records::{clear_origin_cache, reference_syntax},
    refresh::{catch_up, rewrite_projections},
    repository::{
        add::drop_clone,
        lock_repositories,
        merged::update_merged_requests,
        people::{link_people, rebuild_identities},
    },
    resources::{Resources, blocking},
    snapshot::with_snapshot,
    task::{Reporter, Task, TaskKind},
    use_case::{Scope, UseCase},
};
use person::{check_person, forget_person};
use subject::{Target, TextProbes, texts_of};
use verify::{Verification, verify_forgotten};

/// Longest reason, in characters.
pub const MAX_REASON: usize = 500;
/// Most records of one list.
pub const MAX_AUDIT: usize = 100;
/// Most places that are named where something is left.
const MAX_PLACES: usize = 10;
/// Most places that are kept on record where something is left.
const MAX_LEFT: usize = 100;
/// Where they are among the counts of a record.
const LEFT_IN: &str = "left_in";
/// Fewest descriptors of the process with which something is forgotten: graph and index are open twice meanwhile.
const MIN_DESCRIPTORS: u64 = 256;

/// Starts to forget an issue, a merge request, a project or a person for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForgetRequest {
    /// `acme/shop#12`, `acme/shop!7`, `acme/shop` or `@alice`.
    pub reference: String,
    /// Why, at most 500 characters; it is kept on record.
    pub reason: Option<String>,
}

/// Lets the next sync read again what was forgotten, of a person the next full one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndoForget {
    /// As it was forgotten.
    pub reference: String,
    /// Why, at most 500 characters; it is kept on record.
    pub reason: Option<String>,
}

/// Lists what was forgotten, may be read again, or is not kept any more, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditRequest {
    /// Only this action.
    pub action: Option<AuditAction>,
    /// Only records with a smaller number.
    pub before: Option<i64>,
    /// Most records, at most 100 and one that tells that there are more; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

impl UseCase for ForgetRequest {
    const NAME: &'static str = "forget";
    const SCOPE: Scope = Scope::Admin;
    const IS_LOGGED: bool = false;
    type Answer = Task;

    async fn run(self, resources: &Resources) -> Result<Task> {
        start_forget(resources, &self.reference, self.reason).await
    }
}

impl UseCase for UndoForget {
    const NAME: &'static str = "undo-forget";
    const SCOPE: Scope = Scope::Admin;
    const IS_LOGGED: bool = false;
    type Answer = AuditEntry;

    async fn run(self, resources: &Resources) -> Result<AuditEntry> {
        undo_forget(resources, &self.reference, self.reason).await
    }
}

impl UseCase for AuditRequest {
    const NAME: &'static str = "audit";
    type Answer = Vec<AuditEntry>;

    async fn run(self, resources: &Resources) -> Result<Vec<AuditEntry>> {
        list_audit(resources, self.action, self.before, self.limit).await
    }
}

/// Starts to forget an issue, a merge request, a project or a person. No sync or rebuild may be at work.
///
/// # Errors
/// The reference names nothing that is known, or a project that the configuration names; or something is at work, or too
/// few files may be open to do it to the end.
async fn start_forget(resources: &Resources, reference: &str, reason: Option<String>) -> Result<Task> {
    require_descriptors()?;
    let reason = validate_reason(reason)?;
    let target = resolve_target(resources, reference).await?;
    check_reach(resources, &target)?;
    let target = check_target(resources, target).await?;
    resources.start_task(TaskKind::Forget, false, |resources, reporter| async move {
        match target {
            ValidatedTarget::Kept(subject) => forget_subject(&resources, subject, reason, &reporter).await,
            ValidatedTarget::Person(names) => forget_person(&resources, names, reason, &reporter).await,
        }
    })
}

/// Refuses to begin what would fail half way.
fn require_descriptors() -> Result<()> {
    let (limit, lack) = (descriptor_limit(), MissingResource::Descriptors);
    if limit >= MIN_DESCRIPTORS {
        return Ok(());
    }
    let reason = format!("{MIN_DESCRIPTORS} are needed, {limit} are allowed");
    let message = format!("nothing was forgotten: {lack}, and repeat the command ({reason})");
    Err(Error::new(ErrorKind::Lacking, message))
}

/// Takes something off the list of what is not taken in; the next sync reads an issue, merge request or project again,
/// a full one whatever names a person.
///
/// # Errors
/// It is not on the list.
async fn undo_forget(resources: &Resources, reference: &str, reason: Option<String>) -> Result<AuditEntry> {
    let reason = validate_reason(reason)?;
    let target = resolve_target(resources, reference).await?;
    check_reach(resources, &target)?;
    let is_person = matches!(target, Target::Person(_));
    let undone = resources
        .with_ledger(move |ledger| {
            let (reason, now) = (reason.as_deref(), Timestamp::now());
            let undone = match &target {
                Target::Kept(subject) => ledger.undo_forget(subject, reason, now)?,
                Target::Person(username) => ledger.undo_forget_person(username, reason, now)?,
            };
            Ok(if undone { ledger.audit(Some(AuditAction::Undo), None, 1)?.pop() } else { None })
        })
        .await?;
    if is_person && undone.is_some() {
        reindex_files(resources).await?;
    }
    undone.ok_or_else(|| {
        Error::new(ErrorKind::NotFound, format!("{reference} is not forgotten"))
            .with_hint("'backstory forget --list' shows what is")
    })
}

/// What was forgotten, taken off the list or is not kept any more, newest first, those before a number if one is
/// given, of one action if one is given, at most `limit`.
///
/// # Errors
/// The ledger cannot be read.
async fn list_audit(
    resources: &Resources,
    action: Option<AuditAction>,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<AuditEntry>> {
    resources.with_ledger(move |ledger| ledger.audit(action, before, limit.min(MAX_AUDIT + 1))).await
}

async fn forget_subject(
    resources: &Resources,
    subject: ErasureTarget,
    reason: Option<String>,
    reporter: &Reporter,
) -> Result<Value> {
    reporter.phase(format!("looking for all data of {subject}"), None);
    if let Some(told) = forgotten_before(resources, &subject, reason.clone()).await? {
        return Ok(told);
    }
    let of = subject.clone();
    let texts = resources.blocking(move |resources| texts_of(resources, &of)).await?;
    let held = if texts.pieces.is_empty() { holders_before(resources, &subject).await? } else { Vec::new() };
    let before = store_sizes(resources).await?;
    let work = Box::pin(erase(resources, subject.clone(), texts.people.clone(), reason, reporter));
    let erased = with_snapshot(resources, work).await?;
    resources.with_ledger(|ledger| ledger.compact()).await?;
    let removed = describe_removed(resources, &erased, before).await?;
    reporter.phase("looking whether anything is left", None);
    let mut found = verify_forgotten(resources, &subject, &texts).await?;
    let mut told = erasure_report(&subject, &removed, &texts, &found);
    if !held.is_empty() {
        told["held_before"] = json!(held);
    }
    let is_telling = !texts.pieces.is_empty() || !held.is_empty();
    found.left.extend(held.into_iter().filter(|path| Path::new(path).exists()));
    end_forget(resources, &subject.to_string(), erased.audit, removed, &found, is_telling).await?;
    Ok(told)
}

/// The files that still held pieces of its texts when it was forgotten last, and of which nothing else is known any more.
async fn holders_before(resources: &Resources, subject: &ErasureTarget) -> Result<Vec<String>> {
    let name = subject.to_string();
    let audit = list_audit(resources, Some(AuditAction::Forget), None, MAX_AUDIT).await?;
    let last = audit.into_iter().find(|entry| entry.subject == name && entry.verified == Some(false));
    let places = last.and_then(|entry| serde_json::from_value::<Vec<String>>(entry.counts[LEFT_IN].clone()).ok());
    // Graph, index and the ledger itself are written from scratch.
    Ok(places.unwrap_or_default().into_iter().filter(|place| place.contains(std::path::MAIN_SEPARATOR)).collect())
}

/// If it was forgotten to the end before and is nowhere by its reference, says so and puts that on record. Nothing of
/// what it said is kept, so its texts cannot be looked for again.
async fn forgotten_before(
    resources: &Resources,
    subject: &ErasureTarget,
    reason: Option<String>,
) -> Result<Option<Value>> {
    let (subject, documents) = (subject.clone(), resources.index().fingerprints());
    resources
        .blocking(move |resources| {
            let ledger = resources.ledger();
            let Some(before) = ledger.completed_erasure(&subject)? else { return Ok(None) };
            let node = match &subject {
                ErasureTarget::Thread(id) => NodeId::Thread(id.clone()),
                ErasureTarget::Project(project) => NodeId::Project(project.clone()),
            };
            let is_left = ledger.has(&subject)?
                || resources.graph().exists(&node)?
                || documents.iter().any(|(document, _)| subject.has(document));
            if is_left {
                return Ok(None);
            }
            ledger.record_repeated_erasure(&subject, reason.as_deref(), Timestamp::now())?;
            Ok(Some(json!({
                "subject": subject.to_string(), "kind": subject.kind().as_str(), "removed": {},
                "forgotten_before": { "id": before.id.to_string(), "at": before.at },
                "verified": {
                    "pieces": 0, "searches": 0, "statements": 0, "files": 0, "bytes": 0, "found": 0,
                    "documents": documents.len(),
                },
                "also_in": [],
            })))
        })
        .await
}

/// Statements of the graph and documents of the index.
async fn store_sizes(resources: &Resources) -> Result<(u64, u64)> {
    let graph = resources.graph();
    let statements = blocking(move || Ok(graph.len()? as u64)).await?;
    Ok((statements, resources.index().coverage().documents))
}

/// How much was removed where.
async fn describe_removed(resources: &Resources, erased: &Erased, before: (u64, u64)) -> Result<Value> {
    let after = store_sizes(resources).await?;
    Ok(json!({
        "items": erased.items, "people": erased.people, "statements": before.0.saturating_sub(after.0),
        "documents": before.1.saturating_sub(after.1), "summaries": erased.written, "answers": erased.messages,
        "jobs": erased.jobs, "recorded_documents": erased.recorded,
    }))
}

/// Records how it ended; an error if something is left. That nothing was found means something only if all that should
/// be looked for was still known.
async fn end_forget(
    resources: &Resources,
    subject: &str,
    audit: i64,
    mut removed: Value,
    found: &Verification,
    is_telling: bool,
) -> Result<()> {
    let is_gone = found.left.is_empty();
    if !is_gone {
        removed[LEFT_IN] = json!(found.left.iter().take(MAX_LEFT).collect::<Vec<_>>());
    }
    let verified = Some(is_gone).filter(|_| is_telling || !is_gone);
    resources.with_ledger(move |ledger| ledger.finish_erasure(audit, &removed, verified)).await?;
    if is_gone {
        return Ok(());
    }
    let mut places = found.left.iter().take(MAX_PLACES).cloned().collect::<Vec<_>>().join(", ");
    if found.left.len() > MAX_PLACES {
        places.push_str(&format!(" and {} more places", found.left.len() - MAX_PLACES));
    }
    Err(Error::internal(format!("{subject} was forgotten, but pieces of its text are still in {places}"))
        .with_hint("remove what holds them there, then forget it once more"))
}

async fn erase(
    resources: &Resources,
    subject: ErasureTarget,
    people: Vec<String>,
    reason: Option<String>,
    reporter: &Reporter,
) -> Result<Erased> {
    reporter.phase("taking it out of the ledger", None);
    let of = subject.clone();
    let erased = resources
        .blocking(move |resources| {
            // A sync that was stopped may still be writing.
            let _nobody_reads = lock_repositories(resources);
            let erased = resources.ledger().forget(&of, &people, reason.as_deref(), Timestamp::now())?;
            if let ErasureTarget::Project(project) = &of {
                drop_clone(resources, project)?;
                rebuild_identities(resources)?;
            }
            Ok(erased)
        })
        .await?;
    if let ErasureTarget::Thread(thread) = &subject {
        // A merge must not name a request that is gone.
        let project = thread.project.clone();
        resources.blocking(move |resources| update_merged_requests(resources, &project)).await?;
    }
    rebuild_without(resources, Some(subject), reporter).await?;
    Ok(erased)
}

/// Brings memory, graph and index to what the ledger has left, on the disk too.
async fn rebuild_without(resources: &Resources, subject: Option<ErasureTarget>, reporter: &Reporter) -> Result<()> {
    clear_origin_cache(resources);
    clear_caches(resources);
    clear_mention_index(resources);
    // A question may quote what it is about.
    resources.shared.access.forget_requests();
    link_people(resources).await?;
    // From here on nobody finds it, while what lies on the disk is rebuilt.
    catch_up(resources, None).await?;
    // Until then a question could be answered from it.
    clear_caches(resources);
    resources.with_ledger(move |ledger| ledger.delete_tombstones(subject.as_ref(), Timestamp::now())).await?;
    rewrite_projections(resources, reporter).await
}

/// What a reference means. Where issues and merge requests share their numbers, it is the one that there is, or was.
async fn resolve_target(resources: &Resources, reference: &str) -> Result<Target> {
    let target = subject::parse(reference)?;
    let Target::Kept(ErasureTarget::Thread(id)) = &target else { return Ok(target) };
    let id = id.clone();
    resources
        .blocking(move |resources| {
            let is_known = |id: &ThreadId| {
                let is_there = resources.ledger().item(&id.project, id.kind.into(), &id.local_reference())?.is_some();
                Ok::<_, Error>(is_there || resources.ledger().is_forgotten(&ErasureTarget::Thread(id.clone()))?)
            };
            let shares = reference_syntax(resources, &id.project)?.0.shares_numbers();
            let is_twin = shares && !is_known(&id)? && is_known(&id.with_other_kind())?;
            Ok(Target::Kept(ErasureTarget::Thread(if is_twin { id.with_other_kind() } else { id })))
        })
        .await
}

/// Refuses a person to those who see only some projects: people are in all of them.
fn check_reach(resources: &Resources, target: &Target) -> Result<()> {
    if matches!(target, Target::Person(_)) && !resources.visibility().allows_all_projects() {
        let message = format!("a person is forgotten in all projects; {} sees only some", resources.actor());
        return Err(Error::new(ErrorKind::Forbidden, message));
    }
    Ok(())
}

/// Refuses what is not there, and a project that the next sync would read again.
async fn check_target(resources: &Resources, target: Target) -> Result<ValidatedTarget> {
    let subject = match target {
        Target::Kept(subject) => subject,
        Target::Person(called) => return Ok(ValidatedTarget::Person(check_person(resources, &called).await?)),
    };
    if let ErasureTarget::Project(project) = &subject
        && resources.visibility().allows_project(project)
        && resources.settings().projects().any(|(_, known)| known == project)
    {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("{project} is still named under [[forge]] in the configuration"),
        )
        .with_hint("remove it there first"));
    }
    let of = subject.clone();
    let known = resources
        .blocking(move |resources| {
            let ledger = resources.ledger();
            let is_there = match &of {
                ErasureTarget::Thread(id) => ledger.item(&id.project, id.kind.into(), &id.local_reference())?.is_some(),
                ErasureTarget::Project(project) => {
                    ledger.repository(project)?.is_some()
                        || ledger.item(project, ItemKind::Project, "project")?.is_some()
                        || ledger.counts()?.keys().any(|(known, _)| known == project)
                }
            };
            // What is forgotten already may be forgotten again, should the first time have been cut off.
            Ok(is_there || ledger.is_forgotten(&of)?)
        })
        .await?;
    if known {
        return Ok(ValidatedTarget::Kept(subject));
    }
    Err(Error::new(ErrorKind::NotFound, format!("nothing is known about {subject}"))
        .with_hint("check the reference ('backstory status' lists the projects)"))
}

/// What the request erases and the ledger has.
enum ValidatedTarget {
    /// Something that is not kept.
    Kept(ErasureTarget),
    /// A person, whose names are replaced.
    Person(PersonNames),
}

fn validate_reason(reason: Option<String>) -> Result<Option<String>> {
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    match reason {
        Some(reason) if reason.chars().count() > MAX_REASON => {
            Err(Error::invalid(format!("the reason is too long; at most {MAX_REASON} characters are kept")))
        }
        other => Ok(other),
    }
}

fn erasure_report(subject: &ErasureTarget, removed: &Value, texts: &TextProbes, found: &Verification) -> Value {
    json!({
        "subject": subject.to_string(), "kind": subject.kind().as_str(), "removed": removed,
        "verified": {
            "pieces": texts.pieces.len(), "searches": found.searches, "statements": found.statements,
            "files": found.files, "bytes": found.bytes, "found": 0,
        },
        "also_in": texts.shared,
    })
}
