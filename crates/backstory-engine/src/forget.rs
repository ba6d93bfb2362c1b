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
mod subject;
mod verify;

use backstory_model::{
    alias::PersonNames,
    entity::ItemKind,
    id::{NodeId, ThreadId},
};
use backstory_store::ledger::{AuditAction, AuditEntry, Erased, Subject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
    task::{Reporter, Task, TaskKind},
    use_case::{Scope, UseCase},
};
use subject::{Target, TextProbes};
pub(crate) use subject::{each_string, json_of};
use verify::Verification;

/// Longest reason, in characters.
pub const MAX_REASON: usize = 500;
/// Most records of one list.
pub const MAX_AUDIT: usize = 100;

/// Starts to forget an issue, a merge request, a project or a person for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForgetRequest {
    /// `acme/shop#12`, `acme/shop!7`, `acme/shop` or `@alice`.
    pub reference: String,
    /// Why, at most [`MAX_REASON`] characters; it is kept on record.
    pub reason: Option<String>,
}

/// Lets the next sync read again what was forgotten, of a person the next full one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UndoForget {
    /// As it was forgotten.
    pub reference: String,
    /// Why, at most [`MAX_REASON`] characters; it is kept on record.
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
    /// Most records, at most [`MAX_AUDIT`].
    pub limit: usize,
}

impl UseCase for ForgetRequest {
    const NAME: &'static str = "forget";
    const SCOPE: Scope = Scope::Admin;
    type Answer = Task;

    async fn run(self, engine: &Engine) -> Result<Task> {
        engine.start_forget(&self.reference, self.reason).await
    }
}

impl UseCase for UndoForget {
    const NAME: &'static str = "undo-forget";
    const SCOPE: Scope = Scope::Admin;
    type Answer = AuditEntry;

    async fn run(self, engine: &Engine) -> Result<AuditEntry> {
        engine.undo_forget(&self.reference, self.reason).await
    }
}

impl UseCase for AuditRequest {
    const NAME: &'static str = "audit";
    type Answer = Vec<AuditEntry>;

    async fn run(self, engine: &Engine) -> Result<Vec<AuditEntry>> {
        engine.audit(self.action, self.before, self.limit).await
    }
}

impl Engine {
    /// Starts to forget an issue, a merge request, a project or a person. No sync or rebuild may be at work.
    ///
    /// # Errors
    /// The reference names nothing that is known, or a project that the configuration names; or something is at work.
    pub async fn start_forget(&self, reference: &str, reason: Option<String>) -> Result<Task> {
        let reason = checked(reason)?;
        let target = self.resolve_target(reference).await?;
        let target = self.check_target(target).await?;
        let engine = self.with_full_visibility();
        let task = self.tasks().start(TaskKind::Forget, false, Timestamp::now(), |reporter| async move {
            match target {
                ValidatedTarget::Kept(subject) => engine.forget(subject, reason, &reporter).await,
                ValidatedTarget::Person(names) => engine.forget_person(names, reason, &reporter).await,
            }
        })?;
        let task = task.borrow().clone();
        Ok(task)
    }

