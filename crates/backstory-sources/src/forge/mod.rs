//! Forges: what a client reads from them and how reading can fail. What GitLab and GitHub share stands here; what
//! differs, in the modules of their names.

mod client;
pub mod github;
pub mod gitlab;
mod http;
mod limiter;
mod paging;
mod parse;
mod people;
#[cfg(test)]
mod stub;
pub mod webhook;

use std::{fmt, time::Duration};

use backstory_model::{entity::ItemKind, id::ThreadKind, reference::Forge};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

pub use client::{Client, List, token_wanted, web_url};
pub use parse::{ParseError, origin_of_project, parse};

/// Retries of one request unless configured otherwise.
pub const DEFAULT_RETRIES: u32 = 8;
/// Requests per second unless configured otherwise.
pub const DEFAULT_REQUESTS_PER_SECOND: u32 = 10;
/// Most bytes of one answer, unpacked.
pub const MAX_BODY: usize = 64 << 20;
/// Most pages of one list.
pub const MAX_PAGES: u32 = 100_000;

/// How to reach a forge.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Address of the forge, `https://gitlab.example.com`, with a path if it is installed below one.
    pub base_url: Url,
    /// Access token; public projects can be read without.
    pub token: Option<SecretString>,
    /// Most requests in any second; 0 for no limit.
    pub requests_per_second: u32,
    /// How often a request that failed for a passing reason is tried again.
    pub retries: u32,
    /// Whether confidential issues and internal notes are read, as far as the token may see them.
    pub confidential: bool,
}

impl Settings {
    /// Default limits for a forge, of which nothing confidential is read.
    pub fn new(base_url: Url, token: Option<SecretString>) -> Self {
        let (requests_per_second, retries) = (DEFAULT_REQUESTS_PER_SECOND, DEFAULT_RETRIES);
        Self { base_url, token, requests_per_second, retries, confidential: false }
    }
}

/// Why a forge could not be read. Every message names what was asked for and what to do; none holds a token or a
/// query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// The token is wrong, expired or revoked.
    #[error(
        "{url} refuses the token (401 Unauthorized); create a token {token} and put it into the environment variable \
         that token_env names"
    )]
    Unauthorized {
        /// What was asked for.
        url: String,
        /// What a token must be able to do.
        token: &'static str,
    },
    /// The token may not do this.
    #[error(
        "the token may not read {url} (403 Forbidden{}); it must be one {token}, of somebody who may read the project",
        reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default()
    )]
    Forbidden {
        /// What was asked for.
        url: String,
        /// What a token must be able to do.
        token: &'static str,
        /// What the forge says about it.
        reason: Option<String>,
    },
    /// It does not exist, or the token may not know that it does.
    #[error("{url} was not found (404), or the token may not see it; check its path and that the token is a member's")]
    NotFound {
        /// What was asked for.
        url: String,
    },
    /// No answer, or not all of one, after every retry.
    #[error("{url} cannot be reached: {reason}; check base_url, the network and the proxy settings, then try again")]
    Unreachable {
        /// What was asked for.
        url: String,
        /// What happened to the last attempt.
        reason: String,
    },
    /// The forge still limits requests after every retry, or asks for more patience than a sync should have.
    #[error("{url} limits requests and still did after {attempts} attempts{}; what was read is kept: sync again later, lower \
         requests_per_second, or name a token under [[forge]] if there is none",
        retry_after.map(|wait| format!(", the last time for {} s", wait.as_secs())).unwrap_or_default())]
    RateLimited {
        /// What was asked for.
        url: String,
        /// How often it was asked for.
        attempts: u32,
        /// How long the forge wanted to be left alone.
        retry_after: Option<Duration>,
    },
    /// The forge answers with a status that is not expected.
    #[error("{url} answered {status}; if that is not a passing failure of the forge, check base_url")]
    Server {
        /// What was asked for.
        url: String,
        /// HTTP status.
        status: u16,
    },
    /// The body is not what the API promises, after every retry.
    #[error(
        "{url} did not answer as the API promises: {reason}; check that base_url is the forge itself and no login page or proxy"
    )]
    Malformed {
        /// What was asked for.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The answer is larger than anything reasonable.
    #[error("{url} has {what}, which is too large to read")]
    TooLarge {
        /// What was asked for.
        url: String,
        /// What exceeds which limit.
        what: String,
    },
    /// The settings make no sense.
    #[error("{0}")]
    Config(String),
}

