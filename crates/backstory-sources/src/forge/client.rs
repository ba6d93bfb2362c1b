//! The client of a forge, whichever it is: dispatches to [`super::gitlab`] or [`super::github`].

use backstory_model::{entity::ItemKind, id::ThreadKind, reference::Forge};
use serde_json::Value;
use url::Url;

use super::{
    Account, ForgeError, ForgeSettings, GroupProject, PageStart, ParsedList, Payload, RequestMetrics, ThreadDetails,
    ThreadListing, ThreadsPage, github, gitlab,
};

/// A list of issues and merge requests, read from one cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadList {
    /// Issues alone.
    Issues,
    /// Merge requests alone.
    MergeRequests,
    /// Both, where the forge lists them together.
    Both,
}

impl ThreadList {
    /// The lists of a forge that together have every issue and merge request once, those with issues first.
    pub fn of(forge: Forge) -> &'static [Self] {
        match forge {
            Forge::GitLab => &[Self::Issues, Self::MergeRequests],
            Forge::GitHub => &[Self::Both],
        }
    }

    /// Whose cursor says how far it was read.
    pub fn cursor(self) -> ItemKind {
        match self {
            Self::Issues | Self::Both => ItemKind::Issue,
            Self::MergeRequests => ItemKind::MergeRequest,
        }
    }

    /// What is on it.
    pub fn kinds(self) -> &'static [ThreadKind] {
        match self {
            Self::Issues => &[ThreadKind::Issue],
            Self::MergeRequests => &[ThreadKind::MergeRequest],
            Self::Both => &[ThreadKind::Issue, ThreadKind::MergeRequest],
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Issues => "issues",
            Self::MergeRequests => "merge requests",
            Self::Both => "issues and merge requests",
        }
    }
}

/// What a token of the forge must be able to do, as in "a token with the scope read_api".
pub fn required_token(forge: Forge) -> &'static str {
    match forge {
        Forge::GitLab => gitlab::CONVENTIONS.token,
        Forge::GitHub => github::CONVENTIONS.token,
    }
}

/// Address of a forge's pages, without a slash at its end, told from the address it is configured with.
pub fn web_url(forge: Forge, base_url: &Url) -> String {
    match forge {
        Forge::GitLab => base_url.as_str().trim_end_matches('/').to_owned(),
        Forge::GitHub => github::web_url(base_url),
    }
}

/// A client of one forge. Clones share connections, limits and counters.
#[derive(Clone, Debug)]
pub enum Client {
    /// Of a GitLab.
    GitLab(gitlab::Client),
    /// Of a GitHub.
    GitHub(github::Client),
}

impl Client {
    /// A client for these settings. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ForgeError::Config`] if the address or the token cannot be used.
    pub fn new(forge: Forge, settings: &ForgeSettings) -> Result<Self, ForgeError> {
        Ok(match forge {
            Forge::GitLab => Self::GitLab(gitlab::Client::new(settings)?),
            Forge::GitHub => Self::GitHub(github::Client::new(settings)?),
        })
    }

    /// Who the token belongs to.
    ///
    /// # Errors
    /// [`ForgeError::Unauthorized`] without a valid token, and as every request may fail.
    pub async fn current_user(&self) -> Result<Account, ForgeError> {
        match self {
            Self::GitLab(client) => client.current_user().await,
            Self::GitHub(client) => client.current_user().await,
        }
    }

    /// The project of that path.
    ///
    /// # Errors
    /// As every request may fail; also if the forge calls it otherwise.
    pub async fn project(&self, path: &str) -> Result<Payload, ForgeError> {
        match self {
            Self::GitLab(client) => client.project(path).await,
            Self::GitHub(client) => client.project(path).await,
        }
    }

    /// The projects of a group and the groups in it, or of an organization or user.
    ///
    /// # Errors
    /// As every request may fail; [`ForgeError::NotFound`] if there is no such group.
    pub async fn group_projects(&self, group: &str) -> Result<Vec<GroupProject>, ForgeError> {
        match self {
            Self::GitLab(client) => client.group_projects(group).await,
            Self::GitHub(client) => client.group_projects(group).await,
        }
    }

