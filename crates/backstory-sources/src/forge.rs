//! Forges: what a client reads from them and how reading can fail. What GitLab and GitHub share is here; what differs,
//! in the modules of their names. When something is read, and where it is stored, belongs to `engine::sync`.

mod client;
mod fields;
pub mod github;
pub mod gitlab;
mod http;
mod json;
mod limiter;
mod network;
mod paging;
mod parse;
mod people;
#[cfg(test)]
mod stub;
pub mod webhook;

use std::{fmt, time::Duration};

use backstory_model::{
    entity::ItemKind,
    id::{ThreadKind, is_project_path},
    reference::Forge,
};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

pub use client::{Client, ThreadList, required_token, web_url};
pub use fields::ParseError;
pub use network::AllowedNetwork;
pub use parse::{PARSER_VERSION, origin_of_project, parse, parse_project};

/// Retries of one request to a forge.
pub const DEFAULT_RETRIES: u32 = 8;
/// Requests per second unless configured otherwise.
pub const DEFAULT_REQUESTS_PER_SECOND: u32 = 10;
/// Most bytes of one answer, unpacked.
pub const MAX_RESPONSE_BODY: usize = 64 << 20;
/// Most memory that one answer may take once it is parsed, in bytes, about.
pub const MAX_PARSED_RESPONSE: usize = 128 << 20;
/// Most memory that the answers of one list, or all those about one issue or merge request, may take, in bytes, about.
pub const MAX_LIST: usize = 128 << 20;
/// The same of an issue or merge request that is read beside others; a larger one is read again by itself.
pub const MAX_CONCURRENT_THREAD: usize = 8 << 20;
/// Most bytes that come from a forge while one project is read, unpacked.
pub const MAX_SYNC_BYTES: u64 = 16 << 30;
/// Longest time in which one project is read from a forge: at the default rate some 400,000 requests are answered in it.
pub const MAX_SYNC_TIME: Duration = Duration::from_hours(12);
/// Most items on a page. A hundred are asked for.
pub const MAX_PAGE_ITEMS: usize = 1_000;
/// Most pages of a list of issues or merge requests.
pub const MAX_PAGES: u32 = 20_000;
/// Most pages of any other list, such as the discussions of an issue.
pub const MAX_LIST_PAGES: u32 = 1_000;
/// Most pages of the files that a merge request in progress would change; files beyond them are left out.
pub const MAX_PROPOSED_PAGES: u32 = 10;

/// How to reach a forge.
#[derive(Clone, Debug)]
pub struct ForgeSettings {
    /// Address of the forge, `https://gitlab.example.com`, with a path if it is installed below one.
    pub base_url: Url,
    /// Access token; public projects can be read without.
    pub token: Option<SecretString>,
    /// Most requests in any second; 0 for no limit.
    pub requests_per_second: u32,
    /// How often a request that failed for a transient reason is tried again.
    pub retries: u32,
    /// Whether confidential issues and internal notes are read, as far as the token may see them.
    pub confidential: bool,
    /// Which addresses it may have.
    pub network: AllowedNetwork,
}

impl ForgeSettings {
    /// Default limits for a forge anywhere, of which nothing confidential is read.
    pub fn new(base_url: Url, token: Option<SecretString>) -> Self {
        let (requests_per_second, retries) = (DEFAULT_REQUESTS_PER_SECOND, DEFAULT_RETRIES);
        Self { base_url, token, requests_per_second, retries, confidential: false, network: AllowedNetwork::Any }
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
    /// The forge took the request and did not answer it in time.
    #[error(
        "{url} timed out: {reason}; check the load of the forge, and the network and proxies before it, then try again"
    )]
    TimedOut {
        /// What was asked for.
        url: String,
        /// What was waited for.
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
    #[error("{url} answered {status}; if that is not a transient failure of the forge, check base_url")]
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
    /// One project takes more than a sync has for it.
    #[error("{url} was not read, since {spent}; what was read is kept, and the next sync continues from there")]
    UsedUp {
        /// What was asked for.
        url: String,
        /// What of which limit is used up.
        spent: String,
    },
    /// The settings make no sense.
    #[error("{0}")]
    Config(String),
}

