//! Enrichment: a language model classifies commits and writes design notes of issues and merge requests, only on
//! request.
//!
//! Its text is checked, stored in the ledger with model, prompt version and input hash, and kept apart from what rules
//! found. So is a failure, so that the same is not asked again. From the ledger it goes into the graph
//! ([`generated`](crate::generated)), where each item has a named graph of its own for it. Notes about an issue or merge request that has changed since
//! are shown as outdated and are neither in the graph nor in context packs. They are deleted with their item.
//!
//! The schedule is `pending`: whatever has no row for this model, prompt and input, the newest first. So a run can stop
//! at any time and the next one continues. Answers are in [`ask`](crate::ask), summaries in
//! [`summary`](crate::summary).

mod annotate;
mod classification;
mod pending;
mod stored;

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
};

use backstory_model::{
    digest::sha256,
    generated::{GeneratedKind, GenerationOutcome},
    id::NodeId,
};
use backstory_store::ledger::GeneratedText;
use futures::{StreamExt as _, future::ready, stream};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    catalog::known_projects,
    completion::{configured_model, try_complete},
    error::{Error, ErrorKind, Result},
    generated::design_notes::{self, ThreadInput, thread_input},
    llm::{ChatModel, Prompt},
    provider::ProviderError,
    refresh::refresh_written,
    resources::Resources,
    task::{Reporter, Task, TaskKind},
    use_case::{Scope, UseCase},
};
use classification::{CommitInput, commit_input};
use pending::{Pending, list_pending};

pub use annotate::{
    AnnotateRequest, AnnotatedNode, AnnotationChange, ChangeAnnotation, ListAnnotations, MAX_ANNOTATED,
    MAX_ANNOTATIONS, MAX_CONTENT,
};
pub use stored::{Enrichments, GetEnrichments};

pub use crate::generated::Annotation;

/// Items that a model is asked about at once.
const CONCURRENT: usize = 4;
/// Further attempts when an answer cannot be used.
const RETRIES: u32 = 2;
/// Longest reason of a refusal that a model is told, in characters.
const MAX_REFUSAL: usize = 200;

/// Starts to have a language model write what is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnrichRequest {
    /// Full paths of projects; all if there is none.
    #[serde(default)]
    pub projects: Vec<String>,
    /// What it is asked for; everything if absent.
    pub what: Option<GeneratedKind>,
    /// Most items that it is asked about.
    pub limit: Option<usize>,
}

impl UseCase for EnrichRequest {
    const NAME: &'static str = "enrich";
    const SCOPE: Scope = Scope::Admin;
    type Answer = Task;

    async fn run(self, resources: &Resources) -> Result<Task> {
        start_enrich(resources, self).await
    }
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EnrichReport {
    /// Commits that were classified.
    pub commits: u64,
    /// Issues and merge requests that were read for notes.
    pub threads: u64,
    /// Notes that could be proved.
    pub notes: u64,
    /// Items of which the model wrote nothing that could be used.
    pub failed: u64,
    /// Items that are left for another run.
    pub left: u64,
    /// Why it stopped before the limit or the end, if it did.
    pub stopped: Option<String>,
}

impl EnrichReport {
    fn add(&mut self, outcome: &GenerationOutcome) {
        match outcome {
            GenerationOutcome::Classification(_) => self.commits += 1,
            GenerationOutcome::DesignNotes(notes) => {
                self.threads += 1;
                self.notes += notes.len() as u64;
            }
            GenerationOutcome::Failed(_) => self.failed += 1,
        }
    }

    fn done(&self) -> u64 {
        self.commits + self.threads + self.failed
    }
}

/// What a model is given of an item.
enum Input {
    Commit(CommitInput),
    Thread(ThreadInput),
}

impl Input {
    fn prompt(&self) -> Prompt {
        match self {
            Self::Commit(commit) => commit.prompt(),
            Self::Thread(thread) => thread.prompt(),
        }
    }

    /// Reads what the model wrote.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(&self, answer: &str) -> std::result::Result<GenerationOutcome, String> {
        match self {
            Self::Commit(commit) => commit.read(answer).map(GenerationOutcome::Classification),
            Self::Thread(thread) => thread.read(answer).map(GenerationOutcome::DesignNotes),
        }
    }
}

/// Version of the prompt of each kind.
fn prompt_version(kind: GeneratedKind) -> u32 {
    match kind {
        GeneratedKind::Classification => classification::PROMPT,
        GeneratedKind::DesignNotes => design_notes::PROMPT,
    }
}

/// How an item ended.
enum ItemOutcome {
    /// It was written about.
    Written(GenerationOutcome),
    /// It is not there any more.
    Gone,
    /// The budget of the day is used up.
    Budget(String),
}

/// Starts to have a language model write what is missing.
///
/// # Errors
/// No language model is configured, a project is not known, or it is being done already.
async fn start_enrich(resources: &Resources, mut request: EnrichRequest) -> Result<Task> {
    configured_model(resources)?;
    let projects = projects_to_enrich(resources, &request).await?;
    // 'All' means those that the caller sees.
    if !resources.visibility().allows_all_projects() {
        if projects.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, "there is no project to enrich"));
        }
        request.projects = projects.into_iter().collect();
    }
    resources.start_task(TaskKind::Enrich, false, |resources, reporter| async move {
        let done = enrich(&resources, &request, &reporter).await?;
        Ok(json!(done))
    })
}

