//! A data directory of its own with one repository in it, used through the engine.

use std::{collections::BTreeMap, path::Path};

use backstory_engine::{
    Engine, Projection, RebuildRequest, Scope, SyncRequest,
    check::{CheckRequest, DigestRequest},
    error::Error,
    ledger::{Branches, Ledger, RepositoryEntry, StoredBlame},
    model::{commit::Sha, entity::ItemKind, score::Profile},
    repository::{AddRequest, RepositoryStatus},
    settings::{Forge, Settings},
    sources::git::lineage::{self, CommitReplaced, FileOutcome, Options, Untraced},
    task::{Task, TaskStatus},
};
use serde_json::Value;
use tempfile::TempDir;

/// What the repository of a test is called.
pub(crate) const PROJECT: &str = "acme/tool";

/// Settings without a forge.
pub(crate) fn settings() -> Settings {
    settings_with(vec![])
}

/// The usual settings.
pub(crate) fn settings_with(forges: Vec<Forge>) -> Settings {
    Settings { forges, ranking: Profile::Rrf.into(), ..Settings::default() }
}

/// Everything that is said of a repository.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    /// Canonical digest of the graph.
    pub(crate) digest: String,
    /// The ledger: payloads by project, kind and key.
    pub(crate) items: BTreeMap<String, Value>,
}

impl Said {
    /// Fails with the first differences if the other is not the same.
    #[track_caller]
    pub(crate) fn same_as(&self, other: &Self, when: &str) {
        let mut differences = Vec::new();
        for (key, value) in &self.items {
            match other.items.get(key) {
                None => differences.push(format!("{key}: only in the first: {value}")),
                Some(known) if known != value => differences.push(format!("{key}:\n  {value}\n  {known}")),
                Some(_) => {}
            }
        }
        let new = other.items.iter().filter(|(key, _)| !self.items.contains_key(*key));
        differences.extend(new.map(|(key, value)| format!("{key}: only in the second: {value}")));
        differences.truncate(5);
        assert!(differences.is_empty(), "{when}: {}", differences.join("\n"));
        assert_eq!(self.digest, other.digest, "{when}: the ledgers are the same, the graphs are not");
    }
}

/// A data directory with one repository.
pub(crate) struct Indexed {
    pub(crate) data: TempDir,
    pub(crate) engine: Engine,
}

impl Indexed {
    /// An empty data directory.
    pub(crate) async fn empty(settings: Settings) -> Self {
        let data = tempfile::tempdir().unwrap();
        let engine = Engine::open(data.path(), settings).await.unwrap();
        Self { data, engine }
    }

    /// One that knows of a repository and has not read it.
    pub(crate) async fn added(origin: &Path, branches: Branches) -> Self {
        let indexed = Self::empty(settings()).await;
        indexed.add(origin, PROJECT, branches).await.unwrap();
        indexed
    }

    /// One that has read a repository.
    pub(crate) async fn cold(origin: &Path, branches: Branches) -> Self {
        let indexed = Self::added(origin, branches).await;
        indexed.sync().await;
        indexed
    }

    pub(crate) async fn add(
        &self,
        origin: &Path,
        project: &str,
        branches: Branches,
    ) -> Result<RepositoryStatus, Error> {
        let address = origin.display().to_string();
        self.engine
            .answer(AddRequest { address, name: Some(project.to_owned()), branches, ..AddRequest::default() })
            .await
    }

    /// Reads what is new; panics if that fails.
    #[track_caller]
    pub(crate) fn sync(&self) -> impl Future<Output = Value> {
        let at = std::panic::Location::caller();
        async move { self.try_sync(Scope::New).await.unwrap_or_else(|error| panic!("{at}: {error}")) }
    }

    /// Reads so much; what it did.
    pub(crate) async fn try_sync(&self, scope: Scope) -> Result<Value, Error> {
        let task = self.engine.answer(SyncRequest { scope, ..SyncRequest::default() }).await?;
        self.end_of(&task).await
    }

    pub(crate) async fn end_of(&self, task: &Task) -> Result<Value, Error> {
        let mut task = self.engine.watch_task(task.id).unwrap();
        let ended = task.wait_for(|task| task.status != TaskStatus::Running).await.unwrap().clone();
        ended.error.map_or(Ok(ended.summary), Err)
    }

