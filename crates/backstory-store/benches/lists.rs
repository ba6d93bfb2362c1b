//! Pages and totals of lists of 1,000 to 1,000,000 merge requests: how long they take, and how much longer the slowest list
//! takes than the fastest. All lists are asked in turns. A page that is not full tells nothing of its list and is left out.
//!
//! `cargo bench --profile dev --workspace --bench lists [-- LARGEST]` prints a table; LARGEST is the most merge requests,
//! 1,000,000 unless it is given. Exits 1 if the slowest list takes more than 1.5 times as long as the fastest for a page or a
//! total without filter or with one that is indexed, or if there is only one list.

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::{collections::BTreeMap, error::Error, time::Instant};

use backstory_model::{
    entity::{Item, ItemKind, MergeRequest, State, Thread},
    id::{ThreadId, ThreadKind},
    reference::Forge,
    visibility::Visibility,
};
use backstory_store::{
    graph::GraphChange,
    ledger::Ledger,
    lists::{End, Lists, PageRequest, Period, ThreadFilter, ThreadGroup, ThreadOrder, ThreadQuery, TimeRange},
};
use jiff::Timestamp;

const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
const PROJECT: &str = "acme/shop";
/// How often each request is made; the median counts.
const ROUNDS: usize = 200;
/// How much longer the slowest list may take than the fastest.
const MOST: f64 = 1.5;
/// Rows of a page.
const FIRST: usize = 50;
/// Merge requests that are loaded at once.
const BATCH: u64 = 10_000;
/// Over how long they were opened.
const SECONDS: u64 = 10 * 365 * 86_400;

/// A number below a limit that looks random and is the same in every run.
fn below(limit: u64, seed: u64) -> u64 {
    let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb) % limit
}

fn time(second: u64) -> Timestamp {
    Timestamp::from_second(1_400_000_000 + second as i64).unwrap_or_default()
}

/// One of all merge requests, which are spread over the same time, people and labels however many there are.
fn merge_request(iid: u64, of: u64) -> GraphChange {
    let chance = |limit, salt| below(limit, iid * 31 + salt);
    let created = iid * SECONDS / of;
    let updated = created + chance(90 * 86_400, 1);
    let state = [State::Merged, State::Merged, State::Merged, State::Closed, State::Opened][chance(5, 2) as usize];
    // A few names are frequent, most are rare.
    let person = |salt| format!("person{}", chance(chance(500, salt) + 1, salt + 1));
    let thread = Thread {
        forge: Forge::GitLab,
        title: format!("Merge request {iid} changes something that somebody asked for"),
        description: String::new(),
        state,
        author: Some(person(3)),
        labels: vec![format!("label{}", chance(chance(100, 5) + 1, 6)), "reviewed".to_owned()],
        milestone: Some(iid * 50 / of),
        assignees: vec![person(7)],
        created_at: time(created),
        updated_at: time(updated),
        closed_at: (state == State::Closed).then(|| time(updated)),
        closed_by: None,
        web_url: String::new(),
        notes_count: 0,
        confidential: false,
    };
    let id = ThreadId::merge_request(PROJECT, iid);
    let key = id.local_reference();
    let item = Item::MergeRequest(MergeRequest {
        id,
        thread,
        source_branch: "topic".to_owned(),
        target_branch: "main".to_owned(),
        draft: chance(10, 8) == 0,
        reviewers: vec![person(9)],
        requested_reviewers: None,
        approved_by: vec![],
        merged_at: (state == State::Merged).then(|| time(updated)),
        merged_by: None,
        head_sha: None,
        merge_commit_sha: None,
        squash_commit_sha: None,
        closes: vec![],
        files: vec![],
    });
    GraphChange {
        project: PROJECT.to_owned(),
        kind: ItemKind::MergeRequest,
        key,
        confidential: false,
        item: Some(item),
    }
}

