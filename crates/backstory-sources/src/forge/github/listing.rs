//! Listing issues and pull requests, which GitHub lists together.

use jiff::Timestamp;
use serde_json::Value;

use super::client::{Client, below};
use crate::forge::{
    Continuation, ForgeError, PageStart, ThreadKind, ThreadListing, ThreadsPage,
    http::{Answer, Shape},
    paging::{
        NumberedPage, PER_PAGE_TEXT, Resume, UpdatedList, Window, malformed, next_page, page_of, take_items, window,
    },
};

impl Client {
    /// One page of the issues and pull requests of a project, those updated first first.
    pub(crate) async fn page(&self, project: &str, from: &PageStart) -> Result<ThreadsPage, ForgeError> {
        let list = List { client: self, project };
        match from {
            PageStart::Since { since, etag } => {
                let mut page = window(&list, Window::at(*since), etag.as_deref()).await?;
                page.total = match page.next {
                    Some(_) => list.count(*since).await,
                    None => Some(page.threads.len() as u64),
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
        let item = listing(answer.json).map_err(|missing| malformed(&answer.url, missing))?;
        Ok(page_of(vec![item], None, None, answer.time))
    }
}

#[derive(Clone, Copy)]
struct List<'a> {
    client: &'a Client,
    project: &'a str,
}

impl List<'_> {
    /// How many items the list has, for whoever waits for its end. Not worth failing for.
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
    ) -> Result<Answer, ForgeError> {
        let path = below(self.project, &["issues"])?;
        // Times have whole seconds here.
        let since = since.map(|since| Timestamp::from_second(since.as_second()).unwrap_or(since).to_string());
        let mut query =
            vec![("state", "all"), ("sort", "updated"), ("direction", "asc"), ("per_page", per_page), ("page", page)];
        query.extend(since.as_deref().map(|since| ("since", since)));
        self.client.http.get_unless(etag, &path, &query, Shape::List).await
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
        let items = take_items(&mut answer.json);
        let more = next_page(&answer, page, items.len())?.is_some();
        let items = items.into_iter().map(|item| listing(item).map_err(|missing| malformed(&answer.url, missing)));
        let items = items.collect::<Result<_, _>>()?;
        Ok(NumberedPage { items, more, total: None, time: answer.time, etag: answer.etag })
    }
}

pub(super) fn listing(payload: Value) -> Result<ThreadListing, String> {
    let missing = |key: &str| format!("an item has no valid {key}");
    let number = |key: &str| payload[key].as_u64().ok_or_else(|| missing(key));
    let updated_at = payload["updated_at"].as_str().and_then(|at| at.parse().ok());
    Ok(ThreadListing {
        kind: if payload["pull_request"].is_object() { ThreadKind::MergeRequest } else { ThreadKind::Issue },
        id: number("id")?,
        iid: number("number")?,
        updated_at: updated_at.ok_or_else(|| missing("updated_at"))?,
        notes_count: number("comments").unwrap_or(0),
        payload,
    })
}

#[cfg(test)]
mod tests;
