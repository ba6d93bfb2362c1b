//! What waits for somebody: what is assigned to them, what they should review or answer, and what has become stale.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    entity::{Discussion, Item, Note, State},
    filter::is_same_name,
    id::{NodeId, ThreadId, ThreadKind},
    reference::{Forge, ReferenceContext, extract},
    sentence::own_lines_or_all,
    text::snippet,
};
use backstory_store::lists::{
    self, DiscussionQuery, PageRequest, ThreadFilter, ThreadOrder, ThreadQuery, ThreadRow, TimeRange,
};
use jiff::Timestamp;

use super::{PersonRequest, Waiting, WaitingNote, days_ago};
use crate::{
    error::Result,
    read::{load_discussions, load_items},
    resources::Resources,
    threads::ThreadSummary,
};

/// Most issues and merge requests whose discussions are read for one list.
const MAX_READ: usize = 200;
/// Length of a quoted note, in characters.
const QUOTED: usize = 160;

/// What waits for the person of a request.
pub(super) async fn find_waiting(resources: &Resources, request: &PersonRequest) -> Result<Waiting> {
    let name = &request.name;
    let to_me = ThreadFilter { assignees: vec![name.clone()], ..open(request) };
    let mine = ThreadFilter { authors: vec![name.clone()], ..open(request) };
    let newest_first = lists::Direction::Descending;
    let assigned = rows(resources, &to_me, newest_first, request.limit).await?;
    let own = rows(resources, &mine, newest_first, MAX_READ).await?;
    let updated = TimeRange { from: None, to: Some(days_ago(request.stale_days.into())) };
    let (to_me, mine) = (ThreadFilter { updated, ..to_me }, ThreadFilter { updated, ..mine });
    let mut stale = rows(resources, &to_me, lists::Direction::Ascending, request.limit).await?;
    stale.extend(rows(resources, &mine, lists::Direction::Ascending, request.limit).await?);
    let reviews = rows_to_review(resources, request).await?;
    Ok(Waiting {
        assigned: summaries(resources, in_order(assigned, request.limit)).await?,
        to_review: summaries(resources, reviews).await?,
        mentioned: mentions(resources, request).await?,
        replies: replies(resources, request, &own).await?,
        stale: {
            let mut stale = in_order(stale, usize::MAX);
            stale.reverse();
            stale.truncate(request.limit);
            summaries(resources, stale).await?
        },
    })
}

fn open(request: &PersonRequest) -> ThreadFilter {
    ThreadFilter { projects: request.projects.clone(), states: vec![State::Opened], ..ThreadFilter::default() }
}

/// Issues and merge requests of a filter, in the order of their last changes of each.
async fn rows(
    resources: &Resources,
    filter: &ThreadFilter,
    direction: lists::Direction,
    first: usize,
) -> Result<Vec<ThreadRow>> {
    let mut found = Vec::new();
    for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
        found.extend(rows_of_kind(resources, kind, filter.clone(), direction, first).await?);
    }
    Ok(found)
}

async fn rows_of_kind(
    resources: &Resources,
    kind: ThreadKind,
    filter: ThreadFilter,
    direction: lists::Direction,
    first: usize,
) -> Result<Vec<ThreadRow>> {
    let query = ThreadQuery { kind, filter, order: ThreadOrder::Updated, direction };
    let page = PageRequest { first, after: None, ..PageRequest::default() };
    Ok(resources.with_lists(move |lists, visibility| lists.threads(&query, &page, visibility)).await?.rows)
}

/// The last changed first, each once.
fn in_order(mut rows: Vec<ThreadRow>, limit: usize) -> Vec<ThreadId> {
    rows.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.id.cmp(&b.id)));
    rows.dedup_by(|a, b| a.id == b.id);
    rows.into_iter().take(limit).map(|row| row.id).collect()
}

/// Issues and merge requests as lists show them, in the order given.
pub(super) async fn summaries(resources: &Resources, ids: Vec<ThreadId>) -> Result<Vec<ThreadSummary>> {
    let ids: Vec<NodeId> = ids.into_iter().map(NodeId::from).collect();
    let items = load_items(resources, ids.clone()).await?;
    Ok(ids.iter().filter_map(|id| ThreadSummary::from_item(items.get(id)?)).collect())
}

