//! Asks the language model, within its budget of the day.

use backstory_model::time::utc_date;
use jiff::Timestamp;

use crate::{
    error::{Error, ErrorKind, Result},
    llm::{ChatModel, Completion, Prompt},
    provider::ProviderError,
    resources::Resources,
};

/// What a model writes, within the budget of the day.
pub(crate) async fn complete_prompt(resources: &Resources, model: &ChatModel, prompt: &Prompt) -> Result<Completion> {
    Ok(try_complete(resources, model, prompt).await??)
}

/// The same; what the model or its budget is the reason of stands apart from failures of a store.
pub(crate) async fn try_complete(
    resources: &Resources,
    model: &ChatModel,
    prompt: &Prompt,
) -> Result<std::result::Result<Completion, ProviderError>> {
    let reserved = match reserve(resources, model, prompt).await? {
        Ok(reserved) => reserved,
        Err(error) => return Ok(Err(error)),
    };
    let completion = match model.complete(prompt).await {
        Ok(completion) => completion,
        Err(error) => return Ok(Err(error)),
    };
    refund_unused(resources, reserved, completion.tokens).await?;
    Ok(Ok(completion))
}

/// Takes from the budget of the day what a prompt and the longest answer to it may take.
pub(crate) async fn reserve(
    resources: &Resources,
    model: &ChatModel,
    prompt: &Prompt,
) -> Result<std::result::Result<Reserved, ProviderError>> {
    let settings = model.settings();
    let asked = resources.embedder().count_tokens(&prompt.system) + resources.embedder().count_tokens(&prompt.user);
    let tokens = asked as u64 + u64::from(settings.max_tokens);
    let (day, limit) = (utc_date(Timestamp::now()), settings.daily_tokens);
    if resources.with_ledger(move |ledger| ledger.reserve_tokens(day, tokens, limit)).await? {
        return Ok(Ok(Reserved { day, tokens }));
    }
    Ok(Err(ProviderError::Budget { limit }))
}

/// Gives back what was not used.
pub(crate) async fn refund_unused(resources: &Resources, reserved: Reserved, used: Option<u64>) -> Result<()> {
    let left = used.map_or(0, |used| reserved.tokens.saturating_sub(used));
    resources.with_ledger(move |ledger| ledger.refund_tokens(reserved.day, left)).await
}

/// Tokens that were taken from the budget of a day.
pub(crate) struct Reserved {
    day: jiff::civil::Date,
    tokens: u64,
}

/// The language model.
///
/// # Errors
/// None is configured.
pub(crate) fn configured_model(resources: &Resources) -> Result<ChatModel> {
    resources.chat_model().cloned().ok_or_else(|| {
        Error::new(ErrorKind::Configuration, "no language model is configured")
            .with_hint("name one under [llm] in the configuration")
    })
}