impl ForgeError {
    /// Whether what was asked for is not there, or not for this token.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::Forbidden { .. })
    }
}

/// What parsing a stored payload is relative to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Which forge.
    pub forge: Forge,
    /// Full path of the project, `group/project`.
    pub project: String,
    /// Address of the forge, without a slash at its end.
    pub forge_url: String,
}

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// User name.
    pub username: String,
    /// Display name.
    pub name: String,
}

/// One object of a forge as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// What it is.
    pub kind: ItemKind,
    /// Its name among those of its kind within the project: `project`, the number of a person at the forge, a label's
    /// name, a milestone's number, `#12`, `!7`, `#12~6a9c17`. People of GitHub have `github:` before their number.
    pub key: String,
    /// When it last changed, where the forge tells.
    pub updated_at: Option<Timestamp>,
    /// Whether only some may see it; of a person, whether nothing else was met that names them.
    pub confidential: bool,
    /// What the forge sent, without what changes although the object does not.
    pub json: Value,
}

/// Where a listing of issues or merge requests begins or goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// With what was updated at this time or later.
    Since {
        /// `None` for everything.
        since: Option<Timestamp>,
        /// What named the list when it was last read from there; if it is still the same nothing is listed.
        etag: Option<String>,
    },
    /// Where the last page ended.
    Next(Continuation),
}

/// Where the last page of a listing ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation(pub(crate) paging::Resume);

/// A page of issues or merge requests in the order of (updated_at, id).
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadsPage {
    /// Those that may be read; empty only on the last page.
    pub threads: Vec<ThreadListing>,
    /// Numbers of confidential issues that are left out; none if such are read.
    pub confidential: Vec<u64>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<Continuation>,
    /// How many the whole listing has; told with its first page at most.
    pub total: Option<u64>,
    /// The forge's clock when it answered.
    pub forge_time: Timestamp,
    /// Names this state of the list, if this page is all of it and the forge tells.
    pub etag: Option<String>,
}

/// An issue or merge request as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadListing {
    /// Which of the two.
    pub kind: ThreadKind,
    /// The forge's number for it, over all projects.
    pub id: u64,
    /// Number within the project.
    pub iid: u64,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How many notes people wrote, as the forge counts.
    pub notes_count: u64,
    /// What the list says about it.
    pub payload: Value,
}

impl ThreadListing {
    /// Whether only some may see it.
    pub fn is_confidential(&self) -> bool {
        self.payload["confidential"] == Value::Bool(true)
    }
}

/// An issue or merge request with everything that hangs on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Details {
    /// The issue or merge request itself.
    pub thread: Payload,
    /// All its discussions; a later reading replaces them all.
    pub discussions: Vec<Payload>,
    /// Everybody met on the way.
    pub people: Vec<Payload>,
    /// Its labels.
    pub labels: Vec<Payload>,
    /// Its milestone.
    pub milestones: Vec<Payload>,
    /// How many internal notes it has, left out or not.
    pub internal_notes: u64,
}

/// What a client did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestMetrics {
    /// Requests sent, retries included.
    pub requests: u64,
    /// Requests sent again.
    pub retries: u64,
    /// Answers that said there were too many requests.
    pub rate_limited: u64,
    /// Time lost to failures: what requests waited before they were sent again, added up.
    pub waited_ms: u64,
    /// How long the client is going to stay silent from now on, as the forge asked for.
    pub pause_ms: u64,
}

impl fmt::Display for RequestMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests", self.requests)?;
        if self.retries > 0 {
            write!(f, ", {} retries", self.retries)?;
        }
        if self.pause_ms > 0 {
            write!(f, ", rate limited, waiting {} s", self.pause_ms.div_ceil(1000))?;
        }
        Ok(())
    }
}