    /// Reads the labels that the project's items can have: its own, and on GitLab those of its groups.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn fetch_labels_with_groups(&self, project: &str) -> Result<ParsedList, ForgeError> {
        match self {
            Self::GitLab(client) => client.fetch_labels_with_groups(project).await,
            Self::GitHub(client) => client.fetch_labels_with_groups(project).await,
        }
    }

    /// Reads the milestones of the project itself, without those of its groups.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn fetch_own_milestones(&self, project: &str) -> Result<ParsedList, ForgeError> {
        match self {
            Self::GitLab(client) => client.fetch_own_milestones(project).await,
            Self::GitHub(client) => client.fetch_own_milestones(project).await,
        }
    }

    /// The releases that the forge has of tags of the project; none where it offers none.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn releases(&self, project: &str) -> Result<ParsedList, ForgeError> {
        match self {
            Self::GitLab(client) => client.releases(project).await,
            Self::GitHub(client) => client.releases(project).await,
        }
    }

    /// One page of a list of a project, sorted by time of the last update.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn threads_page(
        &self,
        project: &str,
        list: ThreadList,
        from: &PageStart,
    ) -> Result<ThreadsPage, ForgeError> {
        let mut page = self.page(project, list, from).await?;
        while page.threads.is_empty()
            && page.unreadable.is_empty()
            && let Some(next) = page.next.take()
        {
            let mut more = self.page(project, list, &PageStart::Next(next)).await?;
            more.confidential.append(&mut page.confidential);
            page = ThreadsPage { total: page.total, ..more };
        }
        Ok(page)
    }

    async fn page(&self, project: &str, list: ThreadList, from: &PageStart) -> Result<ThreadsPage, ForgeError> {
        match self {
            Self::GitLab(client) => client.page(project, list.kinds()[0], from).await,
            Self::GitHub(client) => client.page(project, from).await,
        }
    }

    /// One issue or merge request, as a page of the list says it, with the time of the forge; the page is empty if it is
    /// gone. Where the forge numbers them together the kind is told by the answer.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn fetch_listing(&self, project: &str, kind: ThreadKind, iid: u64) -> Result<ThreadsPage, ForgeError> {
        match self {
            Self::GitLab(client) => client.page_with(project, kind, iid).await,
            Self::GitHub(client) => client.page_with(project, iid).await,
        }
    }

    /// Reads what belongs to an issue or merge request: discussions, what it closes, who approved it. The answers may take
    /// about so many bytes of memory.
    ///
    /// # Errors
    /// [`ForgeError::NotFound`] if it was deleted since it was listed, [`ForgeError::TooLarge`] if the answers take more,
    /// and as every request may fail.
    pub async fn details(
        &self,
        project: &str,
        listing: &ThreadListing,
        most: usize,
    ) -> Result<ThreadDetails, ForgeError> {
        match self {
            Self::GitLab(client) => client.with_memory_limit(most).details(project, listing).await,
            Self::GitHub(client) => client.with_memory_limit(most).details(project, listing).await,
        }
    }

    /// Begins to count what comes for a project and the time that it takes, see
    /// [`MAX_SYNC_BYTES`](super::MAX_SYNC_BYTES) and [`MAX_SYNC_TIME`](super::MAX_SYNC_TIME).
    pub fn reset_usage(&self) {
        match self {
            Self::GitLab(client) => client.reset_usage(),
            Self::GitHub(client) => client.reset_usage(),
        }
    }

    /// Whether a stored issue or merge request has exactly what the list says about it.
    pub fn matches_listing(&self, stored: &Value, listing: &ThreadListing) -> bool {
        match self {
            Self::GitLab(_) => gitlab::has_listed(stored, listing),
            Self::GitHub(_) => github::has_listed(stored, listing),
        }
    }

    /// What the client did so far.
    pub fn metrics(&self) -> RequestMetrics {
        match self {
            Self::GitLab(client) => client.metrics(),
            Self::GitHub(client) => client.metrics(),
        }
    }
}
