//! What tests share: a stand-in for GitLab and GitHub and a sandbox to run the program in.

#![allow(dead_code, reason = "each test uses a part of it")]

mod browser;
mod crooked;
mod fixture;
mod forge;
mod github;
mod indexed;
mod mirror;
mod model;
mod openapi;
mod origin;
pub(crate) mod processes;
#[allow(unreachable_pub, reason = "it is a module of a library too")]
#[path = "../crates/backstory-sources/src/git/fixture.rs"]
mod repository;
mod sandbox;
mod stand_in;
mod writes;

pub(crate) use browser::Browser;
pub(crate) use crooked::{Answer, Crooked};
pub(crate) use forge::{Fault, Forge, HALF_CHARACTER, Stuffing, TOKEN, TOO_LARGE_NUMBER};
pub(crate) use github::{FIRST_REQUEST, one_space};
pub(crate) use indexed::{Indexed, PROJECT, Said, names, settings, settings_with};
pub(crate) use mirror::{Mirror, Place};
pub(crate) use model::{Model, Says};
pub(crate) use openapi::{OpenApi, check_answer};
pub(crate) use origin::Origin;
pub(crate) use repository::{FIRST_COMMIT_AT, Fixture};
pub(crate) use rustix::process::Signal;
pub(crate) use sandbox::{NO_SCHEDULE, Output, Sandbox, Server, TOKEN_ENV, signal};
pub(crate) use stand_in::StandIn;

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

/// Longest time that anything which must happen may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until something holds; panics if it does not in time.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {DEADLINE:?}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Message and hint of an error of the API, as one sentence.
pub(crate) fn sentence(error: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let message = text(&error["message"]).unwrap_or_else(|| panic!("{error:#}"));
    text(&error["extensions"]["hint"]).map_or(message.clone(), |hint| format!("{message}; {hint}"))
}

/// What problem details say, with the hint.
pub(crate) fn problem(answer: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let detail = text(&answer["detail"]).unwrap_or_else(|| panic!("{answer:#}"));
    text(&answer["hint"]).map_or(detail.clone(), |hint| format!("{detail}; {hint}"))
}

/// Says something that is shown when a test fails, or with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test may report what it skips")]
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}

/// Says that something could not be tried on this machine; always shown.
pub(crate) fn skipped(what: &str) {
    // What is printed by a macro is kept back of a test that passes.
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}
