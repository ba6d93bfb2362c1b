//! Reads lists page by page: whole ones, and those of issues and merge requests in the order of (updated_at, id),
//! complete although they change meanwhile.
//!
//! An item that changes moves to the end of the list and all behind it move up, so that numbered pages skip items.
//! Keyset paging has no such gap; where it is offered (issues of GitLab), it is used. Elsewhere every page is the first of
//! the list of what was updated since the last item of the page before, and what is known from there is left out. Only
//! where a whole page shares one time are there pages 2, 3, … of such a list, and after each the page before is read
//! again for what moved up.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use backstory_model::entity::ProposedFile;
use jiff::Timestamp;
use rpds::HashTrieSetSync;
use serde_json::Value;

use super::{
    Continuation, ForgeError, MAX_LIST, MAX_LIST_PAGES, MAX_PAGE_ITEMS, MAX_PAGES, ThreadListing, ThreadsPage,
    UnreadableItem,
    http::{ExpectedJson, ForgeResponse, Http},
};

/// Items on a page; neither forge gives more.
pub(super) const PER_PAGE: usize = 100;
/// The same in an address.
pub(super) const PER_PAGE_TEXT: &str = "100";
/// Most memory that the answers of [`first_pages`] may take, in bytes, about. It is their own: what comes for one item
/// beside them, such as its discussions, counts more and has the whole limit of the item.
const MAX_FIRST_PAGES: usize = 8 << 20;

/// Where a listing goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    Keyset { since: Option<Timestamp>, cursor: String, pages: u32, seen: PageCycleGuard },
    Window(UpdateWindow),
}

/// Hashes of the pages of a listing, so that one that goes in a circle is noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageCycleGuard(HashTrieSetSync<u64>);

impl PageCycleGuard {
    /// Takes a page in that another follows.
    pub(super) fn add(&mut self, answer_hash: u64, name: &str) -> Result<(), ForgeError> {
        if self.0.contains(&answer_hash) {
            return Err(goes_in_a_circle(name));
        }
        self.0.insert_mut(answer_hash);
        Ok(())
    }
}

fn goes_in_a_circle(name: &str) -> ForgeError {
    malformed(name, "a page that was given before is given again as the next")
}

/// A page of the list of what was updated since some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpdateWindow {
    since: Option<Timestamp>,
    /// 1, except where more than a page of items was updated at `since`.
    page: u32,
    /// Items updated at `since` that earlier pages gave.
    seen: BTreeSet<u64>,
    pages: u32,
    answers: PageCycleGuard,
}

impl UpdateWindow {
    pub(super) fn at(since: Option<Timestamp>) -> Self {
        Self { since, page: 1, ..Self::default() }
    }

    fn is_known(&self, listing: &ThreadListing) -> bool {
        Some(listing.updated_at) == self.since && self.seen.contains(&listing.id)
    }

    /// The window after this one, which gave these items.
    pub(super) fn after(self, items: &[ThreadListing]) -> Self {
        let last = items.iter().map(|listing| listing.updated_at).max();
        let moves_on = last > self.since;
        let since = if moves_on { last } else { self.since };
        let at_since = items.iter().filter(|listing| Some(listing.updated_at) == since).map(|listing| listing.id);
        let (page, mut seen) = if moves_on { (1, BTreeSet::new()) } else { (self.page + 1, self.seen) };
        seen.extend(at_since);
        // A window that begins where the one before ended may begin with the same page.
        let answers = if moves_on { PageCycleGuard::default() } else { self.answers };
        Self { since, page, seen, pages: self.pages + 1, answers }
    }
}

/// A numbered page of a list.
pub(super) struct NumberedPage {
    pub(super) items: Vec<ThreadListing>,
    pub(super) unreadable: Vec<UnreadableItem>,
    /// Whether another page follows.
    pub(super) more: bool,
    /// Items on all pages, where the forge tells.
    pub(super) total: Option<u64>,
    pub(super) time: Timestamp,
    pub(super) etag: Option<String>,
    /// Of the whole answer.
    pub(super) hash: u64,
}

