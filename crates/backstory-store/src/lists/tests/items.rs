//! Items at random, the same in every run, with all that the lists read of them.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    code::{CodeAnalysis, ContentAnalysis, Entity, EntityKind, FileAnalysis, Language, Lines, TestRole},
    commit::{Branch, ChangeStatus, Commit, FileChange, ObjectKind, RepoPath, Sha, Signature, Tag},
    entity::{
        Discussion, Issue, Item, ItemKind, Label, MergeRequest, Milestone, Note, NoteKind, Person, Position, Project,
        State, SystemEvent, Thread,
    },
    id::{NodeId, ThreadId, ThreadKind},
    reference::Forge,
    repository::{
        CodeRanks, CommitIdentity, CommitRecord, HeadFile, IndexedBranch, Merge, Record, Repository, RepositoryItem,
        code_key,
    },
};
use jiff::Timestamp;

use crate::graph::GraphChange;

pub(super) const PROJECTS: [&str; 2] = ["acme/shop", "acme/web"];
pub(super) const PEOPLE: [&str; 5] = ["alice", "bob", "carol", "Dave", "eve"];
pub(super) const LABELS: [&str; 4] = ["bug", "Feature", "docs", "good first issue"];

/// A sequence of numbers that is the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    pub(super) fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    pub(super) fn some(&mut self, of: &[&str], most: usize) -> Vec<String> {
        (0..self.below(most + 1)).map(|_| self.pick(of).to_owned()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(super) fn is_one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    /// A time that others may have too.
    pub(super) fn time(&mut self) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + self.below(60) as i64 * 86_400).unwrap()
    }
}

pub(super) fn sha(number: usize) -> Sha {
    format!("{number:040x}").parse().unwrap()
}

pub(super) fn change(project: &str, kind: ItemKind, key: &str, item: Item) -> GraphChange {
    GraphChange { project: project.to_owned(), kind, key: key.to_owned(), confidential: false, item: Some(item) }
}

pub(super) fn thread(random: &mut Random, state: State) -> Thread {
    Thread {
        forge: Forge::GitLab,
        title: format!("title {}", random.below(100)),
        description: random.some(&["@alice and", "`@bob`", "@eve"], 2).join(" "),
        state,
        author: (!random.is_one_in(8)).then(|| random.pick(&PEOPLE).to_owned()),
        labels: random.some(&LABELS, 3),
        milestone: random.is_one_in(2).then(|| 1 + random.below(3) as u64),
        assignees: random.some(&PEOPLE, 2),
        created_at: random.time(),
        updated_at: random.time(),
        closed_at: (state == State::Closed).then(|| random.time()),
        closed_by: None,
        web_url: "https://forge.example/1".to_owned(),
        notes_count: 0,
        confidential: false,
    }
}

pub(super) fn issue(random: &mut Random) -> GraphChange {
    let id = ThreadId::issue(random.pick(&PROJECTS), 1 + random.below(12) as u64);
    let state = if random.is_one_in(2) { State::Opened } else { State::Closed };
    let closers = (0..random.below(2)).map(|_| merge_request_id(random)).collect();
    let item = Issue {
        id: id.clone(),
        thread: thread(random, state),
        related: vec![],
        closed_by_requests: closers,
        links: vec![],
    };
    let confidential = random.is_one_in(4);
    GraphChange { confidential, ..change(&id.project, ItemKind::Issue, &id.local_reference(), Item::Issue(item)) }
}

pub(super) fn merge_request_id(random: &mut Random) -> ThreadId {
    ThreadId::merge_request(random.pick(&PROJECTS), 1 + random.below(8) as u64)
}

pub(super) fn merge_request(random: &mut Random) -> GraphChange {
    let id = merge_request_id(random);
    let state = [State::Opened, State::Closed, State::Merged][random.below(3)];
    let closes = (0..random.below(3)).map(|_| ThreadId::issue(random.pick(&PROJECTS), 1 + random.below(12) as u64));
    let mut item = MergeRequest {
        id: id.clone(),
        closes: closes.collect(),
        thread: thread(random, state),
        source_branch: "topic".to_owned(),
        target_branch: "main".to_owned(),
        draft: random.is_one_in(4),
        reviewers: random.some(&PEOPLE, 2),
        requested_reviewers: None,
        approved_by: random.some(&PEOPLE, 1),
        merged_at: (state == State::Merged).then(|| random.time()),
        merged_by: None,
        head_sha: None,
        merge_commit_sha: Some(sha(1 + random.below(10)).to_string()),
        squash_commit_sha: None,
        files: vec![],
    };
    if id.iid.is_multiple_of(2) {
        item.requested_reviewers = Some(item.reviewers.iter().take(1).cloned().collect());
    }
    change(&id.project, ItemKind::MergeRequest, &id.local_reference(), Item::MergeRequest(item))
}