    /// Takes something off the list of what is not taken in; the next sync reads an issue, merge request or project again,
    /// a full one whatever names a person.
    ///
    /// # Errors
    /// It is not on the list.
    pub async fn undo_forget(&self, reference: &str, reason: Option<String>) -> Result<AuditEntry> {
        let reason = checked(reason)?;
        let target = self.resolve_target(reference).await?;
        let is_person = matches!(target, Target::Person(_));
        let undone = self
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
            self.reindex_files().await?;
        }
        undone.ok_or_else(|| {
            let message = format!("{reference} is not forgotten; 'backstory forget --list' shows what is");
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// What was forgotten, taken off the list or is not kept any more, newest first, those before a number if one is
    /// given, of one action if one is given, at most `limit`.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn audit(
        &self,
        action: Option<AuditAction>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>> {
        self.with_ledger(move |ledger| ledger.audit(action, before, limit.min(MAX_AUDIT))).await
    }

    async fn forget(&self, subject: Subject, reason: Option<String>, reporter: &Reporter) -> Result<Value> {
        reporter.phase(format!("looking what there is of {subject}"), None);
        if let Some(told) = self.forgotten_before(&subject, reason.clone()).await? {
            return Ok(told);
        }
        let (engine, of) = (self.clone(), subject.clone());
        let texts = self.blocking(move || engine.texts_of(&of)).await?;
        let before = self.extent().await?;
        let work = Box::pin(self.erase(subject.clone(), texts.people.clone(), reason, reporter));
        let erased = self.recorded(work).await?;
        self.with_ledger(|ledger| ledger.compact()).await?;
        let removed = self.removed(&erased, before).await?;
        reporter.phase("looking whether anything is left", None);
        let found = self.verify_forgotten(&subject, &texts).await?;
        let told = told(&subject, &removed, &texts, &found);
        let is_telling = !texts.pieces.is_empty();
        self.end_forget(&subject.to_string(), erased.audit, removed, &found, is_telling).await?;
        Ok(told)
    }

    /// If it was forgotten to the end before and is nowhere by its reference, says so and puts that on record. Nothing of
    /// what it said is kept, so its texts cannot be looked for again.
    async fn forgotten_before(&self, subject: &Subject, reason: Option<String>) -> Result<Option<Value>> {
        let (engine, subject, documents) = (self.clone(), subject.clone(), self.index().imprints());
        self.blocking(move || {
            let ledger = engine.ledger();
            let Some(before) = ledger.completed_erasure(&subject)? else { return Ok(None) };
            let node = match &subject {
                Subject::Thread(id) => NodeId::Thread(id.clone()),
                Subject::Project(project) => NodeId::Project(project.clone()),
            };
            let is_left = ledger.has(&subject)?
                || engine.graph().exists(&node)?
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
    async fn extent(&self) -> Result<(u64, u64)> {
        let graph = self.graph();
        let statements = self.blocking(move || Ok(graph.len()? as u64)).await?;
        Ok((statements, self.index().coverage().documents))
    }

    /// How much was removed where.
    async fn removed(&self, erased: &Erased, before: (u64, u64)) -> Result<Value> {
        let after = self.extent().await?;
        Ok(json!({
            "items": erased.items, "people": erased.people, "statements": before.0.saturating_sub(after.0),
            "documents": before.1.saturating_sub(after.1), "summaries": erased.written, "answers": erased.messages,
            "jobs": erased.jobs, "recorded_documents": erased.recorded,
        }))
    }

    /// Records how it ended; an error if something is left. That nothing was found tells only something if all that is to
    /// be looked for was still known.
    async fn end_forget(
        &self,
        subject: &str,
        audit: i64,
        removed: Value,
        found: &Verification,
        is_telling: bool,
    ) -> Result<()> {
        let is_gone = found.left.is_empty();
        let verified = Some(is_gone).filter(|_| is_telling || !is_gone);
        self.with_ledger(move |ledger| ledger.end_forget(audit, &removed, verified)).await?;
        match found.left.first() {
            None => Ok(()),
            Some(place) => Err(Error::internal(format!(
                "{subject} was forgotten, but pieces of its text are still in {place}; remove what holds them there"
            ))),
        }
    }

    async fn erase(
        &self,
        subject: Subject,
        people: Vec<String>,
        reason: Option<String>,
        reporter: &Reporter,
    ) -> Result<Erased> {
        reporter.phase("taking it out of the ledger", None);
        let (engine, of) = (self.clone(), subject.clone());
        let erased = self
            .blocking(move || {
                // A sync that was stopped may still be writing.
                let _nobody_reads = engine.reading();
                let erased = engine.ledger().forget(&of, &people, reason.as_deref(), Timestamp::now())?;
                if let Subject::Project(project) = &of {
                    engine.drop_clone(project)?;
                    engine.delete_orphan_identities()?;
                }
                Ok(erased)
            })
            .await?;
        self.rebuild_without(Some(subject), reporter).await?;
        Ok(erased)
    }

    /// Brings memory, graph and index to what the ledger has left, on the disk too.
    async fn rebuild_without(&self, subject: Option<Subject>, reporter: &Reporter) -> Result<()> {
        self.clear_origin_cache();
        self.clear_discussion_cache();
        self.clear_mention_index();
        self.link_people().await?;
        // From here on nobody finds it, while what lies on the disk is made anew.
        self.catch_up(None).await?;
        self.with_ledger(move |ledger| ledger.sweep(subject.as_ref(), Timestamp::now())).await?;
        self.rewrite_projections(reporter).await
    }

    /// What a reference means. Where issues and merge requests share their numbers, it is the one that there is, or was.
    async fn resolve_target(&self, reference: &str) -> Result<Target> {
        let target = subject::parse(reference)?;
        let Target::Kept(Subject::Thread(id)) = &target else { return Ok(target) };
        let (engine, id) = (self.clone(), id.clone());
        self.blocking(move || {
            let is_known = |id: &ThreadId| {
                let is_there = engine.ledger().item(&id.project, id.kind.into(), &id.short())?.is_some();
                Ok::<_, Error>(is_there || engine.ledger().is_forgotten(&Subject::Thread(id.clone()))?)
            };
            let shares = engine.reference_syntax(&id.project)?.0.shares_numbers();
            let is_twin = shares && !is_known(&id)? && is_known(&id.twin())?;
            Ok(Target::Kept(Subject::Thread(if is_twin { id.twin() } else { id })))
        })
        .await
    }

    /// Refuses what is not there, and a project that the next sync would read again.
    async fn check_target(&self, target: Target) -> Result<ValidatedTarget> {
        let subject = match target {
            Target::Kept(subject) => subject,
            Target::Person(called) => return Ok(ValidatedTarget::Person(self.check_person(&called).await?)),
        };
        if let Subject::Project(project) = &subject
            && self.settings().projects().any(|(_, known)| known == project)
        {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("{project} is still named under [[forge]] in the configuration; take it out there first"),
            ));
        }
        let (engine, of) = (self.clone(), subject.clone());
        let known = self
            .blocking(move || {
                let ledger = engine.ledger();
                let is_there = match &of {
                    Subject::Thread(id) => ledger.item(&id.project, id.kind.into(), &id.short())?.is_some(),
                    Subject::Project(project) => {
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
        let message =
            format!("there is no {subject} here; check the reference ('backstory status' lists the projects)");
        Err(Error::new(ErrorKind::NotFound, message))
    }
}

/// What is to be forgotten and is there.
enum ValidatedTarget {
    /// Something that is not kept.
    Kept(Subject),
    /// A person, whose names are replaced.
    Person(PersonNames),
}

fn checked(reason: Option<String>) -> Result<Option<String>> {
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    match reason {
        Some(reason) if reason.chars().count() > MAX_REASON => {
            Err(Error::invalid(format!("the reason is too long; at most {MAX_REASON} characters are kept")))
        }
        other => Ok(other),
    }
}

fn told(subject: &Subject, removed: &Value, texts: &TextProbes, found: &Verification) -> Value {
    json!({
        "subject": subject.to_string(), "kind": subject.kind().as_str(), "removed": removed,
        "verified": {
            "pieces": texts.pieces.len(), "searches": found.searches, "statements": found.statements,
            "files": found.files, "bytes": found.bytes, "found": 0,
        },
        "also_in": texts.shared,
    })
}