/// A list of issues, merge requests or both, sorted by time of the last update.
pub(super) trait UpdatedList: Sync {
    /// What to call it in an error.
    fn name(&self) -> String;

    /// A page of what was updated at that time or later; nothing if the list is still what the validator names.
    fn numbered(
        &self,
        since: Option<Timestamp>,
        page: u32,
        etag: Option<&str>,
    ) -> impl Future<Output = Result<NumberedPage, ForgeError>> + Send;
}

/// The page at a window.
pub(super) async fn window(
    list: &impl UpdatedList,
    window: UpdateWindow,
    etag: Option<&str>,
) -> Result<ThreadsPage, ForgeError> {
    if window.pages >= MAX_PAGES {
        return Err(too_many_pages(list.name(), MAX_PAGES));
    }
    let numbered = list.numbered(window.since, window.page, etag).await?;
    let NumberedPage { mut items, unreadable, more, total, time, etag, hash } = numbered;
    let (moved_up, reread) = moved_up(list, &window).await?;
    let mut next = window.clone().after(&[moved_up.as_slice(), &items].concat());
    next.pages = next.pages.saturating_add(reread);
    if more && next.since == window.since {
        next.answers.add(hash, &list.name())?;
    }
    let also_moved: BTreeSet<u64> = moved_up.iter().map(|listing| listing.id).collect();
    items.retain(|listing| !window.is_known(listing) && !also_moved.contains(&listing.id));
    items.splice(0..0, moved_up);
    let is_first = window == UpdateWindow::at(window.since);
    let page = page_of(items, more.then_some(Resume::Window(next)), total.filter(|_| is_first), time);
    Ok(ThreadsPage { unreadable, etag: etag.filter(|_| is_first && !more), ..page })
}

/// Items not seen that stood on this page of the window and have moved to one before it, because others changed
/// and left the list, and how many pages were read for that. They are read after this page, so that nothing can slip
/// through between the two.
async fn moved_up(list: &impl UpdatedList, window: &UpdateWindow) -> Result<(Vec<ThreadListing>, u32), ForgeError> {
    let mut found: Vec<ThreadListing> = Vec::new();
    let mut reread = 0;
    for page in (1..window.page).rev() {
        let NumberedPage { items, unreadable, .. } = list.numbered(window.since, page, None).await?;
        reread += 1;
        // Of a page that cannot be read nothing can be told: it does not lead to the one before.
        let begins_known = items.first().map_or(!unreadable.is_empty(), |first| window.is_known(first));
        let ids: BTreeSet<u64> = found.iter().map(|listing| listing.id).collect();
        let new = items.into_iter().filter(|listing| !window.is_known(listing) && !ids.contains(&listing.id));
        found.splice(0..0, new.collect::<Vec<_>>());
        if begins_known {
            break;
        }
    }
    Ok((found, reread))
}

pub(super) fn page_of(
    items: Vec<ThreadListing>,
    next: Option<Resume>,
    total: Option<u64>,
    forge_time: Timestamp,
) -> ThreadsPage {
    let next = next.map(Continuation);
    ThreadsPage { threads: items, unreadable: vec![], confidential: vec![], next, total, forge_time, etag: None }
}

/// All items of a list, page by page.
pub(super) async fn read_all_pages(
    http: &Http,
    path: &[&str],
    more: &[(&str, &str)],
) -> Result<Vec<Value>, ForgeError> {
    let (items, rest) = pages(http, path, more, MAX_LIST_PAGES).await?;
    rest.map_or(Ok(items), |url| Err(too_many_pages(url, MAX_LIST_PAGES)))
}

/// The items on the first so many pages of a list, which may take [`MAX_FIRST_PAGES`].
pub(super) async fn first_pages(http: &Http, path: &[&str], most: u32) -> Result<Vec<Value>, ForgeError> {
    Ok(pages(&http.with_memory_limit(MAX_FIRST_PAGES), path, &[], most).await?.0)
}