fn queries() -> Vec<(&'static str, ThreadFilter, ThreadOrder)> {
    let names = |name: &str| vec![name.to_owned()];
    let none = ThreadFilter::default();
    vec![
        ("all, last changed", none.clone(), ThreadOrder::Updated),
        ("all, opened", none.clone(), ThreadOrder::Created),
        ("all, merged", none.clone(), ThreadOrder::Merged),
        ("all, number", none.clone(), ThreadOrder::Number),
        ("open", ThreadFilter { states: vec![State::Opened], ..none.clone() }, ThreadOrder::Updated),
        ("frequent author", ThreadFilter { authors: names("PERSON0"), ..none.clone() }, ThreadOrder::Updated),
        ("rare author", ThreadFilter { authors: names("person300"), ..none.clone() }, ThreadOrder::Created),
        ("reviewer", ThreadFilter { reviewers: names("person7"), ..none.clone() }, ThreadOrder::Updated),
        ("assignee", ThreadFilter { assignees: names("person7"), ..none.clone() }, ThreadOrder::Created),
        ("frequent label", ThreadFilter { any_label: names("reviewed"), ..none.clone() }, ThreadOrder::Created),
        ("label", ThreadFilter { any_label: names("label9"), ..none.clone() }, ThreadOrder::Updated),
        ("milestone", ThreadFilter { milestones: vec![25], ..none.clone() }, ThreadOrder::Updated),
        ("drafts", ThreadFilter { draft: Some(true), ..none.clone() }, ThreadOrder::Updated),
        ("no drafts", ThreadFilter { draft: Some(false), ..none.clone() }, ThreadOrder::Updated),
        ("stale", stale(&none), ThreadOrder::Updated),
        // Not within the bound: two filters, of which one index knows one.
        ("author and label", both(&none), ThreadOrder::Updated),
    ]
}

fn stale(none: &ThreadFilter) -> ThreadFilter {
    let updated = TimeRange { from: None, to: Some(time(SECONDS / 2)) };
    ThreadFilter { updated, states: vec![State::Opened], ..none.clone() }
}

fn both(none: &ThreadFilter) -> ThreadFilter {
    ThreadFilter { authors: vec!["person0".to_owned()], any_label: vec!["label0".to_owned()], ..none.clone() }
}

/// What a list is asked for.
enum Request {
    Page(ThreadQuery, PageRequest),
    Groups(ThreadQuery, ThreadGroup),
}

impl Request {
    fn send(&self, lists: &Lists) -> Result<(), Box<dyn Error>> {
        let everything = Visibility::everything();
        match self {
            Self::Page(query, page) => drop(lists.threads(query, page, &everything)?),
            Self::Groups(query, by) => drop(lists.group_threads(query, *by, &everything)?),
        }
        Ok(())
    }
}

/// What every list is asked for, by name; a list too short for a page is not asked for it.
fn requests(lists: &Lists) -> Result<BTreeMap<String, Request>, Box<dyn Error>> {
    let everything = Visibility::everything();
    let mut requests = BTreeMap::new();
    for (name, filter, order) in queries() {
        let query = ThreadQuery { kind: ThreadKind::MergeRequest, filter, order, direction: Default::default() };
        let first = PageRequest { first: FIRST, after: None, with_total: false, from: End::Start };
        let total = PageRequest { first: 0, with_total: true, ..first.clone() };
        requests.insert(format!("total: {name}"), Request::Page(query.clone(), total));
        let page = lists.threads(&query, &first, &everything)?;
        let Some(after) = page.next else { continue };
        let next = PageRequest { after: Some(after), ..first.clone() };
        requests.insert(format!("page: {name}"), Request::Page(query.clone(), first));
        if lists.threads(&query, &next, &everything)?.next.is_some() {
            requests.insert(format!("next: {name}"), Request::Page(query, next));
        }
    }
    let all = ThreadQuery {
        kind: ThreadKind::MergeRequest,
        filter: ThreadFilter::default(),
        order: ThreadOrder::default(),
        direction: Default::default(),
    };
    for (name, by) in [("label", ThreadGroup::Label), ("month", ThreadGroup::Created(Period::Month))] {
        requests.insert(format!("groups: {name}"), Request::Groups(all.clone(), by));
    }
    Ok(requests)
}

