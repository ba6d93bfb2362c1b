//! Listing issues and merge requests in the order of (updated_at, id), complete although they change meanwhile.
//!
//! An item that changes moves to the end of the list and all behind it move up, so that numbered pages skip items.
//! Keyset paging has no such gap; where it is offered (issues), it is used. Elsewhere every page is the first of the
//! list of what was updated since the last item of the page before, and what is known from there is left out. Only
//! where a whole page shares one time are there pages 2, 3, … of such a list, and after each the page before is read
//! again for what moved up.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::client::{Client, malformed, next_page, take_items, too_many_pages};
use crate::forge::{
    Continuation, ForgeError, MAX_PAGES, PageStart, ThreadKind, ThreadListing, ThreadsPage,
    http::{Answer, Shape},
};

/// Where a listing goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    Keyset { since: Option<Timestamp>, cursor: String, pages: u32 },
    Window(Window),
}

/// A page of the list of what was updated since some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Window {
    since: Option<Timestamp>,
    /// 1, except where more than a page of items was updated at `since`.
    page: u32,
    /// Items updated at `since` that earlier pages gave.
    seen: BTreeSet<u64>,
    pages: u32,
}

impl Window {
    fn at(since: Option<Timestamp>) -> Self {
        Self { since, page: 1, ..Self::default() }
    }

    fn is_known(&self, listing: &ThreadListing) -> bool {
        Some(listing.updated_at) == self.since && self.seen.contains(&listing.id)
    }

    /// The window after this one, which gave these items.
    fn after(self, items: &[ThreadListing]) -> Self {
        let last = items.iter().map(|listing| listing.updated_at).max();
        let moves_on = last > self.since;
        let since = if moves_on { last } else { self.since };
        let at_since = items.iter().filter(|listing| Some(listing.updated_at) == since).map(|listing| listing.id);
        let (page, mut seen) = if moves_on { (1, BTreeSet::new()) } else { (self.page + 1, self.seen) };
        seen.extend(at_since);
        Self { since, page, seen, pages: self.pages + 1 }
    }
}

impl Client {
    /// One page of the issues or merge requests of a project, those updated first first.
    ///
    /// # Errors
    /// As every request may fail.
    pub async fn threads_page(
        &self,
        project: &str,
        kind: ThreadKind,
        from: &PageStart,
    ) -> Result<ThreadsPage, ForgeError> {
        let list = List { client: self, project, kind };
        let mut page = list.page(from).await?;
        while page.threads.is_empty()
            && let Some(next) = page.next.take()
        {
            let mut more = list.page(&PageStart::Next(next)).await?;
            more.confidential.append(&mut page.confidential);
            page = ThreadsPage { total: page.total, ..more };
        }
        Ok(page)
    }
}

/// The list of a project's issues or merge requests.
#[derive(Clone, Copy)]
struct List<'a> {
    client: &'a Client,
    project: &'a str,
    kind: ThreadKind,
}

