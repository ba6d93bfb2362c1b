//! The lists against their laws: rows follow from the items alone, and pages and totals are what reading every row gives.

mod durations;
mod items;

use std::collections::BTreeMap;

use backstory_model::{
    entity::{Discussion, Item, ItemKind, Note, NoteKind, State, SystemEvent},
    id::ThreadKind,
    reference::Forge,
    visibility::Visibility,
};
use jiff::Timestamp;

use items::*;

use super::*;
use crate::ledger::Ledger;

struct Fixture {
    lists: Lists,
    _directory: tempfile::TempDir,
}

fn empty() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let lists = Ledger::open(&directory.path().join("ledger.sqlite")).unwrap().lists();
    Fixture { lists, _directory: directory }
}

fn loaded(items: &[GraphChange]) -> Fixture {
    let fixture = empty();
    let mut load = fixture.lists.load().unwrap();
    items.chunks(7).for_each(|batch| load.add(batch).unwrap());
    load.commit(items.len() as u64).unwrap();
    fixture
}

#[test]
fn rows_follow_from_the_items_alone() {
    for seed in 0..30 {
        let mut random = Random(seed);
        let changes = changes(&mut random, 250);
        let items = items_after(&changes);

        let incremental = empty();
        let mut rest = changes.as_slice();
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(1 + random.below(rest.len().min(40)));
            incremental.lists.apply(batch, 1).unwrap();
            incremental.lists.apply(batch, 2).unwrap();
            rest = later;
        }
        let backwards = empty();
        items.rchunks(11).for_each(|batch| backwards.lists.apply(batch, 1).unwrap());
        let whole = loaded(&items);

        let expected = whole.lists.digests(&Visibility::everything()).unwrap();
        // Labels, milestones and ranks need what a few changes may not have.
        let may_be_empty = |table: &str| ["list_labels", "list_milestones", "list_ranks"].contains(&table);
        assert!(expected.iter().all(|table| table.rows > 0 || may_be_empty(table.table)), "{expected:?}");
        assert_eq!(incremental.lists.digests(&Visibility::everything()).unwrap(), expected, "seed {seed}");
        assert_eq!(backwards.lists.digests(&Visibility::everything()).unwrap(), expected, "seed {seed}");
        assert_eq!(whole.lists.applied_seq().unwrap(), items.len() as u64);

        let mut compared = incremental.lists.load().unwrap();
        compared.add(&items).unwrap();
        assert_eq!(compared.into_digests().unwrap(), expected, "seed {seed}");
    }
}

#[test]
fn deleting_every_item_leaves_no_row() {
    let mut random = Random(7);
    let changes = changes(&mut random, 400);
    let fixture = loaded(&items_after(&changes));
    let gone: Vec<GraphChange> = changes.iter().map(|change| GraphChange { item: None, ..change.clone() }).collect();
    fixture.lists.apply(&gone, 1).unwrap();
    for table in fixture.lists.digests(&Visibility::everything()).unwrap() {
        assert_eq!(table.rows, 0, "{}", table.table);
    }
}

#[test]
fn readers_of_public_items_see_lists_in_which_nothing_confidential_ever_was() {
    for seed in 100..120 {
        let items = items_after(&changes(&mut Random(seed), 250));
        let public: Vec<GraphChange> = items.iter().filter(|change| !change.confidential).cloned().collect();
        let seen = loaded(&items).lists.digests(&Visibility::public()).unwrap();
        assert_eq!(seen, loaded(&public).lists.digests(&Visibility::everything()).unwrap(), "seed {seed}");
    }
}

#[test]
fn readers_of_a_project_see_lists_in_which_no_other_ever_was() {
    for seed in 200..220 {
        let items = items_after(&changes(&mut Random(seed), 250));
        let own: Vec<GraphChange> = items.iter().filter(|change| change.project == PROJECTS[0]).cloned().collect();
        let reader = Visibility::of_projects([PROJECTS[0]]).with_confidential();
        let seen = loaded(&items).lists.digests(&reader).unwrap();
        assert_eq!(seen, loaded(&own).lists.digests(&Visibility::everything()).unwrap(), "seed {seed}");
    }
}