    pub(crate) async fn rebuild_graph(&self) -> String {
        let task = self.engine.answer(RebuildRequest { projection: Projection::Graph }).await.unwrap();
        let done = self.end_of(&task).await.unwrap();
        done["digest"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn digest(&self) -> String {
        self.engine.answer(DigestRequest {}).await.unwrap().digest
    }

    pub(crate) fn entry(&self) -> RepositoryEntry {
        self.ledger().repository(PROJECT).unwrap().unwrap()
    }

    /// A second look into the ledger.
    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::open(&self.data.path().join("ledger.sqlite")).unwrap()
    }

    /// Everything that is said.
    pub(crate) async fn said(&self) -> Said {
        let ledger = self.ledger();
        let mut items = BTreeMap::new();
        let mut seq = 0;
        loop {
            let page = ledger.changes_after(seq, 1000).unwrap();
            let Some(last) = page.last() else { break };
            seq = last.seq;
            for item in page {
                let Some(payload) = item.payload else { continue };
                let key = format!("{} {} {}", item.project, item.kind.as_str(), item.key);
                items.insert(key, serde_json::from_slice(&payload).unwrap());
            }
        }
        Said { digest: self.digest().await, items }
    }

    /// The commits that are marked as left behind by a rewritten history, in order.
    pub(crate) fn marked(&self) -> Vec<String> {
        let ledger = self.ledger();
        let keys = ledger.keys(PROJECT, ItemKind::Commit).unwrap();
        let is_marked = |key: &String| {
            let payload = ledger.item(PROJECT, ItemKind::Commit, key).unwrap().unwrap().payload.unwrap();
            serde_json::from_slice::<Value>(&payload).unwrap()["rewritten"] == true
        };
        keys.into_iter().filter(is_marked).collect()
    }

    /// Every rule holds.
    #[track_caller]
    pub(crate) fn check(&self) -> impl Future<Output = ()> {
        let at = std::panic::Location::caller();
        async move {
            let report = self.engine.answer(CheckRequest {}).await.unwrap();
            let broken: Vec<_> = report.findings.iter().filter(|finding| !finding.problems.is_empty()).collect();
            assert!(report.ok, "{at}: {broken:#?}");
        }
    }

    /// What is kept of lines is what a computation from the whole history gives, for every file of every branch.
    #[track_caller]
    pub(crate) fn lineage_is_fresh(&self) -> impl Future<Output = ()> {
        let at = std::panic::Location::caller();
        async move {
            let ledger = self.ledger();
            let clone = self.clone_dir();
            for (branch, tip) in &self.entry().indexed {
                let mut replaced = Vec::new();
                let mut take = |of: CommitReplaced| replaced.push(of);
                let fresh = lineage::compute_all(&clone, &[*tip], &Options::default(), &mut take).unwrap();
                let head = ledger.lineage_head(PROJECT, branch).unwrap().unwrap();
                assert_eq!((head.tip, &head.ignored), (*tip, &fresh.ignored), "{at}: {branch}");
                for (path, expected) in &fresh.tips[0].files {
                    let kept = ledger.lineage(PROJECT, branch, path).unwrap();
                    let expected = expected.as_ref().map(|file| match file {
                        FileOutcome::Traced(lineage) => StoredBlame::Traced((**lineage).clone()),
                        FileOutcome::Untraced(Untraced::Binary) => StoredBlame::Binary,
                        FileOutcome::Untraced(Untraced::TooLarge) => StoredBlame::TooLarge,
                    });
                    assert_eq!(kept, expected, "{at}: {path} at {branch}");
                }
                for of in replaced {
                    for file in of.files {
                        let kept = ledger.replaced(PROJECT, of.commit, &file.path).unwrap();
                        assert_eq!(kept.as_ref(), Some(&file), "{at}: {} of {}", file.path, of.commit);
                    }
                }
            }
        }
    }

    pub(crate) fn clone_dir(&self) -> std::path::PathBuf {
        self.data.path().join("clones").join(format!("{}.git", PROJECT.replace('/', "%2F")))
    }

    /// Says the same as a fresh data directory that reads the repository once, and as its own graph rebuilt.
    #[track_caller]
    pub(crate) fn equals_cold(&self, origin: &Path, when: &str) -> impl Future<Output = ()> {
        let said = format!("{}: {when}", std::panic::Location::caller());
        async move {
            let cold = Self::cold(origin, self.entry().branches).await;
            let own = self.said().await;
            own.same_as(&cold.said().await, &said);
            assert_eq!(own.digest, self.rebuild_graph().await, "{said}: a graph rebuilt");
            self.lineage_is_fresh().await;
            self.check().await;
        }
    }
}

/// A commit's name.
pub(crate) fn names(commits: &[Sha]) -> Vec<String> {
    let mut names: Vec<String> = commits.iter().map(Sha::to_string).collect();
    names.sort();
    names
}
