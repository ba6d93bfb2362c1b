//! Search that takes candidates from the graph, is limited to a neighborhood, weighs what the request says, and pages.

use std::collections::BTreeSet;

use backstory_engine::{
    EmbedRequest,
    embed::Embedder,
    explore::NeighborhoodRequest,
    index::{Index, IndexOptions, ModelTag},
    model::{
        document_type::DocumentType,
        edge::Edge,
        filter::{DocumentKind, Filter},
        id::NodeId,
        score::{Parts, Profile},
    },
    search::{Expansion, Hit, MAX_LIMIT, SearchRequest, SearchResponse},
    settings::Ranking,
};

use crate::trace::world::{SHOP, TOKEN, World};

/// The edges that walks of a search follow from issues, merge requests, commits and code.
const FOLLOWED: [Edge; 22] = [
    Edge::Closes,
    Edge::Fixes,
    Edge::MergedAs,
    Edge::References,
    Edge::RelatesTo,
    Edge::Duplicates,
    Edge::Blocks,
    Edge::Reverts,
    Edge::MergedBy,
    Edge::CherryPickOf,
    Edge::Modifies,
    Edge::Introduces,
    Edge::Proposes,
    Edge::CommentsOn,
    Edge::Contains,
    Edge::Calls,
    Edge::Imports,
    Edge::Extends,
    Edge::Implements,
    Edge::VerifiedBy,
    Edge::CoEvolvesWith,
    Edge::ReplacedBy,
];

const QUESTION: &str = "when does a token expire";

/// A world whose documents have vectors.
async fn embedded() -> World {
    let world = World::new().await;
    let task = world.engine.answer(EmbedRequest {}).await.unwrap();
    world.end_of(&task).await.unwrap();
    world
}

/// A second look into the index.
async fn index_of(world: &World) -> Index {
    let embedder = world.engine.embedder();
    let model = ModelTag { name: embedder.model().to_owned(), dimension: embedder.dimension() };
    Index::open(&world.data.path().join("index").join("1"), model, IndexOptions::default()).await.unwrap()
}

fn request(query: &str) -> SearchRequest {
    SearchRequest { query: query.to_owned(), limit: MAX_LIMIT, ..SearchRequest::default() }
}

fn by(part: &str) -> Option<Ranking> {
    let mut weights = Parts::default();
    weights.set(part, 1.0);
    Some(Ranking { profile: Profile::Default, weights })
}

async fn search(world: &World, request: SearchRequest) -> SearchResponse {
    world.engine.search_documents(request).await.unwrap()
}

fn ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.document.id.as_str()).collect()
}

