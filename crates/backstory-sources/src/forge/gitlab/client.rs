//! Requests to GitLab's API.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use backstory_model::id::is_project_path;
use serde_json::Value;

use super::payload;
use crate::forge::{
    Account, ForgeError, ForgeSettings, GroupProject, ParsedList, Payload, RequestMetrics,
    http::{ApiConventions, ExpectedJson, ForgeResponse, Http},
    paging::{empty_if_unavailable, first_pages, malformed, read_all_pages},
};

pub(crate) const CONVENTIONS: ApiConventions = ApiConventions {
    token_header: "private-token",
    token_prefix: "",
    accept: "application/json",
    headers: &[],
    token: "with the scope read_api",
};

/// A client of one GitLab. Clones share connections, limits and counters.
#[derive(Clone)]
pub struct Client {
    http: Http,
    keyset_offered: Arc<AtomicBool>,
    confidential: bool,
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
    pub fn new(settings: &ForgeSettings) -> Result<Self, ForgeError> {
        let http = Http::new(settings, &CONVENTIONS)?;
        let (keyset_offered, confidential) = (Arc::new(AtomicBool::new(true)), settings.confidential);
        Ok(Self { http, keyset_offered, confidential })
    }

    /// Who the token belongs to.
    ///
    /// # Errors
    /// [`ForgeError::Unauthorized`] without a valid token, and as every request may fail.
    pub async fn current_user(&self) -> Result<Account, ForgeError> {
        let answer = self.get(&["user"], &[], ExpectedJson::Object).await?;
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
        let answer = self.get(&["projects", path], &[], ExpectedJson::Object).await?;
        match answer.json["path_with_namespace"].as_str() {
            // It answers under former paths, and whatever the case.
            Some(name) if name != path && is_project_path(name) => {
                Err(ForgeError::Config(format!("GitLab calls {path} {name}; write it so where the project is named")))
            }
            _ => Ok(payload::project(&answer.json)),
        }
    }

    /// The projects of a group and of the groups in it.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn group_projects(&self, group: &str) -> Result<Vec<GroupProject>, ForgeError> {
        let path = below_api(&["groups", group, "projects"]);
        let query = [("include_subgroups", "true"), ("with_shared", "false"), ("order_by", "id"), ("sort", "asc")];
        let projects = read_all_pages(&self.http, &path, &query).await?;
        Ok(projects.iter().filter_map(|project| GroupProject::read(project, "path_with_namespace")).collect())
    }

    /// The labels that the project's items can have, those of its groups included.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn fetch_labels_with_groups(&self, project: &str) -> Result<ParsedList, ForgeError> {
        let labels = self.list(&["projects", project, "labels"]).await?;
        Ok(ParsedList::of(labels.iter().map(payload::label)))
    }

    /// The milestones of the project, without those of its groups.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn fetch_own_milestones(&self, project: &str) -> Result<ParsedList, ForgeError> {
        let milestones = self.list(&["projects", project, "milestones"]).await?;
        Ok(ParsedList::of(milestones.iter().filter_map(|milestone| payload::milestone(milestone).transpose())))
    }

    /// The releases of the project; none where the instance does not offer them or the token may not read them.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn releases(&self, project: &str) -> Result<ParsedList, ForgeError> {
        let releases = self.optional_list(&["projects", project, "releases"]).await?;
        Ok(ParsedList::of(releases.iter().map(payload::release)))
    }

    /// The same client, whose answers may together take about so many bytes of memory.
    pub(crate) fn with_memory_limit(&self, most: usize) -> Self {
        Self { http: self.http.with_memory_limit(most), ..self.clone() }
    }

    pub(crate) fn reset_usage(&self) {
        self.http.reset_usage();
    }

    /// What the client did so far.
    pub fn metrics(&self) -> RequestMetrics {
        self.http.metrics()
    }

    pub(super) async fn get(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        expected: ExpectedJson,
    ) -> Result<ForgeResponse, ForgeError> {
        self.http.get(&below_api(path), query, expected).await
    }

    /// All items of a list, page by page.
    pub(super) async fn list(&self, path: &[&str]) -> Result<Vec<Value>, ForgeError> {
        read_all_pages(&self.http, &below_api(path), &[]).await
    }

    /// The items on the first pages of a list.
    pub(super) async fn first_items(&self, path: &[&str], pages: u32) -> Result<Vec<Value>, ForgeError> {
        first_pages(&self.http, &below_api(path), pages).await
    }

    /// Like [`Self::list`], but nothing where the instance does not offer the list or the token may not read it.
    pub(super) async fn optional_list(&self, path: &[&str]) -> Result<Vec<Value>, ForgeError> {
        empty_if_unavailable(self.list(path).await)
    }

    pub(super) async fn optional_object(&self, path: &[&str]) -> Result<Value, ForgeError> {
        empty_if_unavailable(self.get(path, &[], ExpectedJson::Object).await.map(|answer| answer.json))
    }

    /// Whether confidential issues and internal notes are read.
    pub(super) fn reads_confidential(&self) -> bool {
        self.confidential
    }

    pub(super) fn keyset_offered(&self) -> bool {
        self.keyset_offered.load(Relaxed)
    }

    pub(super) fn keyset_is_not_offered(&self) {
        self.keyset_offered.store(false, Relaxed);
    }
}

fn below_api<'a>(path: &[&'a str]) -> Vec<&'a str> {
    [&["api", "v4"], path].concat()
}
