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
    indexed.engine.search_documents(request).await.unwrap().hits
}

fn titles(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.document.title.as_str()).collect()
}

/// A branch of two commits about sessions, merged by a pull request, and more commits than that.
fn merged() -> (Origin, [String; 3]) {
    let mut origin = Origin::new();
    origin.write("README", "A shop.\n");
    origin.commit_all("Begin");
    origin.switch("sessions");
    origin.write("src/session.py", "LIFETIME = 60\n");
    let first = origin.commit_all("Let sessions expire").to_string();
    origin.write("src/session.py", "LIFETIME = 60 * 60\n");
    let second = origin.commit_all("Sessions count minutes").to_string();
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
    origin.commit_all("Bound sessions");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let hits = found(&indexed, "sessions").await;
    assert_eq!(hits.len(), 2, "{:?}", titles(&hits));
    let of_merge = hits.iter().find(|hit| hit.document.title != "Bound sessions").unwrap();
    let mut all: Vec<String> = of_merge.members.iter().map(|member| member.id.to_string()).collect();
    all.push(of_merge.document.id.clone());
    all.sort_unstable();
    let mut expected = [first, second, merge].map(|sha| format!("{PROJECT}@{sha}"));
    expected.sort();
    assert_eq!(all, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_story_is_headed_by_the_commit_that_matches_best_not_by_its_merge() {
    let mut origin = Origin::new();
    origin.write("README", "A shop.\n");
    origin.commit_all("Begin");
    origin.switch("sessions");
    origin.write("src/session.py", "LIFETIME = 60\n");
    let work = origin.commit_all("Let sessions end when nobody is there any more").to_string();
    origin.write("src/cookie.py", "NAME = 'shop'\n");
    origin.commit_all("Name the cookie of sessions");
    origin.git(["checkout", "--quiet", "main"]);
    let tip = origin.sha("sessions");
    origin.git(["merge", "--quiet", "--no-ff", "--no-commit", "sessions"]);
    let message = "Merge pull request #7 from ann/sessions\n\nSessions end when nobody is there\n";
    let merge = origin.commit_index(message, &[tip]).to_string();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let hits = found(&indexed, "sessions end when nobody is there").await;
    assert_eq!(hits.len(), 1, "{:?}", titles(&hits));
    assert_eq!(hits[0].document.id, format!("{PROJECT}@{work}"), "{:?}", titles(&hits));
    assert!(hits[0].snippet.contains("nobody is there any more"), "{}", hits[0].snippet);
    let members: Vec<String> = hits[0].members.iter().map(|member| member.id.to_string()).collect();
    assert!(members.contains(&format!("{PROJECT}@{merge}")), "{members:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_is_found_by_the_title_of_its_request() {
    let (origin, [_, _, merge]) = merged();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let hits = found(&indexed, "nobody is there").await;
    assert_eq!(hits[0].document.id, format!("{PROJECT}@{merge}"), "{:?}", titles(&hits));
    let hits = found(&indexed, "merge pull request ann").await;
    assert_eq!(hits[0].document.id, format!("{PROJECT}@{merge}"), "its first line too: {:?}", titles(&hits));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_alone_says_all_that_is_asked_for_heads_its_story() {
    let (origin, [first, _, merge]) = merged();
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let hits = found(&indexed, "sessions end when nobody is there").await;
    assert_eq!(hits[0].document.id, format!("{PROJECT}@{merge}"), "{:?}", titles(&hits));
    let members: Vec<String> = hits[0].members.iter().map(|member| member.id.to_string()).collect();
    assert!(members.contains(&format!("{PROJECT}@{first}")), "{members:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_are_found_by_changed_words_but_not_by_those_of_changelogs_and_lock_files() {
    let mut origin = Origin::new();
    origin.write("README", "A shop.\n");
    origin.commit_all("Begin");
    origin
        .write("src/cart.py", "def total():\n    return quantities\n")
        .write("CHANGELOG.md", "- Baskets are summed up\n")
        .write("poetry.lock", "name = \"memcached\"\n");
    origin.commit_all("Fix carts");
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
        origin.commit_all(format!("Carts, part {number}"));
    }
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    assert_eq!(found(&indexed, "carts").await.len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_are_found_by_all_that_their_author_is_called() {
    let mut origin = Origin::new();
    origin.write("cart.py", "total = 1\n");
    origin.author("Grace Hopper", "grace@example.com").commit_all("Carts of Grace");
    origin.write("cart.py", "total = 2\n");
    origin.author("Grace Hopper", "hopper@navy.example").commit_all("Carts of the navy");
    origin.write("cart.py", "total = 3\n");
    origin.author("Ada", "ada@example.com").commit_all("Carts of Ada");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let by = async |author: &str| {
        let filter = Filter { authors: vec![author.to_owned()], ..Filter::default() };
        let request = SearchRequest { query: "carts".into(), filter, limit: 20, ..SearchRequest::default() };
        let response = indexed.engine.search_documents(request).await.unwrap();
        let mut titles: Vec<String> = response.hits.into_iter().map(|hit| hit.document.title).collect();
        titles.sort();
        (titles, response.warnings.into_iter().find(|warning| warning.contains("nearest")))
    };
    let both = vec!["Carts of Grace".to_owned(), "Carts of the navy".to_owned()];
    for name in ["Grace Hopper", "grace hopper", "GRACE@example.com", "hopper@navy.example"] {
        assert_eq!(by(name).await, (both.clone(), None), "{name}");
    }
    assert_eq!(by("ada").await, (vec!["Carts of Ada".to_owned()], None));
    let (none, said) = by("adda@example.com").await;
    assert!(none.is_empty());
    assert_eq!(said.unwrap(), "nothing is by 'adda@example.com'; the nearest name is 'ada@example.com'");
}
