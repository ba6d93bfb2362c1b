//! Lists issues and merge requests of GitLab.

use jiff::Timestamp;
use serde_json::Value;

use super::client::Client;
use crate::forge::{
    Continuation, ForgeError, MAX_PAGES, PageStart, ThreadKind, ThreadListing, ThreadsPage, UnreadableItem,
    http::{ExpectedJson, ForgeResponse},
    paging::{
        NumberedPage, PER_PAGE_TEXT, PageCycleGuard, Resume, UpdateWindow, UpdatedList, listings, malformed, next_page,
        page_of, take_items, too_many_pages, window,
    },
};

impl Client {
    /// One page of the issues or merge requests of a project, sorted by time of the last update; it may have none that may be
    /// read although others follow.
    pub(crate) async fn page(
        &self,
        project: &str,
        kind: ThreadKind,
        from: &PageStart,
    ) -> Result<ThreadsPage, ForgeError> {
        List { client: self, project, kind }.page(from).await.map(|page| self.to_be_read(page))
    }

    /// The page of the list that has one issue or merge request alone; an empty one if it is gone.
    pub(crate) async fn page_with(&self, project: &str, kind: ThreadKind, iid: u64) -> Result<ThreadsPage, ForgeError> {
        let list = List { client: self, project, kind };
        // Asked for by itself it would come in another shape.
        let mut answer = list.ask(None, PER_PAGE_TEXT, &[("iids[]", &iid.to_string())]).await?;
        let (items, unreadable) = listings(take_items(&mut answer)?, |item| listing(kind, item));
        let page = page_of(items, None, None, answer.time);
        Ok(self.to_be_read(ThreadsPage { unreadable, ..page }))
    }

    /// Leaves confidential issues out, unless the settings include them.
    fn to_be_read(&self, mut page: ThreadsPage) -> ThreadsPage {
        if !self.reads_confidential() {
            let left_out = page.threads.extract_if(.., |listing| listing.is_confidential());
            page.confidential.extend(left_out.map(|listing| listing.iid));
            let left_out = page.unreadable.extract_if(.., |wrong| wrong.confidential);
            page.confidential.extend(left_out.filter_map(|wrong| wrong.key.get(1..)?.parse::<u64>().ok()));
        }
        page
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
            PageStart::Since { since, .. } if self.kind == ThreadKind::Issue && self.client.keyset_offered() => {
                match self.keyset(*since, None, 0, PageCycleGuard::default()).await {
                    Err(ForgeError::Server { status: 400 | 405, .. }) => {
                        self.client.keyset_is_not_offered();
                        window(&self, UpdateWindow::at(*since), None).await
                    }
                    other => other,
                }
            }
            PageStart::Since { since, .. } => window(&self, UpdateWindow::at(*since), None).await,
            PageStart::Next(Continuation(Resume::Keyset { since, cursor, pages, seen })) => {
                self.keyset(*since, Some(cursor), *pages, seen.clone()).await
            }
            PageStart::Next(Continuation(Resume::Window(at))) => window(&self, at.clone(), None).await,
        }
    }

    async fn keyset(
        self,
        since: Option<Timestamp>,
        cursor: Option<&str>,
        pages: u32,
        mut seen: PageCycleGuard,
    ) -> Result<ThreadsPage, ForgeError> {
        let mut paging = vec![("pagination", "keyset")];
        paging.extend(cursor.map(|cursor| ("cursor", cursor)));
        let mut answer = self.ask(since, PER_PAGE_TEXT, &paging).await?;
        let items = take_items(&mut answer)?;
        let numbered = next_page(&answer, 1, items.len())?;
        let (items, unreadable) = listings(items, |item| listing(self.kind, item));
        let next = match answer.paging.cursor.take() {
            Some(next) if Some(next.as_str()) == cursor => {
                return Err(malformed(&answer.url, "a page gives itself as the next"));
            }
            Some(_) if pages >= MAX_PAGES => return Err(too_many_pages(answer.url, MAX_PAGES)),
            Some(cursor) => {
                seen.add(answer.hash, &answer.url)?;
                Some(Resume::Keyset { since, cursor, pages: pages + 1, seen })
            }
            // It was not understood, and this is the first page of a numbered list.
            None if cursor.is_none() && numbered.is_some() => {
                self.client.keyset_is_not_offered();
                Some(Resume::Window(UpdateWindow::at(since).after(&items)))
            }
            None => None,
        };
        let total = match answer.paging.total {
            _ if cursor.is_some() => None,
            None if next.is_some() => self.count(since).await,
            None => Some((items.len() + unreadable.len()) as u64),
            told => told,
        };
        Ok(ThreadsPage { unreadable, ..page_of(items, next, total, answer.time) })
    }

    /// How many items a list without page numbers has, for showing progress. Not worth failing for.
    async fn count(self, since: Option<Timestamp>) -> Option<u64> {
        self.ask(since, "1", &[("page", "1")]).await.ok()?.paging.total
    }

    async fn ask(
        self,
        since: Option<Timestamp>,
        per_page: &str,
        more: &[(&str, &str)],
    ) -> Result<ForgeResponse, ForgeError> {
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
        self.client.get(&["projects", self.project, kind], &query, ExpectedJson::List).await
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
        _etag: Option<&str>,
    ) -> Result<NumberedPage, ForgeError> {
        let mut answer = self.ask(since, PER_PAGE_TEXT, &[("page", &page.to_string())]).await?;
        let items = take_items(&mut answer)?;
        let more = next_page(&answer, page, items.len())?.is_some();
        let (items, unreadable) = listings(items, |item| listing(self.kind, item));
        let ForgeResponse { paging, time, hash, .. } = answer;
        Ok(NumberedPage { items, unreadable, more, total: paging.total, time, etag: None, hash })
    }
}

fn listing(kind: ThreadKind, payload: Value) -> Result<ThreadListing, UnreadableItem> {
    let iid = payload["iid"].as_u64();
    let confidential = &payload["confidential"];
    let wrong = |field: &str, reason: &str| {
        let iid = iid.map(|iid| iid.to_string());
        let wrong = UnreadableItem::new(kind.into(), &kind.sigil().to_string(), iid.as_deref(), field, reason);
        UnreadableItem { confidential: *confidential == Value::Bool(true), ..wrong }
    };
    if !(confidential.is_null() || confidential.is_boolean()) {
        // Who may see it cannot be told.
        return Err(wrong("confidential", "is not a boolean"));
    }
    let updated_at = payload["updated_at"].as_str().and_then(|at| at.parse().ok());
    Ok(ThreadListing {
        kind,
        iid: iid.ok_or_else(|| wrong("iid", "is not a whole number"))?,
        id: payload["id"].as_u64().ok_or_else(|| wrong("id", "is not a whole number"))?,
        updated_at: updated_at.ok_or_else(|| wrong("updated_at", "is not a time"))?,
        notes_count: payload["user_notes_count"].as_u64().unwrap_or(0),
        payload,
    })
}

#[cfg(test)]
mod tests;