/// Every row of a query, read in pages of a size.
fn all_pages(lists: &Lists, query: &ThreadQuery, size: usize, visibility: &Visibility) -> (Vec<ThreadRow>, Total) {
    let mut request = PageRequest { first: size, after: None, with_total: true, from: End::Start };
    let (mut rows, mut total) = (Vec::new(), Total::default());
    loop {
        let page = lists.threads(query, &request, visibility).unwrap();
        assert!(page.rows.len() == size || page.next.is_none());
        total = page.total.unwrap_or(total);
        rows.extend(page.rows);
        let Some(next) = page.next else { return (rows, total) };
        request = PageRequest { first: size, after: Some(next), with_total: false, from: End::Start };
    }
}

/// The same, read from the end.
fn all_pages_from_the_end(lists: &Lists, query: &ThreadQuery, size: usize, visibility: &Visibility) -> Vec<ThreadRow> {
    let mut request = PageRequest { first: size, after: None, with_total: false, from: End::Last };
    let mut rows = Vec::new();
    loop {
        let page = lists.threads(query, &request, visibility).unwrap();
        assert_eq!(page.cursors.len(), page.rows.len());
        rows.splice(..0, page.rows);
        let Some(next) = page.next else { return rows };
        assert_eq!(Some(&next), page.cursors.first());
        request = PageRequest { after: Some(next), ..request };
    }
}

fn is_named(own: &[String], wanted: &[String]) -> bool {
    wanted.is_empty() || own.iter().any(|own| wanted.iter().any(|wanted| wanted.eq_ignore_ascii_case(own)))
}

fn is_in(at: Option<Timestamp>, range: TimeRange) -> bool {
    let is_free = range == TimeRange::default();
    is_free || at.is_some_and(|at| range.from.is_none_or(|from| at >= from) && range.to.is_none_or(|to| at < to))
}

fn is_selected(row: &ThreadRow, filter: &ThreadFilter) -> bool {
    let author: Vec<String> = row.author.iter().cloned().collect();
    (filter.projects.is_empty() || filter.projects.contains(&row.id.project))
        && (filter.states.is_empty() || filter.states.contains(&row.state))
        && is_named(&author, &filter.authors)
        && is_named(&row.assignees, &filter.assignees)
        && is_named(&row.reviewers, &filter.reviewers)
        && is_named(&row.asked, &filter.asked)
        && is_named(&row.participants, &filter.participants)
        && is_named(&row.mentioned, &filter.mentioned)
        && (filter.no_approver.is_empty() || !is_named(&row.approvers, &filter.no_approver))
        && filter.assigned.is_none_or(|assigned| assigned != row.assignees.is_empty())
        && is_named(&row.labels, &filter.any_label)
        && filter.all_labels.iter().all(|label| is_named(&row.labels, std::slice::from_ref(label)))
        && (filter.no_label.is_empty() || !is_named(&row.labels, &filter.no_label))
        && (filter.milestones.is_empty() || row.milestone.is_some_and(|iid| filter.milestones.contains(&iid)))
        && is_in(Some(row.created_at), filter.created)
        && is_in(Some(row.updated_at), filter.updated)
        && is_in(row.merged_at, filter.merged)
        && is_in(row.closed_at, filter.closed)
        && filter.draft.is_none_or(|draft| draft == row.draft)
        && filter.unresolved.is_none_or(|unresolved| unresolved == (row.unresolved > 0))
        && filter.linked.is_none_or(|linked| linked == row.linked)
}

fn order(row: &ThreadRow, order: ThreadOrder) -> Option<i64> {
    let ms = |at: Timestamp| at.as_millisecond();
    match order {
        ThreadOrder::Updated => Some(ms(row.updated_at)),
        ThreadOrder::Created => Some(ms(row.created_at)),
        ThreadOrder::Merged => row.merged_at.map(ms),
        ThreadOrder::Closed => row.closed_at.map(ms),
        ThreadOrder::Number => Some(to_i64(row.id.iid)),
        ThreadOrder::Notes => Some(to_i64(row.notes)),
    }
}

