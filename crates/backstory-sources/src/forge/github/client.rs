//! Requests to GitHub's API.

use std::fmt;

use backstory_model::id::is_project_path;
use serde_json::Value;

use super::{address, payload};
use crate::forge::{
    Account, ForgeError, ForgeSettings, GroupProject, ParsedList, Payload, RequestMetrics,
    http::{ApiConventions, ExpectedJson, ForgeResponse, Http},
    paging::{empty_if_unavailable, malformed, read_all_pages},
};

pub(crate) const CONVENTIONS: ApiConventions = ApiConventions {
    token_header: "authorization",
    token_prefix: "Bearer ",
    accept: "application/vnd.github+json",
    headers: &[("x-github-api-version", "2022-11-28")],
    token: "that may read the issues and pull requests of the repository",
};

/// A client of one GitHub. Clones share connections, limits and counters.
#[derive(Clone)]
pub struct Client {
    pub(super) http: Http,
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
        let settings = ForgeSettings { base_url: address::api(&settings.base_url), ..settings.clone() };
        Ok(Self { http: Http::new(&settings, &CONVENTIONS)? })
    }

    pub(crate) async fn current_user(&self) -> Result<Account, ForgeError> {
        let answer = self.http.get(&["user"], &[], ExpectedJson::Object).await?;
        let text = |key: &str| answer.json[key].as_str().map(str::to_owned);
        let username = text("login").ok_or_else(|| malformed(&answer.url, "the user has no login"))?;
        let name = text("name").unwrap_or_else(|| username.clone());
        Ok(Account { username, name })
    }

    pub(crate) async fn project(&self, path: &str) -> Result<Payload, ForgeError> {
        let answer = self.http.get(&below(path, &[])?, &[], ExpectedJson::Object).await?;
        match answer.json["full_name"].as_str() {
            // It answers under former names, and whatever the case.
            Some(name) if name != path && is_project_path(name) => {
                Err(ForgeError::Config(format!("GitHub calls {path} {name}; write it so where the project is named")))
            }
            _ => Ok(payload::project(&answer.json)),
        }
    }

    /// The repositories of an organization, or of a user.
    pub(crate) async fn group_projects(&self, group: &str) -> Result<Vec<GroupProject>, ForgeError> {
        let query = [("sort", "created"), ("direction", "asc")];
        let projects = match read_all_pages(&self.http, &["orgs", group, "repos"], &query).await {
            Err(ForgeError::NotFound { .. }) => read_all_pages(&self.http, &["users", group, "repos"], &query).await?,
            projects => projects?,
        };
        Ok(projects.iter().filter_map(|project| GroupProject::read(project, "full_name")).collect())
    }

    pub(crate) async fn fetch_labels_with_groups(&self, project: &str) -> Result<ParsedList, ForgeError> {
        let labels = self.list(project, &["labels"], &[]).await?;
        Ok(ParsedList::of(labels.iter().map(payload::label)))
    }

    pub(crate) async fn fetch_own_milestones(&self, project: &str) -> Result<ParsedList, ForgeError> {
        let milestones = self.list(project, &["milestones"], &[("state", "all")]).await?;
        Ok(ParsedList::of(milestones.iter().map(payload::milestone)))
    }

    /// The releases of the repository without drafts, which only some may see.
    pub(crate) async fn releases(&self, project: &str) -> Result<ParsedList, ForgeError> {
        let releases = empty_if_unavailable(self.list(project, &["releases"], &[]).await)?;
        let published = releases.iter().filter(|release| release["draft"] != true);
        Ok(ParsedList::of(published.map(payload::release)))
    }

    /// The same client, whose answers may together take about so many bytes of memory.
    pub(crate) fn with_memory_limit(&self, most: usize) -> Self {
        Self { http: self.http.with_memory_limit(most) }
    }

    pub(crate) fn reset_usage(&self) {
        self.http.reset_usage();
    }

    pub(crate) fn metrics(&self) -> RequestMetrics {
        self.http.metrics()
    }

    pub(super) async fn object(&self, project: &str, path: &[&str]) -> Result<ForgeResponse, ForgeError> {
        self.http.get(&below(project, path)?, &[], ExpectedJson::Object).await
    }

    pub(super) async fn list(
        &self,
        project: &str,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Vec<Value>, ForgeError> {
        read_all_pages(&self.http, &below(project, path)?, query).await
    }
}

/// The path of something of a repository.
pub(super) fn below<'a>(project: &'a str, path: &[&'a str]) -> Result<Vec<&'a str>, ForgeError> {
    match project.split_once('/') {
        Some((owner, name)) if !name.contains('/') => Ok([&["repos", owner, name], path].concat()),
        _ => Err(ForgeError::Config(format!("'{project}' is not a GitHub repository; write owner/name"))),
    }
}
