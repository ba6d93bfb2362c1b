//! Summaries of issues, merge requests, commits and files by a language model, made only on request and kept until what
//! they summarize changes. A sentence with a number or identifier that is nowhere in the input is left out; more is not
//! checked.

mod input;

use backstory_model::{answer::Provenance, digest::sha256, id::NodeId, text::truncate_echo};
use backstory_store::ledger::GeneratedText;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    completion::{complete_prompt, configured_model},
    error::{Error, ErrorKind, Result},
    llm::Prompt,
    read::{not_found, resolve_id},
    resources::Resources,
    support::without_made_up,
    use_case::{UseCase, Weight},
};
use input::Input;

/// What it is called in the ledger.
const KIND: &str = "summary";
/// Version of the prompt below.
const PROMPT: u32 = 1;
/// Longest summary, in characters.
const MAX_SUMMARY: usize = 2_000;

/// Summarizes an issue, a merge request, a commit or a file at the indexed head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SummarizeRequest {
    /// Which one.
    pub id: NodeId,
}

impl UseCase for SummarizeRequest {
    const NAME: &'static str = "summarize";
    const WEIGHT: Weight = Weight::Long;
    type Answer = Summary;

    async fn run(self, resources: &Resources) -> Result<Summary> {
        match &self.id {
            NodeId::Thread(_) | NodeId::Commit { .. } | NodeId::File { .. } => {
                summarize(resources, self.id.clone()).await
            }
            id => Err(Error::invalid(format!(
                "'{}' is not an issue, merge request, commit or file",
                truncate_echo(&id.to_string())
            ))
            .with_hint("write group/project#12, group/project!7, group/project@1a2b3c4 or group/project:src/a.rs")),
        }
    }
}

/// A summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The text.
    pub text: String,
    /// Who wrote it.
    pub model: Provenance,
    /// When.
    pub written_at: Timestamp,
    /// Whether what it summarizes has changed since.
    pub outdated: bool,
}

/// The summary that was made of an issue, merge request, commit or file; `None` if none was.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) async fn find_summary(resources: &Resources, id: NodeId) -> Result<Option<Summary>> {
    resources
        .blocking(move |resources| {
            let Some(written) = resources.ledger().generated(KIND, &id.to_string())? else { return Ok(None) };
            let input = input::of(resources, &id)?;
            Ok(Some(of(&written, input.as_ref())))
        })
        .await
}

/// Summarizes something, unless the model has already summarized it as it is.
///
/// # Errors
/// No language model is configured, it fails, its budget is used up, or there is no such thing.
async fn summarize(resources: &Resources, id: NodeId) -> Result<Summary> {
    let model = configured_model(resources)?;
    let id = resolve_id(resources, id).await?;
    let about = id.clone();
    let input = resources.blocking(move |resources| input::of(resources, &about)).await?;
    let input = input.ok_or_else(|| not_found(kind_of(&id), &id.to_string()))?;
    let subject = id.to_string();
    let known = {
        let subject = subject.clone();
        resources.with_ledger(move |ledger| ledger.generated(KIND, &subject)).await?
    };
    let hash = sha256(input.text.as_bytes());
    if let Some(known) = known.filter(|k| k.input == hash && k.model == model.name() && k.prompt == PROMPT) {
        return Ok(of(&known, Some(&input)));
    }
    let prompt = Prompt { system: input.system.to_owned(), user: input.prompt(), schema: None };
    let completion = complete_prompt(resources, &model, &prompt).await?;
    let text: String = without_made_up(&completion.text, &input.text).chars().take(MAX_SUMMARY).collect();
    if text.is_empty() {
        let message = format!("{} wrote nothing about {id} that it could have read there", model.name());
        return Err(Error::new(ErrorKind::Upstream, message));
    }
    // As exact as the ledger keeps it.
    let now = Timestamp::from_millisecond(Timestamp::now().as_millisecond()).unwrap_or_default();
    let written = GeneratedText {
        kind: KIND.to_owned(),
        subject,
        model: model.name(),
        prompt: PROMPT,
        input: hash,
        text: resources.redactor().redact(&text).0.into_owned(),
        written_at: now,
    };
    let kept = written.clone();
    resources.with_ledger(move |ledger| ledger.put_generated(&kept)).await?;
    Ok(of(&written, Some(&input)))
}

fn kind_of(id: &NodeId) -> &'static str {
    match id {
        NodeId::Commit { .. } => "commit",
        NodeId::File { .. } => "file with text",
        _ => "issue or merge request",
    }
}

fn of(written: &GeneratedText, input: Option<&Input>) -> Summary {
    Summary {
        text: written.text.clone(),
        model: Provenance { name: written.model.clone(), prompt: written.prompt },
        written_at: written.written_at,
        outdated: input.is_none_or(|input| sha256(input.text.as_bytes()) != written.input),
    }
}