fn random_query(random: &mut Random) -> ThreadQuery {
    let mut filter = ThreadFilter::default();
    for _ in 0..random.below(4) {
        let name = || vec!["ALICE".to_owned(), "dave".to_owned()];
        let range = TimeRange {
            from: random.is_one_in(2).then(|| random.time()),
            to: random.is_one_in(2).then(|| random.time()),
        };
        match random.below(21) {
            0 => filter.projects = random.some(&PROJECTS, 1),
            1 => filter.states = vec![State::Opened, State::Merged],
            2 => filter.authors = name(),
            3 => filter.assignees = name(),
            4 => filter.reviewers = random.some(&PEOPLE, 1),
            5 => filter.participants = random.some(&PEOPLE, 2),
            6 => filter.milestones = vec![1 + random.below(4) as u64],
            7 => filter.any_label = random.some(&["BUG", "feature", "none"], 2),
            8 => filter.all_labels = random.some(&LABELS, 2),
            9 => filter.no_label = random.some(&LABELS, 2),
            10 => filter.created = range,
            11 => filter.updated = range,
            12 => filter.merged = range,
            13 => filter.closed = range,
            14 => filter.draft = Some(random.is_one_in(2)),
            15 => filter.mentioned = random.some(&["ALICE", "eve"], 2),
            16 => filter.no_approver = random.some(&PEOPLE, 2),
            17 => filter.assigned = Some(random.is_one_in(2)),
            18 => filter.unresolved = Some(random.is_one_in(2)),
            19 => filter.asked = random.some(&PEOPLE, 2),
            _ => filter.linked = Some(random.is_one_in(2)),
        }
    }
    ThreadQuery {
        kind: if random.is_one_in(3) { ThreadKind::Issue } else { ThreadKind::MergeRequest },
        filter,
        order: [
            ThreadOrder::Updated,
            ThreadOrder::Created,
            ThreadOrder::Merged,
            ThreadOrder::Closed,
            ThreadOrder::Number,
            ThreadOrder::Notes,
        ][random.below(6)],
        direction: if random.is_one_in(2) { Direction::Ascending } else { Direction::Descending },
    }
}

#[test]
fn pages_and_totals_are_those_of_reading_every_row() {
    let items = items_after(&changes(&mut Random(3), 600));
    let lists = loaded(&items).lists;
    let mut random = Random(11);
    let mut cut = 0;
    for number in 0..2000 {
        let query = random_query(&mut random);
        let visibility = if random.is_one_in(2) { Visibility::everything() } else { Visibility::public() };
        let every_row = ThreadQuery {
            kind: query.kind,
            filter: ThreadFilter::default(),
            order: ThreadOrder::default(),
            direction: Direction::default(),
        };
        let (rows, _) = all_pages(&lists, &every_row, 50, &visibility);
        let mut expected: Vec<ThreadRow> = rows.into_iter().filter(|row| is_selected(row, &query.filter)).collect();
        expected.retain(|row| order(row, query.order).is_some());
        expected.sort_by_key(|row| (order(row, query.order), row.id.project.clone(), row.id.iid));
        if query.direction == Direction::Descending {
            expected.reverse();
        }
        let (found, total) = all_pages(&lists, &query, 1 + random.below(5), &visibility);
        assert_eq!(found, expected, "{number}: {query:?}");
        assert_eq!(
            all_pages_from_the_end(&lists, &query, 1 + random.below(5), &visibility),
            expected,
            "{number}: {query:?}"
        );
        let exact = Total { count: expected.len() as u64, at_least: false };
        assert_eq!(total, exact, "{number}: {query:?}");
        cut += usize::from(counted_up_to(&lists, &query, &visibility, exact.count) != exact);

        let groups = lists.group_threads(&query, ThreadGroup::Label, &visibility).unwrap();
        let mut labels: BTreeMap<String, u64> = BTreeMap::new();
        let (grouped, _) = all_pages(&lists, &ThreadQuery { order: ThreadOrder::Updated, ..query }, 50, &visibility);
        for label in grouped.iter().flat_map(|row| &row.labels) {
            *labels.entry(label.clone()).or_default() += 1;
        }
        let found: BTreeMap<String, u64> = groups.groups.into_iter().map(|group| (group.value, group.count)).collect();
        assert_eq!(found, labels, "{number}");
    }
    assert!(cut > 100, "{cut} totals were cut");
}

/// The total of a list that counts only a few, unless it is on record: what is beyond is said to be there.
fn counted_up_to(lists: &Lists, query: &ThreadQuery, visibility: &Visibility, count: u64) -> Total {
    const FEW: u64 = 3;
    let reader = Reader(visibility);
    let total = lists.read(|connection| query.selection().total(connection, reader, FEW)).unwrap();
    let expected = [Total { count, at_least: false }, Total { count: count.min(FEW), at_least: count > FEW }];
    assert!(expected.contains(&total), "{total:?} of {count}: {query:?}");
    total
}