pub(super) fn discussion(random: &mut Random) -> GraphChange {
    let thread = if random.is_one_in(2) {
        merge_request_id(random)
    } else {
        ThreadId::issue(random.pick(&PROJECTS), 1 + random.below(12) as u64)
    };
    let resolvable = thread.kind == ThreadKind::MergeRequest && random.is_one_in(2);
    let resolved = random.is_one_in(2);
    let note = |random: &mut Random, number: u64| Note {
        id: number,
        kind: NoteKind::Discussion,
        author: Some(random.pick(&PEOPLE).to_owned()),
        body: random.some(&["ask @alice", "@carol!"], 1).join(" "),
        created_at: random.time(),
        updated_at: random.time(),
        resolvable,
        resolved,
        resolved_by: None,
        resolved_at: None,
        position: resolvable.then(|| Position {
            old_path: "src/a.rs".to_owned(),
            new_path: "src/a.rs".to_owned(),
            old_lines: None,
            new_lines: Some((3, 4)),
            base_sha: None,
            head_sha: None,
        }),
    };
    let notes: Vec<Note> = (0..random.below(4) as u64).map(|number| note(random, number)).collect();
    let events = match random.below(3) {
        0 => vec![SystemEvent::ClosedBy(merge_request_id(random).into())],
        1 => vec![SystemEvent::ClosedBy(NodeId::commit(&thread.project, &sha(1).to_string()))],
        _ => vec![SystemEvent::ReviewRequested("carol".to_owned())],
    };
    let id = format!("{:x}", random.below(6));
    let key = format!("{}~{id}", thread.local_reference());
    let confidential = random.is_one_in(4);
    let discussion = Discussion {
        id,
        thread: thread.clone(),
        forge: Forge::GitLab,
        individual: false,
        notes,
        events,
        web_url: String::new(),
        confidential,
    };
    GraphChange { confidential, ..change(&thread.project, ItemKind::Discussion, &key, Item::Discussion(discussion)) }
}

pub(super) fn record(project: &str, record: Record) -> Item {
    let repository = Repository {
        address: "/srv/shop.git".to_owned(),
        forge: Forge::GitLab,
        forge_url: "https://forge.example".to_owned(),
        default_branch: None,
        shallow: false,
    };
    Item::Repository(RepositoryItem { project: project.to_owned(), repository: repository.into(), record })
}

pub(super) fn commit(random: &mut Random) -> GraphChange {
    let project = random.pick(&PROJECTS);
    let sha = sha(1 + random.below(10));
    let message = match random.below(4) {
        0 => format!("Fix a bug\n\nCloses #{}", 1 + random.below(12)),
        1 => format!("Add a feature\n\nSee merge request {project}!{}", 1 + random.below(8)),
        _ => "Change something".to_owned(),
    };
    let signature = |random: &mut Random| {
        let person = random.pick(&PEOPLE).to_lowercase();
        Signature { email: format!("{person}@example.com"), name: person, at: random.time(), offset_minutes: 0 }
    };
    let paths = random.some(&["src/a.rs", "src/net/b.rs", "docs/c.md", "README.md"], 3);
    let changes = paths.iter().map(|path| FileChange {
        path: RepoPath::from_escaped(path.as_str()),
        old_path: None,
        status: ChangeStatus::Modified,
        similarity: None,
        old: None,
        new: None,
        lines: None,
    });
    let commit = Commit {
        sha,
        tree: Sha::ZERO,
        parents: vec![],
        author: signature(random),
        committer: signature(random),
        message,
        changes: changes.collect(),
        identifiers: vec![],
        secrets: Default::default(),
        removed_words: None,
        incomplete: None,
    };
    let rewritten = random.is_one_in(6);
    let commit = CommitRecord { commit, entities: vec![], named: BTreeMap::new(), rewritten, corrected_at: None };
    change(project, ItemKind::Commit, &sha.to_string(), record(project, Record::Commit(Box::new(commit))))
}

pub(super) fn merge(random: &mut Random) -> GraphChange {
    let project = random.pick(&PROJECTS);
    let (merge, first) = (1 + random.below(4), 4 + random.below(4));
    let introduced = (first..first + 3).filter(|number| *number != merge).map(sha).collect();
    let requests = if random.is_one_in(3) { vec![1 + random.below(3) as u64] } else { vec![] };
    let item = record(project, Record::Merge(Merge { sha: sha(merge), brought: introduced, requests }));
    change(project, ItemKind::Merge, &sha(merge).to_string(), item)
}

pub(super) fn file(random: &mut Random) -> GraphChange {
    let project = random.pick(&PROJECTS);
    let path = random.pick(&["src/a.rs", "src/net/b.rs", "docs/adr/1.md", "odd#name.rs"]);
    let names: &[&str] = if path.ends_with(".rs") { &["open", "Store", "Store::open"] } else { &[] };
    let entity = |name: &&str| Entity {
        kind: if name.starts_with("Store") { EntityKind::Struct } else { EntityKind::Function },
        name: name.rsplit(':').next().unwrap().to_owned(),
        qualified_name: (*name).to_owned(),
        lines: Lines::new(1, 9),
        name_line: 1,
        signature: String::new(),
        doc: None,
        parent: None,
        test: TestRole::None,
        body_hash: 0,
        body_size: 0,
    };
    let code = CodeAnalysis {
        language: Language::Rust,
        doc: None,
        entities: names.iter().filter(|_| !random.is_one_in(3)).map(entity).collect(),
        calls: vec![],
        imports: vec![],
        heritage: vec![],
        explanations: vec![],
        syntax_errors: false,
        truncated: false,
    };
    let file = HeadFile {
        path: RepoPath::from_escaped(path),
        blob: Sha::ZERO,
        bytes: random.below(1000) as u64,
        changed_at: random.time(),
        left_out: None,
        analysis: Some(FileAnalysis { line_count: 9, content: ContentAnalysis::Code(code) }),
    };
    change(project, ItemKind::File, path, record(project, Record::File(Box::new(file))))
}