impl List<'_> {
    async fn page(self, from: &PageStart) -> Result<ThreadsPage, ForgeError> {
        match from {
            PageStart::Since(since) if self.kind == ThreadKind::Issue && self.client.keyset_offered() => {
                match self.keyset(*since, None, 0).await {
                    Err(ForgeError::Server { status: 400 | 405, .. }) => {
                        self.client.keyset_is_not_offered();
                        self.window(Window::at(*since)).await
                    }
                    other => other,
                }
            }
            PageStart::Since(since) => self.window(Window::at(*since)).await,
            PageStart::Next(Continuation(Resume::Keyset { since, cursor, pages })) => {
                self.keyset(*since, Some(cursor), *pages).await
            }
            PageStart::Next(Continuation(Resume::Window(window))) => self.window(window.clone()).await,
        }
    }

    async fn keyset(
        self,
        since: Option<Timestamp>,
        cursor: Option<&str>,
        pages: u32,
    ) -> Result<ThreadsPage, ForgeError> {
        let mut paging = vec![("pagination", "keyset")];
        paging.extend(cursor.map(|cursor| ("cursor", cursor)));
        let mut answer = self.ask(since, "100", &paging).await?;
        let items = read(&mut answer)?;
        let numbered = next_page(&answer, 1, items.len())?;
        let next = match answer.paging.cursor.take() {
            Some(next) if Some(next.as_str()) == cursor => {
                return Err(malformed(&answer.url, "a page gives itself as the next"));
            }
            Some(_) if pages >= MAX_PAGES => return Err(too_many_pages(answer.url)),
            Some(cursor) => Some(Resume::Keyset { since, cursor, pages: pages + 1 }),
            // It was not understood, and this is the first page of a numbered list.
            None if cursor.is_none() && numbered.is_some() => {
                self.client.keyset_is_not_offered();
                Some(Resume::Window(Window::at(since).after(&items)))
            }
            None => None,
        };
        let total = match answer.paging.total {
            _ if cursor.is_some() => None,
            None if next.is_some() => self.count(since).await,
            None => Some(items.len() as u64),
            told => told,
        };
        Ok(page_of(items, next, total, answer.time))
    }

    async fn window(self, window: Window) -> Result<ThreadsPage, ForgeError> {
        if window.pages >= MAX_PAGES {
            return Err(too_many_pages(format!("the list of {}", self.project)));
        }
        let mut answer = self.numbered(window.since, window.page).await?;
        let mut items = read(&mut answer)?;
        let more = next_page(&answer, window.page, items.len())?.is_some();
        let moved_up = self.moved_up(&window).await?;
        let next = window.clone().after(&[moved_up.as_slice(), &items].concat());
        let also_moved: BTreeSet<u64> = moved_up.iter().map(|listing| listing.id).collect();
        items.retain(|listing| !window.is_known(listing) && !also_moved.contains(&listing.id));
        items.splice(0..0, moved_up);
        let total = if window == Window::at(window.since) { answer.paging.total } else { None };
        Ok(page_of(items, more.then_some(Resume::Window(next)), total, answer.time))
    }

    /// Items not seen that stood on this page of the window and have moved to one before it, because others changed
    /// and left the list. It is read after this page, so that nothing can slip through between the two.
    async fn moved_up(self, window: &Window) -> Result<Vec<ThreadListing>, ForgeError> {
        let mut found: Vec<ThreadListing> = Vec::new();
        for page in (1..window.page).rev() {
            let items = read(&mut self.numbered(window.since, page).await?)?;
            let begins_known = items.first().is_some_and(|first| window.is_known(first));
            let ids: BTreeSet<u64> = found.iter().map(|listing| listing.id).collect();
            let new = items.into_iter().filter(|listing| !window.is_known(listing) && !ids.contains(&listing.id));
            found.splice(0..0, new.collect::<Vec<_>>());
            if begins_known {
                break;
            }
        }
        Ok(found)
    }

    async fn numbered(self, since: Option<Timestamp>, page: u32) -> Result<Answer, ForgeError> {
        self.ask(since, "100", &[("page", &page.to_string())]).await
    }

    /// How many items a list without page numbers has, for whoever waits for its end. Not worth failing for.
    async fn count(self, since: Option<Timestamp>) -> Option<u64> {
        self.ask(since, "1", &[("page", "1")]).await.ok()?.paging.total
    }

    async fn ask(self, since: Option<Timestamp>, per_page: &str, more: &[(&str, &str)]) -> Result<Answer, ForgeError> {
        let kind = match self.kind {
            ThreadKind::Issue => "issues",
            ThreadKind::MergeRequest => "merge_requests",
        };
        let since = since.map(|since| since.to_string());
        let mut query = vec![
            ("state", "all"),
            ("scope", "all"),
            ("order_by", "updated_at"),
            ("sort", "asc"),
            ("per_page", per_page),
            ("with_labels_details", "true"),
        ];
        query.extend(since.as_deref().map(|since| ("updated_after", since)));
        query.extend(more);
        self.client.get(&["projects", self.project, kind], &query, Shape::List).await
    }
}

fn page_of(items: Vec<ThreadListing>, next: Option<Resume>, total: Option<u64>, forge_time: Timestamp) -> ThreadsPage {
    let (confidential, threads): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|listing| listing.payload["confidential"] == Value::Bool(true));
    let confidential = confidential.into_iter().map(|listing| listing.iid).collect();
    ThreadsPage { threads, confidential, next: next.map(Continuation), total, forge_time }
}

fn read(answer: &mut Answer) -> Result<Vec<ThreadListing>, ForgeError> {
    let items = take_items(&mut answer.json);
    items.into_iter().map(|item| listing(item).map_err(|missing| malformed(&answer.url, missing))).collect()
}

fn listing(payload: Value) -> Result<ThreadListing, String> {
    let missing = |key: &str| format!("an item has no valid {key}");
    let number = |key: &str| payload[key].as_u64().ok_or_else(|| missing(key));
    Ok(ThreadListing {
        id: number("id")?,
        iid: number("iid")?,
        updated_at: payload["updated_at"]
            .as_str()
            .and_then(|at| at.parse().ok())
            .ok_or_else(|| missing("updated_at"))?,
        notes_count: number("user_notes_count").unwrap_or(0),
        payload,
    })
}

#[cfg(test)]
mod tests;