/// Median of what each list needs for a request, in microseconds, if it is asked for it; all take turns.
fn medians(lists: &[(&Lists, Option<&Request>)]) -> Result<Vec<Option<f64>>, Box<dyn Error>> {
    let mut times = vec![Vec::with_capacity(ROUNDS); lists.len()];
    for round in 0..=ROUNDS {
        for ((lists, request), times) in lists.iter().zip(&mut times) {
            let Some(request) = request else { continue };
            let start = Instant::now();
            request.send(lists)?;
            // The first round warms up.
            if round > 0 {
                times.push(start.elapsed());
            }
        }
    }
    times.iter_mut().for_each(|times| times.sort());
    Ok(times.iter().map(|times| Some(times.get(ROUNDS / 2)?.as_secs_f64() * 1e6)).collect())
}

/// Whether the time may not grow with the list: not where rows are counted up to a limit, or filtered twice.
fn is_bounded(request: &str) -> bool {
    !(request.starts_with("groups") || request.ends_with("author and label") || request == "total: stale")
}

fn main() -> Result<(), Box<dyn Error>> {
    let largest = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(u64::MAX);
    let mut filled = Vec::new();
    for size in SIZES.into_iter().filter(|size| *size <= largest) {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("ledger.sqlite");
        let lists = Ledger::open(&path)?.lists();
        let start = Instant::now();
        let mut load = lists.load()?;
        for first in (1..=size).step_by(BATCH as usize) {
            let batch: Vec<GraphChange> =
                (first..(first + BATCH).min(size + 1)).map(|iid| merge_request(iid, size)).collect();
            load.add(&batch)?;
        }
        load.commit(1)?;
        let loaded = start.elapsed();
        let start = Instant::now();
        let changed: Vec<GraphChange> = (1..=250).map(|number| merge_request(number * size / 250, size + 1)).collect();
        lists.apply(&changed, 2)?;
        println!(
            "{size} merge requests: filled in {:.1} s, 250 changed in {:.0} ms, {} MB",
            loaded.as_secs_f64(),
            start.elapsed().as_secs_f64() * 1e3,
            std::fs::metadata(&path)?.len() >> 20
        );
        filled.push((size, requests(&lists)?, lists, directory));
    }
    let Some((_, names, ..)) = filled.last().filter(|_| filled.len() > 1) else {
        return Err(format!("LARGEST must be at least {}, for two lists to compare", SIZES[1]).into());
    };
    print!("\n{:<32}", "median, µs");
    filled.iter().for_each(|(size, ..)| print!("{size:>12}"));
    println!("{:>12}", "slowest");
    let mut missed = Vec::new();
    for name in names.keys() {
        let asked: Vec<_> = filled.iter().map(|(_, requests, lists, _)| (lists, requests.get(name))).collect();
        let times = medians(&asked)?;
        print!("{name:<32}");
        times.iter().for_each(|time| print!("{:>12}", time.map_or("-".to_owned(), |time| format!("{time:.0}"))));
        let times: Vec<f64> = times.into_iter().flatten().collect();
        let [_, _, ..] = times[..] else {
            println!("{:>12}", "-");
            continue;
        };
        let slowest = times.iter().copied().fold(0.0, f64::max) / times.iter().copied().fold(f64::MAX, f64::min);
        println!("{slowest:>11.2}x");
        if slowest > MOST && is_bounded(name) {
            missed.push(format!("{name}: {slowest:.2}"));
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("more than {MOST} times: {}", missed.join(", ")).into()) }
}
