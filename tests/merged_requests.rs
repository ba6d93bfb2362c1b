//! Which merge belongs to a merge request whose forge names another commit, and what came with it.

use backstory_engine::{
    Part, SyncRequest,
    graph::Direction,
    ledger::Branches,
    model::{commit::Sha, edge::Edge, id::NodeId},
    settings::{self, ForgeKind},
    sources::forge,
    trace::{Target, TraceRequest},
};

use crate::support::{Fixture, Forge, Indexed, TOKEN, settings_with};

pub(crate) const SHOP: &str = "acme/shop";
/// A merge request of the stand-in from `redis-cache` to `main`, of which no commit is in any repository here,
const CACHE: &str = "acme/shop!1";
/// and one from `jwt-auth`.
const AUTH: &str = "acme/shop!2";

/// Commits a new file on the branch that is checked out.
fn commit(origin: &mut Fixture, path: &str, title: &str) -> Sha {
    origin.write(path, format!("// {title}\n"));
    origin.commit_all(title)
}

/// Merges a branch into the one that is checked out, as somebody does on a machine of their own.
fn merge(origin: &Fixture, branch: &str, message: &str) -> Sha {
    origin.git(["merge", "--quiet", "--no-ff", "-m", message, branch]);
    origin.sha("HEAD")
}

fn begin() -> Fixture {
    let mut origin = Fixture::new();
    commit(&mut origin, "README.md", "Begin");
    origin
}

/// The forge and a repository with two merges that were made by hand: one whose message names its request, whose head the
/// forge treats as the merge commit, and one of exactly the head of its request.
pub(crate) struct Shop {
    pub(crate) forge: Forge,
    pub(crate) origin: Fixture,
    /// The commits of the branches, the oldest first.
    pub(crate) auth: [Sha; 2],
    pub(crate) cache: [Sha; 2],
    pub(crate) auth_merge: Sha,
    pub(crate) cache_merge: Sha,
}

impl Shop {
    pub(crate) fn new() -> Self {
        let mut origin = begin();
        origin.switch("jwt-auth");
        let auth = [
            commit(&mut origin, "src/token.rs", "Sign tokens"),
            commit(&mut origin, "src/expiry.rs", "Check when tokens expire"),
        ];
        origin.switch("main");
        let auth_merge = merge(&origin, "jwt-auth", "Merge #2: Refactor auth to use JWT tokens");
        origin.switch("redis-cache");
        let cache =
            [commit(&mut origin, "src/pages.rs", "Cache pages"), commit(&mut origin, "src/prices.rs", "Expire prices")];
        origin.switch("main");
        let cache_merge = merge(&origin, "redis-cache", "Merge branch 'redis-cache'");
        Self { forge: Forge::start(), origin, auth, cache, auth_merge, cache_merge }
    }

    /// The forge says what it makes of the merges.
    pub(crate) fn tell(&self) {
        self.forge.advance(3600);
        self.forge.set_merge_commit(AUTH, &self.auth[1].to_string());
        self.forge.set_head(AUTH, &self.auth[1].to_string());
        self.forge.set_head(CACHE, &self.cache[1].to_string());
    }
}

/// A data directory that may read the project from the forge and has read nothing.
async fn empty(forge: &Forge) -> Indexed {
    let connection = forge::ForgeSettings {
        requests_per_second: 0,
        ..forge::ForgeSettings::new(forge.url.parse().unwrap(), Some(TOKEN.into()))
    };
    let settings = settings_with(vec![settings::Forge {
        kind: ForgeKind::GitLab,
        connection,
        projects: vec![SHOP.to_owned()],
        webhook_secret: None,
    }]);
    Indexed::empty(settings).await
}

/// A data directory that has read forge and repository.
async fn read(forge: &Forge, origin: &Fixture) -> Indexed {
    let indexed = empty(forge).await;
    indexed.add(origin.path(), SHOP, Branches::Default).await.unwrap();
    indexed.sync().await;
    indexed
}

/// The merge requests that were merged as a commit.
async fn merged_as(indexed: &Indexed, commit: Sha) -> Vec<String> {
    let id = NodeId::commit(SHOP, &commit.to_string());
    let edges = indexed.engine.load_edges(vec![id], Direction::In, Some(Edge::MergedAs)).await.unwrap();
    edges[0].iter().map(|end| end.other.to_string()).collect()
}

