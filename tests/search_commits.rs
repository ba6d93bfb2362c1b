//! Searching among commits: what is found by which words, and what is one hit.

use backstory_engine::{
    ledger::Branches,
    model::filter::{DocumentKind, Filter},
    search::{Hit, Mode, SearchRequest},
};

use crate::support::{Indexed, Origin, PROJECT};

async fn found(indexed: &Indexed, query: &str) -> Vec<Hit> {
    let filter = Filter { kinds: vec![DocumentKind::Commit], ..Filter::default() };
    let request =
        SearchRequest { query: query.into(), filter, mode: Mode::Lexical, limit: 20, ..SearchRequest::default() };
    indexed.engine.search(request).await.unwrap().hits
}

fn titles(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.document.title.as_str()).collect()
}

/// A branch of two commits about sessions, merged by a pull request, and more commits than that.
fn merged() -> (Origin, [String; 3]) {
    let mut origin = Origin::new();
    origin.write("README", "A shop.\n");
    origin.commit("Begin");
    origin.switch("sessions");
    origin.write("src/session.py", "LIFETIME = 60\n");
    let first = origin.commit("Let sessions expire").to_string();
    origin.write("src/session.py", "LIFETIME = 60 * 60\n");
    let second = origin.commit("Sessions count minutes").to_string();
    origin.git(["checkout", "--quiet", "main"]);
    let tip = origin.sha("sessions");
    origin.git(["merge", "--quiet", "--no-ff", "--no-commit", "sessions"]);
    let merge = origin
        .commit_index("Merge pull request #7 from ann/sessions\n\nSessions end when nobody is there\n", &[tip])
        .to_string();
    origin.git(["reset", "--quiet", "--hard"]);
    (origin, [first, second, merge])
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_one_merge_are_one_hit() {
    let (mut origin, [first, second, merge]) = merged();
    origin.write("src/session.py", "LIFETIME = 60 * 60\nSESSIONS = 8\n");
    origin.commit("Bound sessions");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let hits = found(&indexed, "sessions").await;
    assert_eq!(hits.len(), 2, "{:?}", titles(&hits));
    let of_merge = hits.iter().find(|hit| hit.document.title != "Bound sessions").unwrap();
    let mut all: Vec<&str> = of_merge.members.iter().map(|member| member.id.as_str()).collect();
    all.push(&of_merge.document.id);
    all.sort_unstable();
    let mut expected = [first, second, merge].map(|sha| format!("{PROJECT}@{sha}"));
    expected.sort();
    assert_eq!(all, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_is_found_by_the_title_of_its_request() {
    let (origin, [_, _, merge]) = merged();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let hits = found(&indexed, "nobody is there").await;
    assert_eq!(hits[0].document.id, format!("{PROJECT}@{merge}"), "{:?}", titles(&hits));
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_are_found_by_changed_words_but_not_by_those_of_changelogs_and_lock_files() {
    let mut origin = Origin::new();
    origin.write("README", "A shop.\n");
    origin.commit("Begin");
    origin
        .write("src/cart.py", "def total():\n    return quantities\n")
        .write("CHANGELOG.md", "- Baskets are summed up\n")
        .write("poetry.lock", "name = \"memcached\"\n");
    origin.commit("Fix carts");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    assert_eq!(titles(&found(&indexed, "quantities").await), ["Fix carts"]);
    assert!(found(&indexed, "baskets").await.is_empty());
    assert!(found(&indexed, "memcached").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_for_commits_alone_looks_at_many() {
    let mut origin = Origin::new();
    for number in 0..40 {
        origin.write("cart.py", format!("total = {number}\n"));
        origin.commit(format!("Carts, part {number}"));
    }
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    assert_eq!(found(&indexed, "carts").await.len(), 20);
}
