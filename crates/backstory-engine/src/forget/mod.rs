//! Forgetting an issue, merge request or project for good: out of the ledger, both projections and the disk, never to be
//! taken in again, and a look afterwards whether anything is left.
//!
//! Neither store of the projections gives up what was deleted by itself: Oxigraph keeps every string it ever saw, LanceDB
//! keeps old versions and words in its text index. So both are made anew from the ledger, in new directories.

mod subject;
mod verify;

use backstory_model::{entity::ItemKind, id::ThreadKind};
use backstory_store::ledger::{AuditEntry, Subject};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
    task::{Reporter, Task, TaskKind},
};
use subject::Texts;
use verify::Verification;

/// Longest reason, in characters.
pub const MAX_REASON: usize = 500;
/// Most records of one list.
pub const MAX_AUDIT: usize = 100;

impl Engine {
    /// Starts to forget an issue, a merge request or a project. No sync, rebuild or embedding may be at work.
    ///
    /// # Errors
    /// The reference names nothing that is known, or a project that the configuration names; or something is at work.
    pub async fn start_forget(&self, reference: &str, reason: Option<String>) -> Result<Task> {
        let reason = checked(reason)?;
        let subject = self.forget_subject(reference).await?;
        self.check_subject(&subject).await?;
        let engine = self.clone();
        let task = self.tasks().start(TaskKind::Forget, false, Timestamp::now(), |reporter| async move {
            engine.forget(subject, reason, &reporter).await
        })?;
        let task = task.borrow().clone();
        Ok(task)
    }

    /// Takes an issue, merge request or project off the list of what is not taken in; the next sync reads it again.
    ///
    /// # Errors
    /// It is not on the list.
    pub async fn undo_forget(&self, reference: &str, reason: Option<String>) -> Result<AuditEntry> {
        let reason = checked(reason)?;
        let subject = self.forget_subject(reference).await?;
        let name = subject.to_string();
        let undone = self
            .ledger_step(move |ledger| {
                if !ledger.undo_forget(&subject, reason.as_deref(), Timestamp::now())? {
                    return Ok(None);
                }
                // What did not change since is behind the cursors.
                ledger.reset_cursors(subject.project())?;
                Ok(ledger.audit(1)?.pop())
            })
            .await?;
        undone.ok_or_else(|| {
            let message = format!("{name} is not forgotten; 'backstory forget --list' shows what is");
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// What was forgotten or taken off the list, newest first, at most `limit`.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn audit(&self, limit: usize) -> Result<Vec<AuditEntry>> {
        self.ledger_step(move |ledger| ledger.audit(limit.min(MAX_AUDIT))).await
    }

    async fn forget(&self, subject: Subject, reason: Option<String>, reporter: &Reporter) -> Result<Value> {
        reporter.phase(format!("looking what there is of {subject}"), None);
        let (engine, of) = (self.clone(), subject.clone());
        let texts = self.blocking(move || engine.texts_of(&of)).await?;
        let graph = self.graph();
        let before = (self.blocking(move || Ok(graph.len()?)).await?, self.index().coverage().documents);
        reporter.phase("taking it out of the ledger", None);
        let work = self.erase(subject.clone(), texts.people.clone(), reason, reporter);
        let erased = self.recorded(work).await?;
        self.ledger_step(|ledger| ledger.compact()).await?;
        let graph = self.graph();
        let after = (self.blocking(move || Ok(graph.len()?)).await?, self.index().coverage().documents);
        let removed = json!({
            "items": erased.items, "people": erased.people, "statements": before.0.saturating_sub(after.0),
            "documents": before.1.saturating_sub(after.1), "summaries": erased.written, "answers": erased.messages,
            "jobs": erased.jobs, "recorded_documents": erased.recorded,
        });
        reporter.phase("looking whether anything is left", None);
        let found = self.verify_forgotten(&subject, &texts).await?;
        let (verified, counts, audit) = (found.left.is_empty(), removed.clone(), erased.audit);
        self.ledger_step(move |ledger| ledger.end_forget(audit, &counts, verified)).await?;
        match found.left.first() {
            None => Ok(told(&subject, removed, &texts, &found)),
            Some(place) => Err(Error::internal(format!(
                "{subject} was forgotten, but its text is still in {place}; remove what holds it there, then forget it \
                 again"
            ))),
        }
    }

    async fn erase(
        &self,
        subject: Subject,
        people: Vec<String>,
        reason: Option<String>,
        reporter: &Reporter,
    ) -> Result<backstory_store::ledger::Erased> {
        let (engine, of, gone) = (self.clone(), subject.clone(), people.clone());
        let erased = self
            .blocking(move || {
                // A sync that was stopped may still be writing.
                let _nobody_reads = engine.reading();
                let erased = engine.ledger().forget(&of, &gone, reason.as_deref(), Timestamp::now())?;
                if let Subject::Project(project) = &of {
                    engine.drop_clone(project)?;
                    engine.forget_identities()?;
                }
                Ok(erased)
            })
            .await?;
        self.forget_origins();
        self.forget_discussions();
        if let Subject::Project(_) = subject {
            self.link_people().await?;
        }
        // From here on nobody finds it, while what lies on the disk is made anew.
        self.catch_up(None).await?;
        self.ledger_step(move |ledger| ledger.sweep(&subject, &people, Timestamp::now())).await?;
        self.rebuild_graph(reporter).await?;
        self.rebuild_index(reporter).await?;
        self.refresh_links().await?;
        Ok(erased)
    }

    /// What a person means by a reference.
    async fn forget_subject(&self, reference: &str) -> Result<Subject> {
        let subject = subject::parse(reference)?;
        let Subject::Thread(id) = &subject else { return Ok(subject) };
        // Where issues and merge requests share their numbers, it is the one that there is, or was.
        let (engine, id) = (self.clone(), id.clone());
        self.blocking(move || {
            let twin = Subject::Thread(id.twin());
            let shares = engine.syntax_of(&id.project)?.0.shares_numbers();
            let there = |kind: ThreadKind, key: &str| engine.ledger().item(&id.project, kind.into(), key);
            let own = Subject::Thread(id.clone());
            if !shares || engine.ledger().is_forgotten(&own)? || there(id.kind, &id.short())?.is_some() {
                return Ok(own);
            }
            let of_twin = id.twin();
            let is_twin = engine.ledger().is_forgotten(&twin)? || there(of_twin.kind, &of_twin.short())?.is_some();
            Ok(if is_twin { twin } else { own })
        })
        .await
    }

    /// Refuses what is not there, and a project that the next sync would read again.
    async fn check_subject(&self, subject: &Subject) -> Result<()> {
        if let Subject::Project(project) = subject
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
            return Ok(());
        }
        let message =
            format!("there is no {subject} here; check the reference ('backstory status' lists the projects)");
        Err(Error::new(ErrorKind::NotFound, message))
    }
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

fn told(subject: &Subject, removed: Value, texts: &Texts, found: &Verification) -> Value {
    json!({
        "subject": subject.to_string(), "kind": subject.kind().as_str(), "removed": removed,
        "verified": {
            "pieces": texts.pieces.len(), "searches": found.searches, "statements": found.statements,
            "files": found.files, "bytes": found.bytes, "found": 0,
        },
        "also_in": texts.shared,
    })
}