/// The merge request that brought a commit, the nearest if there are several.
async fn request_of(indexed: &Indexed, commit: Sha) -> Option<String> {
    let target = Target::Node(NodeId::commit(SHOP, &commit.to_string()));
    let request = TraceRequest { project: Some(SHOP.to_owned()), target, rev: None, earlier: 0 };
    let trace = indexed.engine.answer(request).await.unwrap();
    trace.merge_requests.first().map(ToString::to_string)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_by_hand_is_that_of_the_request_that_it_names_or_whose_head_it_merged() {
    let shop = Shop::new();
    shop.tell();
    let indexed = read(&shop.forge, &shop.origin).await;
    assert_eq!(merged_as(&indexed, shop.auth_merge).await, [AUTH]);
    assert_eq!(merged_as(&indexed, shop.cache_merge).await, [CACHE]);
    for (commits, request) in [(shop.auth, AUTH), (shop.cache, CACHE)] {
        for commit in commits {
            assert_eq!(request_of(&indexed, commit).await.as_deref(), Some(request), "{commit}");
        }
    }
    indexed.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_commit_of_the_branch_leads_to_the_merge_that_names_the_request() {
    let shop = Shop::new();
    shop.tell();
    shop.forge.set_merge_commit(AUTH, &shop.auth[0].to_string());
    let indexed = read(&shop.forge, &shop.origin).await;
    assert_eq!(merged_as(&indexed, shop.auth_merge).await, [AUTH]);
    assert_eq!(request_of(&indexed, shop.auth[1]).await.as_deref(), Some(AUTH));
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_is_read_first_the_same_is_said() {
    let shop = Shop::new();
    // One reads the forge before it knows of the merges, one the repository before the forge, one the forge alone first.
    let early = read(&shop.forge, &shop.origin).await;
    assert_eq!(merged_as(&early, shop.auth_merge).await, [] as [&str; 0]);
    shop.tell();
    early.sync().await;
    let forge_first = empty(&shop.forge).await;
    forge_first.sync().await;
    forge_first.add(shop.origin.path(), SHOP, Branches::Default).await.unwrap();
    forge_first.sync().await;
    let repository_first = empty(&shop.forge).await;
    repository_first.add(shop.origin.path(), SHOP, Branches::Default).await.unwrap();
    let only = vec![Part::Repository];
    let task = repository_first.engine.answer(SyncRequest { only, ..SyncRequest::default() }).await.unwrap();
    repository_first.end_of(&task).await.unwrap();
    repository_first.sync().await;
    let cold = read(&shop.forge, &shop.origin).await.said().await;
    for (indexed, when) in [
        (&early, "the forge learned of the merges"),
        (&forge_first, "the forge was read first"),
        (&repository_first, "the repository was read first"),
    ] {
        let said = indexed.said().await;
        said.same_as(&cold, when);
        assert_eq!(said.digest, indexed.rebuild_graph().await, "{when}: a graph rebuilt");
        indexed.check().await;
    }
    // The forge thinks better of it.
    shop.forge.advance(3600);
    shop.forge.set_merge_commit(AUTH, &shop.auth_merge.to_string());
    shop.forge.set_head(CACHE, "5d0a1c3f9b7e4a2d8c6f1e0b3a5d7c9e2f4b6a81");
    early.sync().await;
    assert_eq!(merged_as(&early, shop.auth_merge).await, [AUTH], "as the forge says");
    assert_eq!(merged_as(&early, shop.cache_merge).await, [] as [&str; 0]);
    early.said().await.same_as(&read(&shop.forge, &shop.origin).await.said().await, "the forge was put right");
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_nested_merges_belong_to_the_innermost_that_names_a_request() {
    let mut origin = begin();
    origin.switch("jwt-auth");
    let outer = commit(&mut origin, "src/token.rs", "Sign tokens");
    origin.switch("redis-cache");
    let inner =
        [commit(&mut origin, "src/pages.rs", "Cache pages"), commit(&mut origin, "src/prices.rs", "Expire prices")];
    origin.switch("jwt-auth");
    let inner_merge = merge(&origin, "redis-cache", "Merge #1: Cache product pages in Redis");
    let head = commit(&mut origin, "src/expiry.rs", "Check when tokens expire");
    origin.switch("main");
    let outer_merge = merge(&origin, "jwt-auth", "Merge #2: Refactor auth to use JWT tokens");
    let forge = Forge::start();
    forge.set_merge_commit(CACHE, &inner[1].to_string());
    forge.set_merge_commit(AUTH, &head.to_string());
    let indexed = read(&forge, &origin).await;
    assert_eq!(merged_as(&indexed, inner_merge).await, [CACHE]);
    assert_eq!(merged_as(&indexed, outer_merge).await, [AUTH]);
    for (commit, request) in [(inner[0], CACHE), (inner[1], CACHE), (outer, AUTH), (head, AUTH)] {
        assert_eq!(request_of(&indexed, commit).await.as_deref(), Some(request), "{commit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_requests_with_one_head_that_which_the_merge_names_has_it() {
    let shop = Shop::new();
    shop.tell();
    shop.forge.set_head(CACHE, &shop.auth[1].to_string());
    let indexed = read(&shop.forge, &shop.origin).await;
    assert_eq!(merged_as(&indexed, shop.auth_merge).await, [AUTH]);
    assert_eq!(merged_as(&indexed, shop.cache_merge).await, [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_stays_what_the_request_was_merged_as() {
    let mut origin = begin();
    origin.switch("jwt-auth");
    let head = commit(&mut origin, "src/token.rs", "Sign tokens");
    origin.switch("main");
    let squash = commit(&mut origin, "src/squashed.rs", "Refactor auth to use JWT tokens");
    // Long after, somebody merges what was left of the branch.
    let merge = merge(&origin, "jwt-auth", "Merge branch 'jwt-auth'");
    let forge = Forge::start();
    forge.set_merge_commit(AUTH, &squash.to_string());
    forge.set_head(AUTH, &head.to_string());
    let indexed = read(&forge, &origin).await;
    assert_eq!(merged_as(&indexed, squash).await, [AUTH]);
    assert_eq!(merged_as(&indexed, merge).await, [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_pulls_the_default_branch_merges_no_request() {
    let mut origin = begin();
    origin.switch("upstream");
    let other = commit(&mut origin, "src/other.rs", "Make something else without a request");
    let head = commit(&mut origin, "src/token.rs", "Sign tokens");
    origin.switch("main");
    commit(&mut origin, "src/own.rs", "Make something of their own");
    let pull = merge(&origin, "upstream", "Merge branch 'main' of shop.example:acme/shop");
    let forge = Forge::start();
    forge.set_merge_commit(AUTH, &head.to_string());
    forge.set_head(AUTH, &head.to_string());
    let indexed = read(&forge, &origin).await;
    assert_eq!(merged_as(&indexed, pull).await, [] as [&str; 0]);
    assert_eq!(request_of(&indexed, head).await.as_deref(), Some(AUTH));
    assert_eq!(request_of(&indexed, other).await, None);
}
