//! Runs a use case for a caller. Every face over HTTP but GraphQL, which counts whole operations, goes through here.

use std::time::Duration;

use backstory_engine::{
    error::{Error, ErrorKind, Result},
    model::access::Caller,
    use_case::{UseCase, Weight},
};

use super::App;

/// Answers a request as far as its caller may see and do, when it is its turn and within the time for its weight.
///
/// # Errors
/// Those of the use case; it needs a scope that the caller has not, or a role that the server has not; there is too much
/// to do, or it took too long.
pub(super) async fn execute<U: UseCase>(app: &App, caller: &Caller, request: U) -> Result<U::Answer> {
    if let Some(role) = U::ROLE {
        app.engine.settings().require_role(role)?;
    }
    let engine = app.engine.with_caller(caller);
    let _turn = app.api.queue().turn(U::WEIGHT).await?;
    // What reads everything has time.
    let _answering = (U::WEIGHT != Weight::Long).then(|| engine.embedder().enter_foreground());
    let time = app.api.limits().time_of(U::WEIGHT);
    let answer = tokio::time::timeout(time, engine.answer(request)).await.unwrap_or_else(|_| Err(too_long(time)));
    app.engine.repair_in_background();
    answer
}

fn too_long(time: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("the answer took longer than {} s", time.as_secs()))
        .with_hint("ask for less at once")
}