#[test]
fn asked_is_who_is_or_was_asked_and_not_who_reviewed_unasked() {
    let id = ThreadId::merge_request(PROJECTS[0], 1);
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let request = |reviewers: &[&str], requested: Option<&[&str]>| {
        let mut random = Random(1);
        let Some(Item::MergeRequest(mut item)) = merge_request(&mut random).item else { panic!("a merge request") };
        item.approved_by = vec![];
        (item.id, item.reviewers, item.requested_reviewers) = (id.clone(), named(reviewers), requested.map(named));
        change(PROJECTS[0], ItemKind::MergeRequest, "!1", Item::MergeRequest(item))
    };
    let discussion = |key: &str, notes: Vec<Note>, events: Vec<SystemEvent>| {
        let (thread, web_url) = (id.clone(), String::new());
        let (forge, individual, confidential) = (Forge::GitHub, false, false);
        let item = Discussion { id: key.to_owned(), thread, forge, individual, notes, events, web_url, confidential };
        change(PROJECTS[0], ItemKind::Discussion, &format!("!1~{key}"), Item::Discussion(item))
    };
    let timeline = |asked: &[&str]| {
        let events = asked.iter().map(|name| SystemEvent::ReviewRequested((*name).to_owned())).collect();
        discussion("timeline", vec![], events)
    };
    let note_by = |author: &str| {
        let note = Note {
            id: 1,
            kind: NoteKind::Comment,
            author: Some(author.to_owned()),
            body: "Why?".to_owned(),
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            resolvable: false,
            resolved: false,
            resolved_by: None,
            resolved_at: None,
            position: None,
        };
        discussion("1", vec![note], vec![])
    };
    let fixture = empty();
    let lists = &fixture.lists;
    let asked = || lists.find_threads(std::slice::from_ref(&id), &Visibility::everything()).unwrap()[0].asked.clone();
    // Bob reviewed unasked, carol after she was asked; dave is not asked any more.
    let three = ["alice", "bob", "carol"];
    lists.apply(&[request(&three, Some(&["alice"])), timeline(&["carol", "dave"])], 1).unwrap();
    assert_eq!(asked(), ["alice", "carol"]);
    lists.apply(&[timeline(&["bob"])], 2).unwrap();
    assert_eq!(asked(), ["alice", "bob"]);
    lists.apply(&[GraphChange { item: None, ..timeline(&[]) }], 3).unwrap();
    assert_eq!(asked(), ["alice"]);
    lists.apply(&[request(&["bob"], Some(&[]))], 4).unwrap();
    assert_eq!(asked(), Vec::<String>::new());
    // Where the forge does not tell, a reviewer who has not written yet must have been asked.
    lists.apply(&[request(&three, None)], 5).unwrap();
    assert_eq!(asked(), three);
    lists.apply(&[note_by("bob")], 6).unwrap();
    assert_eq!(asked(), ["alice", "carol"]);
    lists.apply(&[timeline(&["bob"])], 7).unwrap();
    assert_eq!(asked(), three);
}

#[test]
fn what_a_filter_names_twice_counts_once() {
    let lists = loaded(&items_after(&changes(&mut Random(3), 600))).lists;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let all = PageRequest { first: 100, with_total: true, ..PageRequest::default() };
    let filters = [
        ThreadFilter { authors: names(&["alice", "Alice"]), ..ThreadFilter::default() },
        ThreadFilter { milestones: vec![1, 1], ..ThreadFilter::default() },
        ThreadFilter { any_label: names(&["bug", "bug"]), ..ThreadFilter::default() },
    ];
    for visibility in [Visibility::everything(), Visibility::public()] {
        for filter in filters.clone() {
            for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
                let filter = filter.clone();
                let query = ThreadQuery { kind, filter, order: ThreadOrder::Updated, direction: Direction::Descending };
                let page = lists.threads(&query, &all, &visibility).unwrap();
                assert!(!page.rows.is_empty(), "{query:?}");
                assert_eq!(page.total.unwrap().count, page.rows.len() as u64, "{query:?}");
            }
        }
        let of_commits = [
            CommitQuery { authors: names(&["alice@example.com", "ALICE@example.com"]), ..CommitQuery::default() },
            CommitQuery { paths: names(&["src", "src"]), ..CommitQuery::default() },
        ];
        for query in of_commits {
            let page = lists.commits(&query, &all, &visibility).unwrap();
            assert!(!page.rows.is_empty(), "{query:?}");
            assert_eq!(page.total.unwrap().count, page.rows.len() as u64, "{query:?}");
        }
    }
}

