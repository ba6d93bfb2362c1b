//! Durations of issues and merge requests against what reading every row gives.

use super::*;

/// How long a row took, in whole seconds; `None` if what is measured has not happened.
fn duration(row: &ThreadRow, kind: DurationKind) -> Option<u64> {
    let until = match kind {
        DurationKind::ToClose => row.closed_at?,
        DurationKind::ToMerge => row.merged_at?,
        DurationKind::ToFirstReview => row.first_reviewed_at?,
    };
    Some(u64::try_from(until.duration_since(row.created_at).as_secs()).unwrap_or(0))
}

#[test]
fn durations_are_those_of_reading_every_row() {
    type Grouping = (Option<ThreadGroup>, fn(&ThreadRow) -> Vec<String>);
    let groupings: [Grouping; 4] = [
        (None, |_| vec![String::new()]),
        (Some(ThreadGroup::Author), |row| row.author.iter().cloned().collect()),
        (Some(ThreadGroup::Label), |row| row.labels.clone()),
        (Some(ThreadGroup::Created(Period::Day)), |row| vec![row.created_at.to_string()[..10].to_owned()]),
    ];
    let lists = loaded(&items_after(&changes(&mut Random(4), 600))).lists;
    let mut random = Random(12);
    let mut without_duration = 0;
    for number in 0..500 {
        let query = ThreadQuery { order: ThreadOrder::Updated, ..random_query(&mut random) };
        let kind = [DurationKind::ToClose, DurationKind::ToMerge, DurationKind::ToFirstReview][number % 3];
        let visibility = if random.is_one_in(2) { Visibility::everything() } else { Visibility::public() };
        let (rows, _) = all_pages(&lists, &query, 50, &visibility);
        without_duration += rows.iter().filter(|row| duration(row, kind) == Some(0)).count();
        for (by, groups_of) in groupings {
            let mut expected: BTreeMap<String, Vec<u64>> = BTreeMap::new();
            for row in &rows {
                for group in groups_of(row) {
                    expected.entry(group).or_default().extend(duration(row, kind));
                }
            }
            expected.retain(|_, seconds| !seconds.is_empty());
            let groups = expected.into_iter().map(|(group, seconds)| (group, Durations::of(seconds))).collect();
            let found = lists.measure_durations(&query, kind, by, &visibility).unwrap();
            assert_eq!(found, GroupDurations { groups, is_complete: true }, "{number} {kind:?} {by:?}: {query:?}");
        }
    }
    assert!(without_duration > 100, "only {without_duration} ended before they were opened, or at once");
}

/// The same changes, with some discussions of programs and deleted accounts, and some confidential merge requests.
fn with_other_authors(random: &mut Random, mut changes: Vec<GraphChange>) -> Vec<GraphChange> {
    for change in &mut changes {
        match &mut change.item {
            Some(Item::Discussion(discussion)) => {
                let author = match random.below(3) {
                    0 => None,
                    1 => Some("renovate[bot]".to_owned()),
                    _ => continue,
                };
                for note in &mut discussion.notes {
                    note.author.clone_from(&author);
                }
            }
            Some(item @ Item::MergeRequest(_)) if random.is_one_in(4) => {
                item.set_confidential();
                change.confidential = true;
            }
            _ => {}
        }
    }
    changes
}

/// Discussions come, change, become confidential and go, and so do merge requests.
#[test]
fn first_reviews_are_those_of_the_items_after_every_change() {
    let mut random = Random(13);
    let changes = changes(&mut random, 400);
    let changes = with_other_authors(&mut random, changes);
    let everything = Visibility::everything();
    let fixture = empty();
    let (mut applied, mut reviewed, mut only_noted) = (0, 0, 0);
    for batch in changes.chunks(5) {
        fixture.lists.apply(batch, 1).unwrap();
        applied += batch.len();
        let items = items_after(&changes[..applied]);
        for change in &items {
            let Some(Item::MergeRequest(request)) = &change.item else { continue };
            let discussions = items.iter().filter_map(|change| match &change.item {
                Some(Item::Discussion(discussion)) if discussion.thread == request.id => Some(discussion),
                _ => None,
            });
            let row = fixture.lists.find_threads(std::slice::from_ref(&request.id), &everything).unwrap().remove(0);
            assert_eq!(row.first_reviewed_at, request.first_reviewed_at(discussions), "{} {applied}", request.id);
            reviewed += usize::from(row.first_reviewed_at.is_some());
            only_noted += usize::from(row.first_reviewed_at.is_none() && row.notes > 0);
        }
    }
    assert!(reviewed > 0 && only_noted > 0, "{reviewed} {only_noted}");
}