/// Everything at most two edges from a node, by reading the edges of one node after the other.
async fn around(world: &World, start: &NodeId) -> BTreeSet<NodeId> {
    let subject = |id: NodeId| match id {
        NodeId::Discussion { thread, .. } | NodeId::Note { thread, .. } => NodeId::Thread(thread),
        other => other,
    };
    let mut all = BTreeSet::from([start.clone()]);
    let mut frontier = all.clone();
    for _ in 0..2 {
        let mut next = BTreeSet::new();
        for id in frontier {
            let request = NeighborhoodRequest { id, depth: 1, edges: FOLLOWED.into(), limit: 1000, totals: false };
            let found = world.engine.answer(request).await.unwrap();
            assert!(found.left_out.is_empty(), "{found:?}");
            next.extend(found.neighbors.into_iter().map(|neighbor| subject(neighbor.id)));
        }
        all.extend(next.iter().cloned());
        frontier = next;
    }
    all
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// How near the best two passages of a document are, as a hit's semantic part has it.
fn nearness(embedder: &Embedder, vectors: &[Vec<f32>], query: &[f32]) -> f32 {
    let near = |vector: &Vec<f32>| embedder.nearness(cosine(vector, query)).clamp(0.0, 1.0);
    let mut all: Vec<f32> = vectors.iter().map(near).collect();
    all.sort_by(|a, b| b.total_cmp(a));
    let second = all.get(1).copied().unwrap_or((all[0] - 0.06).max(0.0));
    0.8 * all[0] + 0.2 * second
}

// Row 128 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn recall_by_vector_near_a_node_equals_brute_force_over_all_nodes() {
    let world = embedded().await;
    let vector = world.engine.embedder().embed_query(QUESTION).await.unwrap();
    let index = index_of(&world).await;
    let all: Vec<String> = index.fingerprints().into_iter().map(|(id, _)| id).collect();
    let vectors = index.vectors_of(&all).await.unwrap();
    let facts = index.facts(all.iter().map(String::as_str));
    for start in ["acme/shop!2", "acme/shop#1", "acme/shop#5", "acme/shop:src/auth/token.rs"] {
        let start: NodeId = start.parse().unwrap();
        let near: BTreeSet<String> = around(&world, &start).await.iter().map(ToString::to_string).collect();
        let mut expected: Vec<(&str, f32)> = facts
            .iter()
            .filter(|(id, of)| of.kind == DocumentKind::Code && (near.contains(**id) || near.contains(&*of.thread)))
            .map(|(id, _)| (*id, nearness(world.engine.embedder(), &vectors[*id], &vector)))
            .collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let filter = Filter { kinds: vec![DocumentKind::Code], ..Filter::default() };
        let asked = SearchRequest { near: vec![start.clone()], filter, ranking: by("semantic"), ..request(QUESTION) };
        let found = search(&world, asked).await;
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
        let sorted = |ids: Vec<&str>| ids.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(sorted(ids(&found.hits)), sorted(expected.iter().map(|(id, _)| *id).collect()), "{start}");
        for (hit, (id, score)) in found.hits.iter().zip(&expected) {
            // Vectors are compared as eight bits a number.
            assert!((hit.score - score).abs() < 0.01, "{start}: {id} {score}, {} {}", hit.document.id, hit.score);
            assert_eq!(hit.score, hit.parts.semantic);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_near_is_all_that_is_linked_and_nothing_else() {
    let world = embedded().await;
    let index = index_of(&world).await;
    for start in ["acme/shop!2", "acme/shop#3", "acme/shop:src/auth/token.rs#verify_expiry"] {
        let start: NodeId = start.parse().unwrap();
        let near: BTreeSet<String> = around(&world, &start).await.iter().map(ToString::to_string).collect();
        let found = search(&world, SearchRequest { near: vec![start.clone()], ..request(QUESTION) }).await;
        assert!(!found.hits.is_empty() && found.ranking.weights.relationship > 0.0, "{start}");
        for hit in &found.hits {
            let (id, whole) = (&hit.document.id, hit.document.facts.thread.to_string());
            assert!(near.contains(id) || near.contains(&whole), "{id} is not near {start}");
            let strongest: f32 = if *id == start.to_string() { 1.0 } else { 0.7 };
            assert!(hit.parts.relationship > 0.0 && hit.parts.relationship <= strongest, "{id}: {:?}", hit.parts);
        }
        let shown: BTreeSet<String> = found
            .hits
            .iter()
            .flat_map(|hit| hit.members.iter().map(|member| member.id.to_string()).chain([hit.document.id.clone()]))
            .collect();
        let threads = near.iter().filter(|id| matches!(id.parse(), Ok(NodeId::Thread(_))));
        for thread in threads.filter(|id| !index.facts([id.as_str()]).is_empty()) {
            assert!(shown.contains(thread), "{thread} is near {start}: {shown:?}");
        }
    }
    let unknown = SearchRequest { near: vec!["acme/shop#999".parse().unwrap()], ..request(QUESTION) };
    let refused = world.engine.search_documents(unknown).await.unwrap_err();
    assert_eq!(refused.to_string(), "nothing is known about acme/shop#999");
}

// Row 142 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_alone_has_a_weight_orders_the_hits() {
    let world = embedded().await;
    for part in ["semantic", "lexical", "recency", "importance", "relationship", "author"] {
        for near in [vec![], vec!["acme/shop!2".parse().unwrap()]] {
            let asked = SearchRequest { ranking: by(part), near, ..request("what did @janedoe say of tokens in #1") };
            let found = search(&world, asked).await;
            let value = |hit: &Hit| hit.parts.named().into_iter().find(|(name, _)| *name == part).unwrap().1;
            let values: Vec<f32> = found.hits.iter().map(value).collect();
            assert!(values.len() > 1 && values[0] > 0.0, "{part}: {values:?}");
            assert!(values.is_sorted_by(|a, b| a >= b), "{part}: {values:?}");
            assert_eq!(values, found.hits.iter().map(|hit| hit.score).collect::<Vec<_>>(), "{part}");
        }
    }
    let nothing = Some(Ranking { profile: Profile::Default, weights: Parts::default() });
    let refused = world.engine.search_documents(SearchRequest { ranking: nothing, ..request("x") }).await.unwrap_err();
    assert_eq!(refused.to_string(), "every weight is 0; one of them must count");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_cuts_of_one_list() {
    let world = embedded().await;
    let near = vec!["acme/shop!2".parse().unwrap()];
    let gitmemory = Some(Profile::Gitmemory.into());
    for whole in [
        request("tokens"),
        SearchRequest { near, ..request("tokens") },
        SearchRequest { ranking: gitmemory, ..request("tokens") },
        SearchRequest { ranking: by("recency"), ..request("tokens") },
    ] {
        let one = search(&world, whole.clone()).await;
        assert!(one.hits.len() > 1 && one.next.is_none(), "{}", one.hits.len());
        for limit in [1, 4, 10] {
            let (mut hits, mut after) = (Vec::new(), None);
            loop {
                let page = search(&world, SearchRequest { limit, after, ..whole.clone() }).await;
                assert!(page.hits.len() == limit || page.next.is_none());
                hits.extend(page.hits);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(ids(&hits), ids(&one.hits), "{limit} {whole:?}");
            let all = |hits: &[Hit]| hits.iter().map(|hit| (hit.score, hit.parts)).collect::<Vec<_>>();
            assert_eq!(all(&hits), all(&one.hits));
        }
    }
    let first = search(&world, SearchRequest { limit: 2, ..request("tokens") }).await;
    for (query, after, expected) in [
        ("cookies", first.next.clone(), "the cursor belongs to another search"),
        ("tokens", Some("nonsense".to_owned()), "the cursor cannot be read"),
    ] {
        let asked = SearchRequest { after, ..request(query) };
        let refused = world.engine.search_documents(asked).await.unwrap_err().to_string();
        assert!(refused.starts_with(expected), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn weights_that_add_up_to_more_than_1_count_in_proportion() {
    let world = embedded().await;
    for query in ["tokens expire", "how do I run it with tokens"] {
        let by_four = async |weight: f32| {
            let weights =
                Parts { semantic: weight, lexical: weight, recency: weight, importance: weight, ..Parts::default() };
            let ranking = Some(Ranking { profile: Profile::Default, weights });
            search(&world, SearchRequest { ranking, ..request(query) }).await
        };
        let scores = |found: &SearchResponse<Hit>| found.hits.iter().map(Hit::bounded_score).collect::<Vec<_>>();
        let (large, small) = (by_four(1.0).await, by_four(0.25).await);
        assert_eq!(ids(&large.hits), ids(&small.hits), "{query}");
        assert_eq!(scores(&large), scores(&small), "{query}");
        let shown = scores(&large);
        assert!(shown.is_sorted_by(|a, b| a >= b) && shown.iter().filter(|score| **score >= 1.0).count() <= 1);
    }
}

// Row 128 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_graph_finds_stands_behind_with_the_edges_that_lead_to_it() {
    // Without vectors only words propose candidates.
    let world = World::new().await;
    let alone = search(&world, SearchRequest { expansion: Expansion::None, ..request("leeway") }).await;
    let found = search(&world, request("leeway")).await;
    assert!(!alone.hits.is_empty() && found.hits.len() > alone.hits.len(), "{:?}", ids(&found.hits));
    let first = alone.hits.len().min(10);
    assert_eq!(ids(&found.hits)[..first], ids(&alone.hits)[..first]);
    let of_graph: Vec<&Hit> = found.hits.iter().filter(|hit| !hit.reached_by.is_empty()).collect();
    assert_eq!(of_graph.len(), found.hits.len() - alone.hits.len());
    for hit in of_graph {
        assert!(hit.parts.relationship > 0.0 && hit.reached_by.len() <= 2, "{:?}", hit.reached_by);
        assert!(hit.why.iter().any(|why| why.starts_with("relationship ")), "{:?}", hit.why);
        assert!(!ids(&alone.hits).contains(&hit.document.id.as_str()));
    }
    let ranked = search(&world, SearchRequest { ranking: Some(Profile::Gitmemory.into()), ..request("leeway") }).await;
    let scores: Vec<f32> = ranked.hits.iter().map(|hit| hit.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "with a weight all are ranked by the sum: {scores:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_candidate_is_explained_and_counted() {
    let world = embedded().await;
    let asked = SearchRequest { explain: true, facets: true, limit: 5, ..request("tokens expire") };
    let found = search(&world, asked).await;
    let candidates = &found.candidates;
    for leg in [
        candidates.iter().filter_map(|of| of.words).collect::<Vec<_>>(),
        candidates.iter().filter_map(|of| of.vectors).collect(),
        candidates.iter().filter_map(|of| of.graph).collect(),
    ] {
        let places: BTreeSet<u32> = leg.iter().copied().collect();
        assert!(!leg.is_empty() && places.len() == leg.len(), "{leg:?}");
        assert_eq!(places, (1..=u32::try_from(leg.len()).unwrap()).collect());
    }
    let facets = found.facets.unwrap();
    let of = |name: &str| facets.facets.iter().find(|facet| facet.name == name).unwrap();
    let count = |name: &str| of(name).values.iter().map(|value| value.count).sum::<usize>();
    assert_eq!((count("project"), count("kind")), (facets.documents, facets.documents), "{facets:?}");
    assert_eq!(of("project").values[0].value, SHOP);
    assert!(of("path").values.iter().any(|value| value.value == "src/"), "{facets:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_apply_to_candidates() {
    let world = embedded().await;
    type Case = (Filter, fn(&Hit) -> bool);
    let cases: [Case; 4] = [
        (Filter { paths: vec!["README".into(), "src/claims".into()], ..Filter::default() }, |hit| {
            let facts = &hit.document.facts;
            ["README", "src/claims"].iter().any(|prefix| facts.paths().any(|path| path.starts_with(prefix)))
        }),
        (Filter { projects: vec![SHOP.to_owned()], ..Filter::default() }, |hit| *hit.document.facts.project == *SHOP),
        (Filter { document_types: vec![DocumentType::Code], ..Filter::default() }, |hit| {
            hit.document.facts.document_type == DocumentType::Code
        }),
        (Filter { nodes: vec!["acme/shop#1".into(), format!("{SHOP}:{TOKEN}")], ..Filter::default() }, |hit| {
            ["acme/shop#1", "acme/shop:src/auth/token.rs"].contains(&&*hit.document.facts.thread)
        }),
    ];
    for (filter, meets) in cases {
        let found = search(&world, SearchRequest { filter: filter.clone(), ..request("tokens") }).await;
        assert!(!found.hits.is_empty() && found.hits.iter().all(meets), "{filter:?}: {:?}", ids(&found.hits));
    }
}