// Rows 127 and 140 of docs/requirements.md.
#[test]
fn commits_belong_to_the_request_that_introduced_them_and_are_found_by_directory_and_person() {
    let items = items_after(&changes(&mut Random(5), 600));
    let lists = loaded(&items).lists;
    let all = PageRequest { first: 100, after: None, with_total: true, from: End::Start };
    let page = lists.commits(&CommitQuery::default(), &all, &Visibility::public()).unwrap();
    assert_eq!(page.total.unwrap().count, page.rows.len() as u64);
    assert!(page.rows.iter().any(|commit| commit.merge_request.is_some()));
    let is_in_src = |commit: &&CommitRow| commit.paths.iter().any(|path| path.starts_with("src/"));
    let expected: Vec<CommitRow> = page.rows.iter().filter(is_in_src).cloned().collect();
    let in_src = CommitQuery { paths: vec!["src".to_owned()], ..CommitQuery::default() };
    let found = lists.commits(&in_src, &all, &Visibility::public()).unwrap();
    assert_eq!(found.rows, expected);
    assert_eq!(found.total.unwrap().count, expected.len() as u64);

    // Those of some names, in the order of the list.
    let project = page.rows[0].project.clone();
    let of_project = page.rows.iter().filter(|commit| commit.project == project);
    let named: Vec<CommitRow> = of_project.skip(1).step_by(2).cloned().collect();
    for expected in [named, Vec::new()] {
        let shas = expected.iter().rev().map(|commit| commit.sha.clone()).collect();
        let query = CommitQuery { projects: vec![project.clone()], shas: Some(shas), ..CommitQuery::default() };
        let found = lists.commits(&query, &all, &Visibility::public()).unwrap();
        assert_eq!(found.rows, expected);
        assert_eq!(found.total.unwrap().count, expected.len() as u64);
    }

    let people = lists.people(&PersonQuery::default(), &all, &Visibility::everything()).unwrap();
    assert_eq!(people.total.unwrap().count, people.rows.len() as u64);
    for person in people.rows {
        let authors = vec![person.person.to_uppercase()];
        let by = CommitQuery { authors, kinds: vec![CommitKind::Commit], ..CommitQuery::default() };
        let commits = lists.commits(&by, &all, &Visibility::public()).unwrap();
        assert_eq!(commits.rows.len() as u64, person.commits, "{}", person.person);
    }
}

// Rows 13 and 59 of docs/requirements.md.
#[test]
fn files_are_ranked_and_activity_counts_days() {
    let mut random = Random(9);
    let mut changes = changes(&mut random, 600);
    for _ in 0..40 {
        changes.extend([file(&mut random), importance(&mut random)]);
    }
    let lists = loaded(&items_after(&changes)).lists;
    let all = PageRequest { first: 100, after: None, with_total: true, from: End::Start };
    let files = lists.files(&FileQuery::default(), &all, &Visibility::public()).unwrap().rows;
    assert!(files.is_sorted_by(|a, b| a.importance >= b.importance) && files[0].importance > 0);
    let entities = EntityQuery { names: vec!["OPEN".to_owned()], ..EntityQuery::default() };
    let entities = lists.entities(&entities, &all, &Visibility::public()).unwrap();
    assert!(!entities.rows.is_empty() && entities.rows.iter().all(|entity| entity.short_name == "open"));
    assert!(entities.rows.iter().any(|entity| entity.importance > 0));
    let decisions = FileQuery { paths: vec!["docs".to_owned()], order: FileOrder::Path, ..FileQuery::default() };
    let decisions = lists.files(&decisions, &all, &Visibility::public()).unwrap();
    assert!(decisions.rows.iter().all(|file| file.path == "docs/adr/1.md") && !decisions.rows.is_empty());

    for period in [Period::Day, Period::Week, Period::Month, Period::Year] {
        let activity = lists.activity(&[], period, TimeRange::default(), &Visibility::everything()).unwrap();
        let sum = |count: fn(&Activity) -> u64| activity.iter().map(count).sum::<u64>();
        assert_eq!(sum(|of| of.issues_opened), lists.count(ListKind::Issue, &[], &Visibility::everything()).unwrap());
        assert_eq!(
            sum(|of| of.discussions),
            lists.count(ListKind::Discussion, &[], &Visibility::everything()).unwrap()
        );
        assert!(activity.is_sorted_by_key(|of| of.start));
        let is_year_apart = |pair: &[Activity]| pair[1].start.year() - pair[0].start.year() == 1;
        assert!(period != Period::Year || activity.windows(2).all(is_year_apart), "{activity:?}");
    }
}

