//! Prints how fresh the index is: a line for every answer, and all of it.

use backstory_engine::{index::Coverage, repository::RepositoryStatus, status::SyncStatus, task::Task};
use jiff::Timestamp;

use super::{Entry, Page, age, name, title};

/// Projects that the first line of an answer names.
const MAX_NAMED: usize = 3;

/// What the first line of an answer is made of.
pub(in crate::mcp) struct Freshness<'a> {
    pub(in crate::mcp) repositories: &'a [RepositoryStatus],
    /// The project that the answer is about, if it is about one.
    pub(in crate::mcp) project: Option<&'a str>,
    pub(in crate::mcp) now: Timestamp,
}

impl Freshness<'_> {
    /// `acme/shop at 687155df · synced 2 min ago`
    pub(in crate::mcp) fn line(&self) -> String {
        let of = |wanted: &str| self.repositories.iter().find(|of| of.project == wanted);
        match (self.project, self.repositories) {
            (Some(project), _) => match of(project) {
                Some(repository) => self.of_repository(repository),
                None => format!("{project} · its repository is not indexed"),
            },
            (None, []) => "no repository is indexed".to_owned(),
            (None, [only]) => self.of_repository(only),
            (None, several) => {
                let named: Vec<String> = several.iter().take(MAX_NAMED).map(|of| self.of_repository(of)).collect();
                let more = several.len().saturating_sub(MAX_NAMED);
                let more = if more > 0 { format!(" | {more} more projects") } else { String::new() };
                format!("{}{more}", named.join(" | "))
            }
        }
    }

    fn of_repository(&self, repository: &RepositoryStatus) -> String {
        let head = repository.head.map_or_else(|| "no commit".to_owned(), |head| head.short());
        let synced = repository
            .synced_at
            .map_or_else(|| "not synced yet".to_owned(), |at| format!("synced {}", age(at, self.now)));
        format!("{} at {head} · {synced}", repository.project)
    }
}

/// Adds everything that is known of projects to a page.
pub(in crate::mcp) fn print_status(
    page: &mut Page,
    repositories: &[RepositoryStatus],
    status: &SyncStatus,
    coverage: &Coverage,
    tasks: &[Task],
) {
    page.nothing = "Nothing is indexed yet; run: backstory add .".to_owned();
    let (documents, embedded) = (coverage.documents, coverage.embedded);
    page.head.push(format!("{embedded} of {documents} documents have vectors"));
    for task in tasks {
        let total = task.progress.total.map(|total| format!("/{total}")).unwrap_or_default();
        let phase = &task.progress.phase;
        page.head.push(format!("at work: {}, {phase} {}{total}", task.kind.as_str(), task.progress.done));
    }
    if status.quarantine.count > 0 {
        page.head.push(format!("{} items of forges cannot be read", status.quarantine.count));
    }
    for fresh in &status.freshness {
        let repository = repositories.iter().find(|of| of.project == fresh.project);
        let mut line = fresh.project.clone();
        if let Some(repository) = repository {
            let head = repository.head.map_or_else(|| "no commit".to_owned(), |head| head.short());
            let branch = repository.default_branch.as_deref().map_or_else(|| "no branch".to_owned(), name);
            line.push_str(&format!(
                " · {branch} at {head} · {} commits, {} files · {}",
                repository.commits,
                repository.files,
                repository.state.as_str()
            ));
        }
        line.push_str(&format!(" · {} issues, {} merge requests", fresh.issues, fresh.merge_requests));
        let synced = repository.and_then(|of| of.synced_at).max(fresh.synced_at);
        if let Some(at) = synced {
            line.push_str(&format!(" · synced {}", age(at, Timestamp::now())));
        }
        for error in repository.and_then(|of| of.last_error.as_ref()).into_iter().chain(&fresh.last_error) {
            line.push_str(&format!("\n  failed: {}", title(error)));
        }
        page.push(Entry::plain(line));
    }
}