/// Open merge requests that wait for a review that the person is asked for.
async fn rows_to_review(resources: &Resources, request: &PersonRequest) -> Result<Vec<ThreadId>> {
    let filter = ThreadFilter { asked: vec![request.name.clone()], ..open(request) };
    let is_me = |name: &String| is_same_name(name, &request.name);
    let direction = lists::Direction::Descending;
    let mut rows = rows_of_kind(resources, ThreadKind::MergeRequest, filter, direction, MAX_READ).await?;
    rows.retain(|row| !row.draft && !row.approvers.iter().any(is_me) && !row.author.as_ref().is_some_and(is_me));
    let ids: Vec<ThreadId> = rows.iter().map(|row| row.id.clone()).collect();
    let discussions = load_discussions(resources, ids).await?;
    rows.retain(|row| {
        let notes = discussions.get(&row.id).into_iter().flatten().flat_map(|discussion| &discussion.notes);
        let last = notes.max_by_key(|note| note.created_at);
        !last.and_then(|note| note.author.as_ref()).is_some_and(is_me)
    });
    Ok(in_order(rows, request.limit))
}

/// Open issues and merge requests in which the person is mentioned and has not written since.
async fn mentions(resources: &Resources, request: &PersonRequest) -> Result<Vec<WaitingNote>> {
    let threads = threads_that_mention(resources, request).await?;
    let items = load_items(resources, threads.into_iter().map(NodeId::from).collect()).await?;
    let mut open: Vec<(ThreadId, Item)> = items
        .into_iter()
        .filter_map(|(id, item)| match id {
            NodeId::Thread(id) if item.as_thread()?.state == State::Opened => Some((id, item)),
            _ => None,
        })
        .collect();
    open.sort_by_key(|(_, item)| std::cmp::Reverse(item.as_thread().map(|thread| thread.updated_at)));
    open.truncate(MAX_READ);
    let discussions = load_discussions(resources, open.iter().map(|(id, _)| id.clone()).collect()).await?;
    let request = request.clone();
    let find = move |_: &Resources| {
        let mut found = Vec::new();
        for (id, item) in &open {
            let own = discussions.get(id).map_or(&[][..], Vec::as_slice);
            found.extend(unanswered_mention(&request, id, item, own));
        }
        Ok(newest(found, request.limit))
    };
    // Texts of many people are searched for references.
    resources.blocking(find).await
}

/// Open issues and merge requests that mention the person, and those with a discussion that does: one that fewer people see
/// than its issue is not counted there.
async fn threads_that_mention(resources: &Resources, request: &PersonRequest) -> Result<BTreeSet<ThreadId>> {
    let mentioned = vec![request.name.clone()];
    let filter = ThreadFilter { mentioned: mentioned.clone(), ..open(request) };
    let mut threads: BTreeSet<ThreadId> =
        rows(resources, &filter, lists::Direction::Descending, MAX_READ).await?.into_iter().map(|row| row.id).collect();
    let query = DiscussionQuery { projects: request.projects.clone(), mentioned, ..DiscussionQuery::default() };
    let page = PageRequest { first: MAX_READ, ..PageRequest::default() };
    let page = resources.with_lists(move |lists, visibility| lists.discussions(&query, &page, visibility)).await?;
    threads.extend(page.rows.into_iter().map(|row| row.thread));
    Ok(threads)
}

/// Whether a text mentions a person.
fn mentions_person(name: &str, text: &str, forge: Forge, web_url: &str, project: &str) -> bool {
    let forge_url = forge.url_in(web_url, project).unwrap_or_default();
    extract(text, ReferenceContext { forge, project, forge_url })
        .iter()
        .any(|target| matches!(target, NodeId::Person(person) if is_same_name(person, name)))
}

/// The newest mention of the person in an issue or merge request, if they have not written since.
fn unanswered_mention(
    request: &PersonRequest,
    id: &ThreadId,
    item: &Item,
    discussions: &[Discussion],
) -> Option<WaitingNote> {
    let thread = item.as_thread()?;
    let is_me = |name: &Option<String>| name.as_ref().is_some_and(|name| is_same_name(name, &request.name));
    let notes = || discussions.iter().flat_map(|of| of.notes.iter().map(move |note| (of, note)));
    let last_own = notes().filter(|(_, note)| is_me(&note.author)).map(|(_, note)| note.created_at).max();
    let since = |at: Timestamp| last_own.is_none_or(|own| own < at);
    let is_meant = |text: &str, forge: Forge, url: &str| mentions_person(&request.name, text, forge, url, &id.project);
    // Only of these is the text searched.
    let later = || notes().filter(|(_, note)| since(note.created_at) && !is_me(&note.author));
    let mentions = later().filter(|(of, note)| is_meant(&note.body, of.forge, &of.web_url));
    if let Some((discussion, note)) = mentions.max_by_key(|(_, note)| note.created_at) {
        return Some(waiting_note(id, &thread.title, discussion, note, later().count()));
    }
    let is_described = !is_me(&thread.author)
        && since(thread.created_at)
        && is_meant(&thread.description, thread.forge, &thread.web_url);
    is_described.then(|| WaitingNote {
        thread: id.clone(),
        title: thread.title.clone(),
        id: id.clone().into(),
        author: thread.author.clone(),
        at: thread.created_at,
        text: snippet(&own_lines_or_all(&thread.description), &request.name, QUOTED),
        url: thread.web_url.clone(),
        notes: notes().filter(|(_, note)| !is_me(&note.author)).count(),
    })
}