#[test]
fn activity_counts_days_that_lie_in_the_time_in_part() {
    let mut random = Random(9);
    let lists = loaded(&items_after(&changes(&mut random, 600))).lists;
    let activity = |from: &str, to: &str| {
        let at = |text: &str| Some(text.parse().unwrap());
        let time = TimeRange { from: at(from), to: at(to) };
        lists.activity(&[], Period::Day, time, &Visibility::everything()).unwrap()
    };
    let whole = lists.activity(&[], Period::Day, TimeRange::default(), &Visibility::everything()).unwrap();
    // Days without anything are there as well.
    let counted: Vec<&Activity> =
        whole.iter().filter(|of| of.issues_opened + of.discussions + of.commits > 0).collect();
    let busy = counted[counted.len() / 2];
    let (day, next) = (busy.start, busy.start.tomorrow().unwrap());
    for (from, to, is_in) in [
        (format!("{day}T00:00:00Z"), format!("{next}T00:00:00Z"), true),
        (format!("{day}T23:00:00Z"), format!("{next}T00:00:00Z"), true),
        (format!("{day}T00:00:00Z"), format!("{day}T00:00:00.001Z"), true),
        (format!("{day}T00:00:00Z"), format!("{day}T23:59:59Z"), true),
        ("2000-01-01T00:00:00Z".to_owned(), format!("{day}T00:00:00Z"), false),
        (format!("{next}T00:00:00Z"), "2100-01-01T00:00:00Z".to_owned(), false),
    ] {
        assert_eq!(activity(&from, &to).contains(busy), is_in, "{from} {to}");
    }
}

#[test]
fn every_period_of_a_range_is_told_also_without_any_row() {
    let lists = loaded(&items_after(&changes(&mut Random(9), 600))).lists;
    let everything = Visibility::everything();
    let range = |from: &str, to: &str| TimeRange {
        from: Some(format!("{from}T10:00:00Z").parse().unwrap()),
        to: Some(format!("{to}T00:00:00Z").parse().unwrap()),
    };
    let weeks = ["2090-02-27", "2090-03-06", "2090-03-13"];
    // A Wednesday, and a Monday that is no more in it.
    let time = range("2090-03-01", "2090-03-20");
    let starts = |found: Vec<Activity>| found.iter().map(|of| of.start.to_string()).collect::<Vec<_>>();
    assert_eq!(starts(lists.activity(&[], Period::Week, time, &everything).unwrap()), weeks);
    let half = TimeRange { to: None, ..time };
    assert_eq!(starts(lists.activity(&[], Period::Week, half, &everything).unwrap()), Vec::<String>::new());
    let empty = range("2090-03-20", "2090-03-01");
    assert_eq!(starts(lists.activity(&[], Period::Week, empty, &everything).unwrap()), Vec::<String>::new());
    let around = range("2023-11-01", "2025-01-31");
    assert_eq!(lists.activity(&[], Period::Day, around, &everything).unwrap().len(), 457);
    assert_eq!(lists.activity(&[], Period::Month, around, &everything).unwrap().len(), 15);

    let filter = ThreadFilter { merged: time, ..ThreadFilter::default() };
    let (order, direction) = (ThreadOrder::default(), Direction::default());
    let query = ThreadQuery { kind: ThreadKind::MergeRequest, filter, order, direction };
    let by_merge = lists.group_threads(&query, ThreadGroup::Merged(Period::Week), &everything).unwrap();
    let told: Vec<(&str, u64)> = by_merge.groups.iter().map(|group| (group.value.as_str(), group.count)).collect();
    assert_eq!((told, by_merge.is_complete), (weeks.map(|week| (week, 0)).to_vec(), true));
    // The range is one of another time.
    let by_creation = lists.group_threads(&query, ThreadGroup::Created(Period::Week), &everything).unwrap();
    assert!(by_creation.groups.is_empty(), "{by_creation:?}");
    let query = CommitQuery { committed: time, ..CommitQuery::default() };
    let commits = lists.group_commits(&query, CommitGroup::Committed(Period::Month), &everything).unwrap();
    assert_eq!(commits.groups.iter().map(|group| group.value.as_str()).collect::<Vec<_>>(), ["2090-03-01"]);
}

