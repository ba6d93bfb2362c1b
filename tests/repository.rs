//! What is said of a repository is a function of the commits that its indexed branches reach, whatever way led there.
//!
//! One thing remembers the way: a commit that was indexed and that no indexed branch reaches any more is kept and marked,
//! because notes and links may be about it. So data directories are compared whole where nothing is left behind; where
//! something is, the marked commits must be exactly those, and everything but them, and the names of people that only
//! they have, must be as in a fresh directory.

mod crashes;
mod real;
mod story;

use std::collections::BTreeSet;

use backstory_engine::model::commit::Sha;

use crate::support::{Indexed, Origin, PROJECT, Said};

/// What the branches that an indexed repository follows reach, and what they reached at any earlier sync.
#[derive(Default)]
struct Reached {
    ever: BTreeSet<Sha>,
    now: BTreeSet<Sha>,
}

impl Reached {
    /// Notes what is reached after a sync.
    async fn note(&mut self, origin: &Origin, indexed: &Indexed) {
        let tips = indexed.entry().indexed;
        let mut arguments = vec!["rev-list".to_owned()];
        arguments.extend(tips.values().map(Sha::to_string));
        self.now = origin.say(arguments).lines().map(|line| line.parse().unwrap()).collect();
        self.ever.extend(&self.now);
    }

    /// What was left behind, in order of names.
    fn left(&self) -> Vec<String> {
        self.ever.difference(&self.now).map(Sha::to_string).collect()
    }
}

/// What is said, without commits that were left behind and without people, whose names may come from those.
fn without(said: &Said, left: &[String]) -> Said {
    let mut items = said.items.clone();
    for commit in left {
        items.remove(&format!("{PROJECT} commit {commit}")).expect("what is left behind is kept");
    }
    items.retain(|key, _| !key.starts_with(" identity "));
    Said { digest: String::new(), items }
}

/// Compares with a fresh directory, as far as nothing or what is left behind allows.
async fn compare(indexed: &Indexed, origin: &Origin, left: &[String], when: &str) {
    if left.is_empty() {
        return indexed.equals_cold(origin.path(), when).await;
    }
    let cold = Indexed::cold(origin.path(), indexed.entry().branches).await;
    let (own, fresh) = (indexed.said().await, cold.said().await);
    without(&own, left).same_as(&without(&fresh, &[]), when);
    let people = |said: &Said| -> BTreeSet<String> {
        said.items.keys().filter(|key| key.starts_with(" identity ")).cloned().collect()
    };
    assert!(people(&fresh).is_subset(&people(&own)), "{when}: people are missing");
    assert_eq!(own.digest, indexed.rebuild_graph().await, "{when}: a graph rebuilt");
    indexed.lineage_is_fresh().await;
    indexed.check().await;
}