/// Has a language model write what is missing, about the newest items first. What is written is kept at once, so
/// that another run goes on where one was stopped.
///
/// # Errors
/// No language model is configured, a project is not known, the model cannot be reached or refuses, or a store
/// failed. What was written before is kept.
async fn enrich(resources: &Resources, request: &EnrichRequest, reporter: &Reporter) -> Result<EnrichReport> {
    let model = configured_model(resources)?;
    let projects = projects_to_enrich(resources, request).await?;
    let (name, what) = (model.name(), request.what);
    reporter.phase("looking for what is missing", None);
    let mut pending = resources.blocking(move |resources| list_pending(resources, &projects, what, &name)).await?;
    let waiting = pending.len() as u64;
    pending.truncate(request.limit.unwrap_or(usize::MAX));
    reporter.phase("enriching", Some(pending.len() as u64));
    let mut done = EnrichReport::default();
    let ended = enrich_all(resources, &model, pending, reporter, &mut done).await;
    done.left = waiting.saturating_sub(done.done());
    refresh_written(resources).await?;
    ended.map(|()| done)
}

async fn enrich_all(
    resources: &Resources,
    model: &ChatModel,
    pending: Vec<Pending>,
    reporter: &Reporter,
    done: &mut EnrichReport,
) -> Result<()> {
    let stop = AtomicBool::new(false);
    let mut failed = None;
    let wanted = stream::iter(pending).take_while(|_| ready(!stop.load(Ordering::Relaxed)));
    // What is under way ends well when the rest is stopped: its tokens are spent.
    let mut ends = wanted.map(|of| enrich_one(resources, model, of)).buffer_unordered(CONCURRENT);
    while let Some(end) = ends.next().await {
        match end {
            Ok(ItemOutcome::Written(outcome)) => {
                done.add(&outcome);
                reporter.advance(1);
            }
            Ok(ItemOutcome::Gone) => reporter.advance(1),
            Ok(ItemOutcome::Budget(message)) => {
                stop.store(true, Ordering::Relaxed);
                done.stopped = Some(message);
            }
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                failed = failed.or(Some(error));
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

async fn enrich_one(resources: &Resources, model: &ChatModel, of: Pending) -> Result<ItemOutcome> {
    let Pending { kind, about, .. } = of;
    let id = about.clone();
    let Some(input) = resources.blocking(move |resources| input_of(resources, kind, &id)).await? else {
        return Ok(ItemOutcome::Gone);
    };
    let prompt = input.prompt();
    let hash = sha256(prompt.user.as_bytes());
    let mut refused = String::new();
    let mut outcome = None;
    for _ in 0..=RETRIES {
        let asked = Prompt { user: format!("{}{}", prompt.user, correction_prompt(&refused)), ..prompt.clone() };
        let read = match try_complete(resources, model, &asked).await? {
            Ok(completion) => input.read(&completion.text),
            Err(error @ ProviderError::Budget { .. }) => return Ok(ItemOutcome::Budget(error.to_string())),
            Err(ProviderError::Malformed { reason, .. }) => Err(reason),
            Err(error) => return Err(error.into()),
        };
        match read {
            Ok(found) => {
                outcome = Some(found);
                break;
            }
            Err(reason) => refused = reason.chars().take(MAX_REFUSAL).collect(),
        }
    }
    let outcome = outcome.unwrap_or_else(|| GenerationOutcome::Failed(format!("its answers were refused: {refused}")));
    let written = GeneratedText {
        kind: kind.as_str().to_owned(),
        subject: about.to_string(),
        model: model.name(),
        prompt: prompt_version(kind),
        input: hash,
        text: serde_json::to_string(&outcome)
            .map_err(|error| Error::internal(format!("what was written of {about} cannot be kept: {error}")))?,
        // As exact as the ledger keeps it.
        written_at: Timestamp::from_millisecond(Timestamp::now().as_millisecond()).unwrap_or_default(),
    };
    resources.with_ledger(move |ledger| ledger.put_generated(&written)).await?;
    Ok(ItemOutcome::Written(outcome))
}

/// What a model is given of an item as it is now; `None` if there is nothing to give.
fn input_of(resources: &Resources, kind: GeneratedKind, about: &NodeId) -> Result<Option<Input>> {
    Ok(match (kind, about) {
        (GeneratedKind::Classification, NodeId::Commit { project, sha }) => {
            commit_input(resources, project, sha)?.map(Input::Commit)
        }
        (GeneratedKind::DesignNotes, NodeId::Thread(thread)) => thread_input(resources, thread)?.map(Input::Thread),
        _ => None,
    })
}

async fn projects_to_enrich(resources: &Resources, request: &EnrichRequest) -> Result<BTreeSet<String>> {
    let known = known_projects(resources).await?;
    if request.projects.is_empty() {
        return Ok(known);
    }
    for project in &request.projects {
        if !known.contains(project) {
            return Err(crate::catalog::unknown_project(project, &known));
        }
    }
    Ok(request.projects.iter().cloned().collect())
}

/// What a model is told of its last answer.
fn correction_prompt(refused: &str) -> String {
    if refused.is_empty() {
        String::new()
    } else {
        format!("\n\nYour last answer was refused: {refused}. Answer again, with one JSON object and nothing else.")
    }
}