/// The items on the first so many pages, and the address of the last one if there are more.
async fn pages(
    http: &Http,
    path: &[&str],
    more: &[(&str, &str)],
    most: u32,
) -> Result<(Vec<Value>, Option<String>), ForgeError> {
    let http = http.with_memory_limit_unless_set(MAX_LIST);
    let mut items = Vec::new();
    let mut seen = HashSet::new();
    let mut page: u32 = 1;
    loop {
        let number = page.to_string();
        let query = [more, &[("per_page", PER_PAGE_TEXT), ("page", number.as_str())]].concat();
        let mut answer = http.get(path, &query, ExpectedJson::List).await?;
        let found = take_items(&mut answer)?;
        let next = next_page(&answer, page, found.len())?;
        items.extend(found);
        match next {
            Some(_) if !seen.insert(answer.hash) => return Err(goes_in_a_circle(&answer.url)),
            Some(next) if next <= most => page = next,
            Some(_) => return Ok((items, Some(answer.url))),
            None => return Ok((items, None)),
        }
    }
}

/// Nothing where the forge does not offer what was asked for or the token may not read it.
pub(super) fn empty_if_unavailable<T: Default>(result: Result<T, ForgeError>) -> Result<T, ForgeError> {
    match result {
        Err(error) if error.is_not_found() => {
            tracing::debug!(%error, "treated as empty");
            Ok(T::default())
        }
        other => other,
    }
}

/// Nothing where the forge tells too much to be read, or not what it promises, or nothing, or fails, as it does where it
/// cannot produce a diff: the rest of the thread counts more. Only for proposed files, which a thread can be without.
pub(super) fn limited_to_item<T: Default>(result: Result<T, ForgeError>) -> Result<T, ForgeError> {
    match empty_if_unavailable(result) {
        Err(error) if error.is_limited_to_item() || matches!(error, ForgeError::Server { .. }) => {
            tracing::debug!(%error, "treated as empty");
            Ok(T::default())
        }
        other => other,
    }
}

/// Files by path, each once.
pub(super) fn sorted_files(files: impl Iterator<Item = ProposedFile>) -> Vec<ProposedFile> {
    let files: BTreeMap<String, ProposedFile> = files.map(|file| (file.path.clone(), file)).collect();
    files.into_values().collect()
}

/// The page after this one. Without a word about it in the headers, a full page has one.
pub(super) fn next_page(answer: &ForgeResponse, page: u32, items: usize) -> Result<Option<u32>, ForgeError> {
    match answer.paging.next_page {
        _ if items == 0 => Ok(None),
        Some(next) if next > page => Ok(Some(next)),
        Some(next) => Err(malformed(&answer.url, format!("after page {page} it gives {next} as the next"))),
        None if !answer.paging.told && items >= PER_PAGE => Ok(Some(page + 1)),
        None => Ok(None),
    }
}

pub(super) fn take_items(answer: &mut ForgeResponse) -> Result<Vec<Value>, ForgeError> {
    match answer.json.take() {
        Value::Array(items) if items.len() > MAX_PAGE_ITEMS => {
            let what = format!("it gives {} items on a page, and was asked for {PER_PAGE}", items.len());
            Err(malformed(&answer.url, what))
        }
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}

/// The items of a page of issues or merge requests: those that can be told apart and put in order, and the others.
pub(super) fn listings(
    items: Vec<Value>,
    listing: impl Fn(Value) -> Result<ThreadListing, UnreadableItem>,
) -> (Vec<ThreadListing>, Vec<UnreadableItem>) {
    let (mut found, mut unreadable) = (Vec::with_capacity(items.len()), Vec::new());
    for item in items {
        match listing(item) {
            Ok(listing) => found.push(listing),
            Err(wrong) => unreadable.push(wrong),
        }
    }
    (found, unreadable)
}

pub(super) fn malformed(url: &str, reason: impl Into<String>) -> ForgeError {
    ForgeError::Malformed { url: url.to_owned(), reason: reason.into() }
}

pub(super) fn too_many_pages(url: String, most: u32) -> ForgeError {
    ForgeError::TooLarge { url, what: format!("a list of more than {most} pages") }
}