pub(super) fn reference(random: &mut Random) -> GraphChange {
    let (project, name) = (random.pick(&PROJECTS), random.pick(&["main", "v1", "v2"]));
    if name == "main" {
        let branch = Branch { name: RepoPath::from_escaped(name), tip: sha(random.below(10)) };
        let item = record(project, Record::Branch(IndexedBranch { branch, default: true }));
        return change(project, ItemKind::Branch, name, item);
    }
    let name_of_tag = RepoPath::from_escaped(name);
    let tag = Tag { name: name_of_tag, target: sha(random.below(10)), kind: ObjectKind::Commit, annotation: None };
    change(project, ItemKind::Tag, name, record(project, Record::Tag(tag)))
}

/// A label, a milestone, a project or its repository.
pub(super) fn planning(random: &mut Random) -> GraphChange {
    let project = random.pick(&PROJECTS);
    let of = project.to_owned();
    match random.below(4) {
        0 => {
            let name = random.pick(&LABELS);
            let description = random.is_one_in(2).then(|| "what it stands for".to_owned());
            let label = Label { project: of, name: name.to_owned(), color: None, description };
            change(project, ItemKind::Label, name, Item::Label(label))
        }
        1 => {
            let iid = 1 + random.below(3) as u64;
            let (title, state) = (format!("version {}", 9 - iid), random.pick(&["active", "closed"]).to_owned());
            let milestone = Milestone { project: of, iid, title, description: String::new(), state, web_url: None };
            change(project, ItemKind::Milestone, &iid.to_string(), Item::Milestone(milestone))
        }
        2 => {
            let created_at = random.is_one_in(2).then(|| random.time());
            let item = Project {
                path: of,
                forge_id: 1,
                name: "Shop".to_owned(),
                description: None,
                web_url: String::new(),
                default_branch: None,
                created_at,
            };
            change(project, ItemKind::Project, "project", Item::Project(item))
        }
        _ => {
            let merge = Merge { sha: Sha::ZERO, brought: vec![], requests: vec![] };
            let Item::Repository(of) = record(project, Record::Merge(merge)) else { unreachable!("it is a record") };
            let item = record(project, Record::Repository((*of.repository).clone()));
            change(project, ItemKind::Repository, "repository", item)
        }
    }
}

pub(super) fn importance(random: &mut Random) -> GraphChange {
    let project = random.pick(&PROJECTS);
    let code =
        [("src/a.rs", None), ("src/net/b.rs", None), ("odd#name.rs", None), ("odd#name.rs", Some("Store::open"))];
    let ranks = code.map(|(path, name)| (code_key(path, name), random.below(9) as u64));
    let item = record(project, Record::Importance(CodeRanks { ranks: ranks.into() }));
    change(project, ItemKind::Importance, "code", item)
}

pub(super) fn person(random: &mut Random) -> GraphChange {
    let (project, number) = (random.pick(&PROJECTS), random.below(PEOPLE.len()));
    if random.is_one_in(2) {
        let key = format!("{}@example.com", PEOPLE[number].to_lowercase());
        let same_as = random.is_one_in(2).then(|| PEOPLE[number].to_owned());
        let identity =
            CommitIdentity { key: key.clone(), names: vec![PEOPLE[number].to_owned()], same_as, because: None };
        return change(project, ItemKind::Identity, &key, Item::Identity(identity));
    }
    let person =
        Person { username: PEOPLE[number].to_owned(), forge_id: number as u64, name: "A B".to_owned(), web_url: None };
    let confidential = random.is_one_in(4);
    GraphChange { confidential, ..change(project, ItemKind::Person, &number.to_string(), Item::Person(person)) }
}

/// Changes as a ledger has them over time: items come, change and go.
pub(super) fn changes(random: &mut Random, count: usize) -> Vec<GraphChange> {
    let make: [fn(&mut Random) -> GraphChange; 11] =
        [issue, merge_request, discussion, discussion, commit, merge, file, importance, person, reference, planning];
    let mut changes: Vec<GraphChange> = Vec::new();
    for _ in 0..count {
        let mut next = make[random.below(make.len())](random);
        if random.is_one_in(6) {
            next.item = None;
        }
        changes.push(next);
    }
    changes
}

/// The items that there are after some changes.
pub(super) fn items_after(changes: &[GraphChange]) -> Vec<GraphChange> {
    let mut items = BTreeMap::new();
    for change in changes {
        items.insert((change.project.clone(), change.kind, change.key.clone()), change.clone());
    }
    items.into_values().filter(|change| change.item.is_some()).collect()
}