/// The groups of a list without a filter come from the record, those of one with a filter from the rows.
#[test]
fn lists_are_grouped_by_project_language_purpose_and_kind() {
    let mut random = Random(11);
    let mut changes = changes(&mut random, 600);
    changes.extend((0..40).map(|_| file(&mut random)));
    let lists = loaded(&items_after(&changes)).lists;
    let everything = Visibility::everything();
    let summed = |groups: &Groups| groups.groups.iter().map(|group| group.count).sum::<u64>();
    let files = FileQuery::default();
    let all = lists.count(ListKind::File, &[], &everything).unwrap();
    for by in [FileGroup::DocumentType, FileGroup::Project] {
        let groups = lists.group_files(&files, by, &everything).unwrap();
        assert!(groups.is_complete && summed(&groups) == all && all > 0, "{groups:?}");
    }
    let languages = lists.group_files(&files, FileGroup::Language, &everything).unwrap();
    assert!(!languages.groups.is_empty() && summed(&languages) <= all, "{languages:?}");
    let kinds = lists.group_entities(&EntityQuery::default(), EntityGroup::Kind, &everything).unwrap();
    assert_eq!(summed(&kinds), lists.count(ListKind::Entity, &[], &everything).unwrap());
    for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
        let query =
            |filter| ThreadQuery { kind, filter, order: ThreadOrder::default(), direction: Direction::default() };
        let recorded = lists.group_threads(&query(ThreadFilter::default()), ThreadGroup::Project, &everything).unwrap();
        // Every row was made after that.
        let created = TimeRange { from: Some(jiff::Timestamp::UNIX_EPOCH), to: None };
        let filter = ThreadFilter { created, ..ThreadFilter::default() };
        let counted = lists.group_threads(&query(filter), ThreadGroup::Project, &everything).unwrap();
        assert!(recorded.groups.len() > 1 && recorded == counted, "{recorded:?} {counted:?}");
    }
}

#[test]
fn a_load_that_is_dropped_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&directory.path().join("ledger.sqlite")).unwrap();
    let files = || std::fs::read_dir(directory.path()).unwrap().count();
    let before = files();
    let mut load = ledger.lists().load().unwrap();
    load.add(&items_after(&changes(&mut Random(1), 50))).unwrap();
    assert!(files() > before);
    drop(load);
    assert_eq!(files(), before);
    assert_eq!(ledger.lists().applied_seq().unwrap(), 0);
    assert!(ledger.lists().digests(&Visibility::everything()).unwrap().iter().all(|table| table.rows == 0));
}

#[test]
fn people_are_ordered_by_what_they_did_and_paged_from_both_ends() {
    let items = items_after(&changes(&mut Random(6), 600));
    let lists = loaded(&items).lists;
    let everything = Visibility::everything();
    type Count = (PersonOrder, fn(&PersonRow) -> u64);
    let counts: [Count; 5] = [
        (PersonOrder::Issues, |person| person.issues),
        (PersonOrder::MergeRequests, |person| person.merge_requests),
        (PersonOrder::Reviews, |person| person.reviews),
        (PersonOrder::Discussions, |person| person.discussions),
        (PersonOrder::Commits, |person| person.commits),
    ];
    for (order, count) in counts {
        let query = PersonQuery { order, ..PersonQuery::default() };
        let all = PageRequest { first: 100, with_total: true, ..PageRequest::default() };
        let all = lists.people(&query, &all, &everything).unwrap();
        assert!(all.rows.is_sorted_by(|a, b| count(a) >= count(b)) && count(&all.rows[0]) > 0, "{order:?}");
        for from in [End::Start, End::Last] {
            let (mut rows, mut request) = (Vec::new(), PageRequest { first: 2, from, ..PageRequest::default() });
            loop {
                let page = lists.people(&query, &request, &everything).unwrap();
                let at = if from == End::Start { rows.len() } else { 0 };
                rows.splice(at..at, page.rows);
                let Some(next) = page.next else { break };
                request.after = Some(next);
            }
            assert_eq!(rows, all.rows, "{order:?} {from:?}");
        }
    }
    let named = lists.person("ALICE", &[], &everything).unwrap().unwrap();
    let ali = PersonQuery { text: Some("ALI".to_owned()), ..PersonQuery::default() };
    let found = lists.people(&ali, &PageRequest { first: 9, ..PageRequest::default() }, &everything).unwrap();
    assert!(found.rows.contains(&named), "{found:?}");
    assert_eq!(lists.person("nobody-at-all", &[], &everything).unwrap(), None);
}

