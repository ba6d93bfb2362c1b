//! The people who know a file or directory: those who wrote its lines, changed it, or reviewed its changes.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry};

use backstory_model::{
    commit::RepoPath,
    entity::Item,
    id::{NodeId, ThreadId},
    lineage::{Lineage, OriginFlags},
    repository::identity_key,
};
use backstory_sources::git::objects::ObjectError;
use backstory_store::lists::{CommitKind, CommitQuery, CommitRow, MAX_PAGE, PageRequest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    read::item_of_node,
    records::commit_record,
    resources::Resources,
    trace::{
        Revision,
        target::{lineage_at, no_such_path, resolve_place},
    },
    use_case::{UseCase, Weight},
};

/// Most people of one answer.
pub const MAX_CONTRIBUTORS: usize = 200;
/// Most commits that are read, the newest.
const MAX_COMMITS: usize = 10_000;
/// Most merge requests whose reviewers are read, the newest.
const MAX_REVIEWED: usize = 500;

/// Requests who knows a file or directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContributorsRequest {
    /// Full path of the project; may be absent where there is only one repository.
    #[serde(default)]
    pub project: Option<String>,
    /// Path of a file or directory at the indexed head; the whole repository if empty.
    #[serde(default)]
    pub path: String,
    /// Most people, at most 200; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

impl UseCase for ContributorsRequest {
    const NAME: &'static str = "contributors";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Contributors;

    async fn run(self, resources: &Resources) -> Result<Contributors> {
        resources.blocking(move |resources| find_contributors(resources, &self)).await
    }
}

/// Who knows a file or directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contributors {
    /// Those with most of its lines first, then with most commits, then with most reviews.
    pub people: Vec<Contributor>,
    /// How many there are besides.
    pub left_out: usize,
    /// How many commits were read.
    pub commits: usize,
    /// What was not read, a sentence each.
    pub missing: Vec<String>,
}

/// Somebody who knows a file or directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contributor {
    /// The person: of several identities the one that they are merged to.
    pub person: NodeId,
    /// Lines of the file that they wrote; null for a directory.
    pub lines: Option<u32>,
    /// Commits that changed it, without merges.
    pub commits: usize,
    /// Lines that these add, in all files.
    pub insertions: u64,
    /// Lines that these remove, in all files.
    pub deletions: u64,
    /// When they wrote the first of these; null without commits.
    pub first_at: Option<Timestamp>,
    /// When they wrote the last of these.
    pub last_at: Option<Timestamp>,
    /// Merge requests with such commits of others that they reviewed or approved.
    pub reviews: usize,
}

/// Returns who knows a file or directory.
///
/// # Errors
/// There is no such path, or a store cannot be read.
fn find_contributors(resources: &Resources, request: &ContributorsRequest) -> Result<Contributors> {
    if request.limit > MAX_CONTRIBUTORS {
        return Err(Error::invalid(format!("{} people were asked for; at most {MAX_CONTRIBUTORS}", request.limit)));
    }
    let place = resolve_place(resources, request.project.as_deref(), None)?;
    let path = request.path.trim_end_matches('/');
    let lineage = lineage_of_file(resources, &place, path)?;
    let mut paths = BTreeSet::from([path.to_owned()]);
    if let Some(lineage) = &lineage {
        let spans = lineage.spans().as_slice().iter();
        let own =
            spans.filter(|span| !span.seen.contains(OriginFlags::MOVED) && !span.seen.contains(OriginFlags::COPIED));
        paths.extend(own.map(|span| lineage.sources()[span.source as usize].path.to_string()));
    }
    paths.retain(|path| !path.is_empty());
    let mut count = Count { resources, place: &place, people: HashMap::new(), told: BTreeMap::new() };
    let (rows, is_cut) = read_commits(resources, &place, paths.into_iter().collect())?;
    for row in &rows {
        count.add_commit(row)?;
    }
    if let Some(lineage) = &lineage {
        count.add_lines(lineage, &rows)?;
    }
    let threads: BTreeSet<u64> = rows.iter().filter_map(|row| row.merge_request).collect();
    for iid in threads.iter().rev().take(MAX_REVIEWED) {
        count.add_reviews(*iid)?;
    }
    let mut missing = Vec::new();
    if is_cut {
        missing.push(format!("commits before the newest {MAX_COMMITS}"));
    }
    if threads.len() > MAX_REVIEWED {
        missing.push(format!("reviews of merge requests before the newest {MAX_REVIEWED}"));
    }
    let mut people: Vec<Contributor> = count.told.into_values().collect();
    let weight = |of: &Contributor| (of.lines, of.commits, of.reviews);
    people.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.person.cmp(&b.person)));
    let left_out = people.len().saturating_sub(request.limit);
    people.truncate(request.limit);
    Ok(Contributors { people, left_out, commits: rows.len(), missing })
}