impl ForgeError {
    /// Whether what was asked for is not there, or not for this token.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::Forbidden { .. })
    }

    /// Whether this may say something of what was asked for alone, and nothing of the rest of the forge. If many items fail
    /// like this, except for their size, the forge is at fault.
    pub fn is_limited_to_item(&self) -> bool {
        match self {
            Self::TooLarge { .. } | Self::Malformed { .. } | Self::TimedOut { .. } => true,
            Self::Server { status, .. } => (500..600).contains(status),
            Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotFound { .. }
            | Self::Unreachable { .. }
            | Self::RateLimited { .. }
            | Self::UsedUp { .. }
            | Self::Config(_) => false,
        }
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

/// A project of a group, an organization or a user.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GroupProject {
    /// Full path.
    pub path: String,
    /// Whether it is archived: it can be read, and does not change any more.
    pub archived: bool,
}

impl GroupProject {
    /// Reads one whose path is under that key; `None` if it has none that can be a project's.
    pub(crate) fn read(json: &Value, key: &str) -> Option<Self> {
        let path = json[key].as_str().filter(|path| is_project_path(path))?;
        Some(Self { path: path.to_owned(), archived: json["archived"].as_bool().unwrap_or(false) })
    }
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

/// Stands in a key for what cannot be told.
pub const UNKNOWN_KEY: &str = "?";

/// An object of a forge that cannot be stored, since it does not say what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableItem {
    /// What it should be.
    pub kind: ItemKind,
    /// Its key, with [`UNKNOWN_KEY`] for what cannot be told.
    pub key: String,
    /// Whether the key is whole.
    pub has_key: bool,
    /// Path of the field that is wrong.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
    /// Whether only some may see it.
    pub confidential: bool,
}

impl UnreadableItem {
    /// One whose key is known, or as much as `None` leaves of it.
    pub(crate) fn new(kind: ItemKind, before: &str, rest: Option<&str>, field: &str, reason: &str) -> Self {
        Self {
            kind,
            key: format!("{before}{}", rest.unwrap_or(UNKNOWN_KEY)),
            has_key: rest.is_some(),
            field: field.to_owned(),
            reason: reason.to_owned(),
            confidential: false,
        }
    }
}

/// Objects of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedList {
    /// Those that can be stored.
    pub payloads: Vec<Payload>,
    /// The others.
    pub unreadable: Vec<UnreadableItem>,
}

impl ParsedList {
    pub(crate) fn of(items: impl IntoIterator<Item = Result<Payload, UnreadableItem>>) -> Self {
        let mut listed = Self::default();
        for item in items {
            match item {
                Ok(payload) => listed.payloads.push(payload),
                Err(unreadable) => listed.unreadable.push(unreadable),
            }
        }
        listed
    }
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
    /// Those that may be read; empty only on the last page, or where there are some that cannot be.
    pub threads: Vec<ThreadListing>,
    /// Those that cannot be told apart or put in order.
    pub unreadable: Vec<UnreadableItem>,
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

/// An issue or merge request with everything that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadDetails {
    /// The issue or merge request itself.
    pub thread: Payload,
    /// All its discussions; a later reading replaces them all.
    pub discussions: Vec<Payload>,
    /// Those of its discussions that cannot be told apart or say of nobody whether they may be seen.
    pub unreadable: Vec<UnreadableItem>,
    /// Everybody met on the way.
    pub people: Vec<Payload>,
    /// Its labels.
    pub labels: Vec<Payload>,
    /// Its milestone.
    pub milestones: Vec<Payload>,
    /// How many internal notes it has, left out or not.
    pub internal_notes: u64,
}

impl ThreadDetails {
    /// How many of its discussions hold what people wrote: the others say what happened.
    pub fn count_human_discussions(&self) -> u64 {
        let is_written = |note: &Value| note["system"] != true;
        let holds_text = |payload: &&Payload| {
            ["notes", "comments"]
                .iter()
                .any(|list| payload.json[list].as_array().is_some_and(|of| of.iter().any(is_written)))
        };
        self.discussions.iter().filter(holds_text).count() as u64
    }
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
