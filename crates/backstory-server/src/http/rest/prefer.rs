//! `Prefer: wait` (RFC 7240): a client that would rather wait for the end of a job than ask again.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, StatusCode};
use backstory_engine::ledger::{Job, JobStatus};
use serde_json::{Value, json};

use super::route::Asked;
use crate::http::{Refusal, quota::Quota};

/// What a client would like.
const PREFER: HeaderName = HeaderName::from_static("prefer");
/// Longest that an answer is put off.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Most requests at a time whose answers are put off; the others are answered at once.
const MAX_WAITERS: usize = 64;
/// Most of them of one token.
const MAX_WAITERS_OF_TOKEN: usize = 8;

/// The requests whose answers may be put off.
pub(in crate::http) fn waiters() -> Quota {
    Quota::new(MAX_WAITERS, MAX_WAITERS_OF_TOKEN)
}

/// How the header stands among the parameters of an operation.
pub(super) fn describe() -> Value {
    json!({
        "name": "Prefer",
        "in": "header",
        "required": false,
        "description": "`wait=20` puts the answer off until the job has ended, for at most 20 seconds (60 is the most)",
        "schema": { "type": "string" },
        "example": "wait=20",
    })
}

/// How long a client would wait, if it says so.
pub(super) fn wait(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let mut preferences = lines.flat_map(|line| line.split(',')).filter_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"').parse::<u64>().ok())
    });
    preferences.next().flatten().map(|seconds| Duration::from_secs(seconds).min(MAX_WAIT))
}

/// A job that was just asked for: once it has ended, if the client waits for that and it ends in time; and how long the
/// client was ready to wait. If too many wait already, or the job is not due in that time, the client does not.
pub(super) async fn wait_for(asked: &Asked, job: Job) -> Result<(Job, Option<Duration>), Refusal> {
    let Some(time) = wait(&asked.headers) else { return Ok((job, None)) };
    let Some(_waiter) = asked.app.waiters.take(&asked.caller.who) else { return Ok((job, None)) };
    let begun = Instant::now();
    let job = asked.app.engine.with_caller(&asked.caller).wait_for_job(job.id, time).await?;
    // One that is not due in time is not waited for.
    let has_waited = status_of(&job) == StatusCode::OK || begun.elapsed() >= time;
    Ok((job, has_waited.then_some(time)))
}

/// What a request for a job is answered: that it was accepted, or that it is done.
pub(super) fn status_of(job: &Job) -> StatusCode {
    match job.status {
        JobStatus::Queued | JobStatus::Running => StatusCode::ACCEPTED,
        JobStatus::Succeeded | JobStatus::Failed | JobStatus::Cancelled => StatusCode::OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_says_how_long_it_would_wait() {
        let of = |lines: &[&'static str]| {
            wait(&lines.iter().map(|line| (PREFER, axum::http::HeaderValue::from_static(line))).collect())
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["wait=20"]), seconds(20));
        assert_eq!(of(&["respond-async, Wait = \"5\"; strict"]), seconds(5));
        assert_eq!(of(&["return=minimal", "wait=7, wait=9"]), seconds(7));
        assert_eq!(of(&["wait=100000"]), Some(MAX_WAIT));
        for wrong in ["wait", "wait=", "wait=-1", "wait=soon", "waiting=3"] {
            assert_eq!(of(&[wrong]), None, "{wrong}");
        }
    }
}
