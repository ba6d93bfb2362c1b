//! Lists issues and pull requests, which GitHub has in one list.

use jiff::Timestamp;
use serde_json::Value;

use super::client::{Client, below};
use crate::forge::{
    Continuation, ForgeError, PageStart, ThreadKind, ThreadListing, ThreadsPage, UnreadableItem,
    http::{ExpectedJson, ForgeResponse},
    paging::{
        NumberedPage, PER_PAGE_TEXT, Resume, UpdateWindow, UpdatedList, listings, next_page, page_of, take_items,
        window,
    },
};

impl Client {
    /// One page of the issues and pull requests of a project, sorted by time of the last update.
    pub(crate) async fn page(&self, project: &str, from: &PageStart) -> Result<ThreadsPage, ForgeError> {
        let list = List { client: self, project };
        match from {
            PageStart::Since { since, etag } => {
                let mut page = window(&list, UpdateWindow::at(*since), etag.as_deref()).await?;
                page.total = match page.next {
                    Some(_) => list.count(*since).await,
                    None => Some((page.threads.len() + page.unreadable.len()) as u64),
                };
                Ok(page)
            }
            PageStart::Next(Continuation(Resume::Window(at))) => window(&list, at.clone(), None).await,
            PageStart::Next(Continuation(Resume::Keyset { .. })) => {
                Err(ForgeError::Config("GitHub has no keyset paging".to_owned()))
            }
        }
    }

    /// The page of the list that has one issue or pull request alone.
    pub(crate) async fn page_with(&self, project: &str, number: u64) -> Result<ThreadsPage, ForgeError> {
        let answer = self.object(project, &["issues", &number.to_string()]).await?;
        let (items, unreadable) = listings(vec![answer.json], listing);
        Ok(ThreadsPage { unreadable, ..page_of(items, None, None, answer.time) })
    }
}

#[derive(Clone, Copy)]
struct List<'a> {
    client: &'a Client,
    project: &'a str,
}

impl List<'_> {
    /// How many items the list has, for showing progress. Not worth failing for.
    async fn count(self, since: Option<Timestamp>) -> Option<u64> {
        let answer = self.ask(since, "1", "1", None).await.ok()?;
        answer.paging.last_page.map(u64::from)
    }

    async fn ask(
        self,
        since: Option<Timestamp>,
        per_page: &str,
        page: &str,
        etag: Option<&str>,
    ) -> Result<ForgeResponse, ForgeError> {
        let path = below(self.project, &["issues"])?;
        // Times have whole seconds here.
        let since = since.map(|since| Timestamp::from_second(since.as_second()).unwrap_or(since).to_string());
        let mut query =
            vec![("state", "all"), ("sort", "updated"), ("direction", "asc"), ("per_page", per_page), ("page", page)];
        query.extend(since.as_deref().map(|since| ("since", since)));
        self.client.http.get_if_changed(etag, &path, &query, ExpectedJson::List).await
    }
}

impl UpdatedList for List<'_> {
    fn name(&self) -> String {
        format!("the list of {}", self.project)
    }

    async fn numbered(
        &self,
        since: Option<Timestamp>,
        page: u32,
        etag: Option<&str>,
    ) -> Result<NumberedPage, ForgeError> {
        let mut answer = self.ask(since, PER_PAGE_TEXT, &page.to_string(), etag).await?;
        let items = take_items(&mut answer)?;
        let more = next_page(&answer, page, items.len())?.is_some();
        let (items, unreadable) = listings(items, listing);
        let ForgeResponse { time, etag, hash, .. } = answer;
        Ok(NumberedPage { items, unreadable, more, total: None, time, etag, hash })
    }
}

pub(super) fn listing(payload: Value) -> Result<ThreadListing, UnreadableItem> {
    let number = payload["number"].as_u64();
    let pull = &payload["pull_request"];
    let kind = if pull.is_object() { ThreadKind::MergeRequest } else { ThreadKind::Issue };
    let wrong = |field: &str, reason: &str| {
        let number = number.map(|number| number.to_string());
        UnreadableItem::new(kind.into(), &kind.sigil().to_string(), number.as_deref(), field, reason)
    };
    if !(pull.is_null() || pull.is_object()) {
        // Which of the two it is cannot be told.
        return Err(wrong("pull_request", "is not an object"));
    }
    let updated_at = payload["updated_at"].as_str().and_then(|at| at.parse().ok());
    Ok(ThreadListing {
        kind,
        iid: number.ok_or_else(|| wrong("number", "is not a whole number"))?,
        id: payload["id"].as_u64().ok_or_else(|| wrong("id", "is not a whole number"))?,
        updated_at: updated_at.ok_or_else(|| wrong("updated_at", "is not a time"))?,
        notes_count: payload["comments"].as_u64().unwrap_or(0),
        payload,
    })
}

#[cfg(test)]
mod tests;