/// Where the lines of a file come from; `None` for a directory, and for a file without lines.
fn lineage_of_file(resources: &Resources, place: &Revision, path: &str) -> Result<Option<std::sync::Arc<Lineage>>> {
    if path.is_empty() {
        return Ok(None);
    }
    match place.objects.entry(place.commit, &RepoPath::from_escaped(path)) {
        // What cannot be blamed, such as an image, still has commits.
        Ok(entry) if entry.mode.is_file() => Ok(lineage_at(resources, place, path).ok()),
        Ok(_) => Ok(None),
        Err(ObjectError::NoSuchPath { .. }) => Err(no_such_path(resources, place, path)?),
        Err(error) => Err(error.into()),
    }
}

/// The commits that change one of the paths, the newest first, and whether there are more.
fn read_commits(resources: &Resources, place: &Revision, paths: Vec<String>) -> Result<(Vec<CommitRow>, bool)> {
    let lists = resources.ledger().lists();
    let query = CommitQuery {
        projects: vec![place.project().to_owned()],
        kinds: vec![CommitKind::Commit],
        paths,
        ..CommitQuery::default()
    };
    let mut request = PageRequest { first: MAX_PAGE, ..PageRequest::default() };
    let mut rows = Vec::new();
    while rows.len() < MAX_COMMITS {
        let page = lists.commits(&query, &request, resources.visibility())?;
        rows.extend(page.rows);
        match page.next {
            Some(next) => request.after = Some(next),
            None => return Ok((rows, false)),
        }
    }
    Ok((rows, true))
}

/// What people did, while it is counted.
struct Count<'a> {
    resources: &'a Resources,
    place: &'a Revision,
    /// The person of each identity that was met.
    people: HashMap<String, String>,
    told: BTreeMap<String, Contributor>,
}

impl Count<'_> {
    fn contributor(&mut self, key: &str) -> Result<&mut Contributor> {
        let person = match self.people.get(key) {
            Some(person) => person.clone(),
            None => {
                let lists = self.resources.ledger().lists();
                let found = lists.person_of(key, self.resources.visibility())?;
                let person = found.unwrap_or_else(|| key.to_owned());
                self.people.insert(key.to_owned(), person.clone());
                person
            }
        };
        Ok(self.told.entry(person.clone()).or_insert_with(|| Contributor {
            person: NodeId::person(person),
            lines: None,
            commits: 0,
            insertions: 0,
            deletions: 0,
            first_at: None,
            last_at: None,
            reviews: 0,
        }))
    }

    fn add_commit(&mut self, row: &CommitRow) -> Result<()> {
        let contributor = self.contributor(&row.author)?;
        contributor.commits += 1;
        contributor.insertions += row.insertions;
        contributor.deletions += row.deletions;
        let at = Some(row.authored_at);
        contributor.first_at = contributor.first_at.map_or(at, |first| at.min(Some(first)));
        contributor.last_at = contributor.last_at.max(at);
        Ok(())
    }

    /// Counts lines of the file for those who wrote them. Commits that are not among the rows wrote them in other files.
    fn add_lines(&mut self, lineage: &Lineage, rows: &[CommitRow]) -> Result<()> {
        let mut authors: HashMap<String, String> =
            rows.iter().map(|row| (row.sha.clone(), row.author.clone())).collect();
        for contributor in self.told.values_mut() {
            contributor.lines = Some(0);
        }
        for span in lineage.spans().as_slice() {
            let sha = lineage.sources()[span.source as usize].commit.to_string();
            let author = match authors.entry(sha) {
                Entry::Occupied(known) => known.into_mut().clone(),
                Entry::Vacant(slot) => {
                    // A commit that is not kept has no author here.
                    let record = commit_record(self.resources, self.place.project(), slot.key())?;
                    let Some(record) = record else { continue };
                    let author = &record.commit.author;
                    slot.insert(identity_key(&author.name, &author.email)).clone()
                }
            };
            let lines = &mut self.contributor(&author)?.lines;
            *lines = Some(lines.unwrap_or(0) + span.lines);
        }
        Ok(())
    }

    /// Counts a merge request for its reviewers other than its author.
    fn add_reviews(&mut self, iid: u64) -> Result<()> {
        let id = ThreadId::merge_request(self.place.project(), iid);
        let Some(Item::MergeRequest(mr)) = item_of_node(self.resources, &id.into())? else { return Ok(()) };
        let reviewers: BTreeSet<&String> = mr.reviewers.iter().chain(&mr.approved_by).collect();
        for reviewer in reviewers {
            if Some(reviewer) != mr.thread.author.as_ref() {
                self.contributor(reviewer)?.reviews += 1;
            }
        }
        Ok(())
    }
}
