//! Requests to the API.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use reqwest::header::HeaderName;
use serde_json::Value;

use super::payload;
use crate::forge::{
    Account, ForgeError, MAX_PAGES, Payload, RequestMetrics, Settings,
    http::{Answer, Http, Shape, Tuning},
};

/// Items on a page; GitLab gives no more.
pub(super) const PER_PAGE: usize = 100;
const PER_PAGE_TEXT: &str = "100";

/// A client of one GitLab. Clones share connections, limits and counters.
#[derive(Clone)]
pub struct Client {
    http: Http,
    keyset_offered: Arc<AtomicBool>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.http.base().as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client for these settings. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ForgeError::Config`] if the address or the token cannot be used.
    pub fn new(settings: &Settings) -> Result<Self, ForgeError> {
        Self::tuned(settings, Tuning::default())
    }

    pub(super) fn tuned(settings: &Settings, tuning: Tuning) -> Result<Self, ForgeError> {
        let http = Http::new(settings, HeaderName::from_static("private-token"), tuning)?;
        Ok(Self { http, keyset_offered: Arc::new(AtomicBool::new(true)) })
    }

    /// Who the token belongs to.
    ///
    /// # Errors
    /// [`ForgeError::Unauthorized`] without a valid token, and as every request may fail.
    pub async fn current_user(&self) -> Result<Account, ForgeError> {
        let answer = self.get(&["user"], &[], Shape::Object).await?;
        let text = |key: &str| answer.json[key].as_str().map(str::to_owned);
        let username = text("username").ok_or_else(|| malformed(&answer.url, "the user has no username"))?;
        let name = text("name").unwrap_or_else(|| username.clone());
        Ok(Account { username, name })
    }

    /// The project of that path.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn project(&self, path: &str) -> Result<Payload, ForgeError> {
        let answer = self.get(&["projects", path], &[], Shape::Object).await?;
        payload::project(&answer.json).ok_or_else(|| malformed(&answer.url, "the project has no path_with_namespace"))
    }

    /// The labels that the project's items can have, those of its groups included.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn labels(&self, project: &str) -> Result<Vec<Payload>, ForgeError> {
        let labels = self.list(&["projects", project, "labels"]).await?;
        Ok(labels.iter().filter_map(payload::label).collect())
    }

    /// The milestones of the project, without those of its groups.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn milestones(&self, project: &str) -> Result<Vec<Payload>, ForgeError> {
        let milestones = self.list(&["projects", project, "milestones"]).await?;
        Ok(milestones.iter().filter_map(payload::milestone).collect())
    }

    /// What the client did so far.
    pub fn metrics(&self) -> RequestMetrics {
        self.http.metrics()
    }

    pub(super) async fn get(&self, path: &[&str], query: &[(&str, &str)], shape: Shape) -> Result<Answer, ForgeError> {
        self.http.get(&[&["api", "v4"], path].concat(), query, shape).await
    }

    /// All items of a list, page by page.
    pub(super) async fn list(&self, path: &[&str]) -> Result<Vec<Value>, ForgeError> {
        let mut items = Vec::new();
        let mut page: u32 = 1;
        loop {
            let number = page.to_string();
            let query = [("per_page", PER_PAGE_TEXT), ("page", number.as_str())];
            let mut answer = self.get(path, &query, Shape::List).await?;
            let found = take_items(&mut answer.json);
            let next = next_page(&answer, page, found.len())?;
            items.extend(found);
            match next {
                Some(next) if next <= MAX_PAGES => page = next,
                Some(_) => return Err(too_many_pages(answer.url)),
                None => return Ok(items),
            }
        }
    }

    /// Like [`Self::list`], but nothing where the instance does not offer the list or the token may not read it.
    pub(super) async fn optional_list(&self, path: &[&str]) -> Result<Vec<Value>, ForgeError> {
        optional(self.list(path).await)
    }

    pub(super) async fn optional_object(&self, path: &[&str]) -> Result<Value, ForgeError> {
        optional(self.get(path, &[], Shape::Object).await.map(|answer| answer.json))
    }

    pub(super) fn keyset_offered(&self) -> bool {
        self.keyset_offered.load(Relaxed)
    }

    pub(super) fn keyset_is_not_offered(&self) {
        self.keyset_offered.store(false, Relaxed);
    }
}

fn optional<T: Default>(result: Result<T, ForgeError>) -> Result<T, ForgeError> {
    match result {
        Err(error) if error.is_absent() => {
            tracing::debug!(%error, "taken for empty");
            Ok(T::default())
        }
        other => other,
    }
}

/// The page after this one. Without a word about it in the headers, a full page has one.
pub(super) fn next_page(answer: &Answer, page: u32, items: usize) -> Result<Option<u32>, ForgeError> {
    match answer.paging.next_page {
        _ if items == 0 => Ok(None),
        Some(next) if next > page => Ok(Some(next)),
        Some(next) => Err(malformed(&answer.url, format!("after page {page} it gives {next} as the next"))),
        None if !answer.paging.told && items >= PER_PAGE => Ok(Some(page + 1)),
        None => Ok(None),
    }
}

pub(super) fn take_items(json: &mut Value) -> Vec<Value> {
    match json.take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

pub(super) fn malformed(url: &str, reason: impl Into<String>) -> ForgeError {
    ForgeError::Malformed { url: url.to_owned(), reason: reason.into() }
}

pub(super) fn too_many_pages(url: String) -> ForgeError {
    ForgeError::TooLarge { url, what: format!("a list of more than {MAX_PAGES} pages") }
}