/// The rows of a short list, read at once and in pages from both ends, which must be the same.
fn short_rows<Q: RowQuery<Row: Clone + PartialEq + std::fmt::Debug>>(lists: &Lists, query: &Q) -> Vec<Q::Row> {
    let everything = Visibility::everything();
    let all = PageRequest { first: 100, with_total: true, ..PageRequest::default() };
    let all = query.page(lists, &all, &everything).unwrap();
    assert_eq!(all.total, Some(Total { count: all.rows.len() as u64, at_least: false }));
    assert_eq!(query.total(lists, &everything).unwrap().count, all.rows.len() as u64);
    for from in [End::Start, End::Last] {
        let (mut rows, mut request) = (Vec::new(), PageRequest { first: 1, from, ..PageRequest::default() });
        loop {
            let page = query.page(lists, &request, &everything).unwrap();
            let at = if from == End::Start { rows.len() } else { 0 };
            rows.splice(at..at, page.rows);
            let Some(next) = page.next else { break };
            request.after = Some(next);
        }
        assert_eq!(rows, all.rows, "{from:?}");
    }
    all.rows
}

#[test]
fn labels_milestones_and_projects_are_ordered_by_what_they_have() {
    let lists = loaded(&items_after(&changes(&mut Random(3), 900))).lists;
    let everything = Visibility::everything();
    let projects = vec![PROJECTS[0].to_owned()];
    let threads = |kind, filter| {
        let query = ThreadQuery { kind, filter, order: ThreadOrder::Updated, direction: Direction::Descending };
        query.total(&lists, &everything).unwrap().count
    };
    for (order, kind) in
        [(LabelOrder::Issues, ThreadKind::Issue), (LabelOrder::MergeRequests, ThreadKind::MergeRequest)]
    {
        let query = LabelQuery { projects: projects.clone(), order, ..LabelQuery::default() };
        let counts: Vec<u64> = short_rows(&lists, &query)
            .into_iter()
            .map(|row| {
                let any_label = vec![row.name];
                threads(kind, ThreadFilter { projects: projects.clone(), any_label, ..ThreadFilter::default() })
            })
            .collect();
        assert!(!counts.is_empty() && counts[0] > 0 && counts.is_sorted_by(|a, b| a >= b), "{order:?}: {counts:?}");
    }
    let named = LabelQuery { text: Some("FIRST".to_owned()), ..LabelQuery::default() };
    assert!(short_rows(&lists, &named).iter().all(|row| row.name == "good first issue"));

    let titles =
        MilestoneQuery { projects: projects.clone(), order: MilestoneOrder::Title, ..MilestoneQuery::default() };
    let iids: Vec<u64> = short_rows(&lists, &titles).iter().map(|row| row.iid).collect();
    assert!(iids.is_sorted(), "titles descend where numbers ascend: {iids:?}");
    let [opened, closed, both] = [vec![State::Opened], vec![State::Closed], vec![]]
        .map(|states| short_rows(&lists, &MilestoneQuery { states, ..MilestoneQuery::default() }).len());
    assert!(opened + closed == both, "{opened} {closed} {both}");

    for (order, kind) in
        [(ProjectOrder::Issues, ThreadKind::Issue), (ProjectOrder::MergeRequests, ThreadKind::MergeRequest)]
    {
        let rows = short_rows(&lists, &ProjectQuery { order, ..ProjectQuery::default() });
        let counts: Vec<u64> = rows
            .into_iter()
            .map(|row| threads(kind, ThreadFilter { projects: vec![row.path], ..ThreadFilter::default() }))
            .collect();
        assert!(counts.len() == 2 && counts.is_sorted_by(|a, b| a >= b), "{order:?}: {counts:?}");
    }
    for order in [ProjectOrder::Path, ProjectOrder::Created, ProjectOrder::Updated, ProjectOrder::Commits] {
        assert_eq!(short_rows(&lists, &ProjectQuery { order, ..ProjectQuery::default() }).len(), 2);
    }
    for order in [RefOrder::Name, RefOrder::Date] {
        let (projects, text, direction) = (vec![], Some("V".to_owned()), Direction::Ascending);
        let tags = RefQuery { kind: RefKind::Tag, projects, text, order, direction };
        assert!(short_rows(&lists, &tags).len() > 2, "{order:?}");
    }
}