fn waiting_note(id: &ThreadId, title: &str, discussion: &Discussion, note: &Note, notes: usize) -> WaitingNote {
    WaitingNote {
        thread: id.clone(),
        title: title.to_owned(),
        id: discussion.note_id(note),
        author: note.author.clone(),
        at: note.created_at,
        text: snippet(&own_lines_or_all(&note.body), "", QUOTED),
        url: discussion.note_url(note.id),
        notes,
    }
}

/// What others wrote since the person did, where it is meant for them.
async fn replies(resources: &Resources, request: &PersonRequest, own: &[ThreadRow]) -> Result<Vec<WaitingNote>> {
    let mut titles: BTreeMap<ThreadId, String> =
        own.iter().filter(|row| row.notes > 0).map(|row| (row.id.clone(), row.title.clone())).collect();
    let mut found = Vec::new();
    for (id, discussions) in load_discussions(resources, titles.keys().cloned().collect()).await? {
        let title = titles.get(&id).map(String::as_str).unwrap_or_default();
        let notes: Vec<(&Discussion, &Note)> =
            discussions.iter().flat_map(|of| of.notes.iter().map(move |note| (of, note))).collect();
        found.extend(reply_to(request, &id, title, &notes));
    }
    let started = started_discussions(resources, request).await?;
    let elsewhere: BTreeSet<ThreadId> =
        started.iter().map(|row| row.thread.clone()).filter(|thread| !titles.contains_key(thread)).collect();
    let items = load_items(resources, elsewhere.iter().cloned().map(NodeId::from).collect()).await?;
    for (id, item) in &items {
        if let (NodeId::Thread(id), Some(thread)) = (id, item.as_thread()) {
            titles.insert(id.clone(), thread.title.clone());
        }
    }
    for (id, discussions) in load_discussions(resources, elsewhere.into_iter().collect()).await? {
        let title = titles.get(&id).map(String::as_str).unwrap_or_default();
        for discussion in discussions.iter().filter(|of| started.iter().any(|row| row.node_id() == of.node_id())) {
            let notes: Vec<(&Discussion, &Note)> = discussion.notes.iter().map(|note| (discussion, note)).collect();
            found.extend(reply_to(request, &id, title, &notes));
        }
    }
    Ok(newest(found, request.limit))
}

/// Discussions that the person started, that have answers and are not resolved.
async fn started_discussions(resources: &Resources, request: &PersonRequest) -> Result<Vec<lists::DiscussionRow>> {
    let query = DiscussionQuery {
        projects: request.projects.clone(),
        authors: vec![request.name.clone()],
        resolved: Some(false),
        ..DiscussionQuery::default()
    };
    let page = PageRequest { first: MAX_READ, after: None, ..PageRequest::default() };
    let page = resources.with_lists(move |lists, visibility| lists.discussions(&query, &page, visibility)).await?;
    Ok(page.rows.into_iter().filter(|row| row.notes > 1).collect())
}

/// The newest of the notes, if others wrote it, with how many they wrote since the person did.
fn reply_to(
    request: &PersonRequest,
    id: &ThreadId,
    title: &str,
    notes: &[(&Discussion, &Note)],
) -> Option<WaitingNote> {
    let is_me = |note: &Note| note.author.as_ref().is_some_and(|name| is_same_name(name, &request.name));
    let last_own = notes.iter().filter(|(_, note)| is_me(note)).map(|(_, note)| note.created_at).max();
    let later = notes.iter().filter(|(_, note)| !is_me(note) && last_own.is_none_or(|own| own < note.created_at));
    let count = later.clone().count();
    let (discussion, note) = later.max_by_key(|(_, note)| note.created_at)?;
    Some(waiting_note(id, title, discussion, note, count))
}

fn newest(mut found: Vec<WaitingNote>, limit: usize) -> Vec<WaitingNote> {
    found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
    found.truncate(limit);
    found
}
