//! Explores the graph from any node: what is around it, and the shortest path to another. Both walk stated edges in
//! either direction, level by level, and say where a bound ended the walk.

mod generality;
mod measures;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use backstory_model::{
    edge::Edge,
    entity::Item,
    id::{NodeId, is_address},
    repository::Record,
};
use backstory_store::graph::{Graph, MAX_ROWS};
use petgraph::{
    algo::astar,
    graph::{NodeIndex, UnGraph},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    limits::check_range,
    read::{load_items, resolve_id},
    resources::{Resources, blocking},
    use_case::{UseCase, Weight},
};

use self::generality::{GENERAL, OpenNodes, generality};

pub(crate) use self::measures::measure_edges;
pub use self::measures::{EdgeMeasure, EdgeMethod};
pub use backstory_store::graph::GraphEdge;

/// Edges between a node and those of its neighborhood, unless a request asks for more.
pub const DEFAULT_DEPTH: usize = 1;
/// Most edges between a node and those of its neighborhood.
pub const MAX_DEPTH: usize = 3;
/// Nodes of a neighborhood, unless a request asks for more or fewer.
pub const DEFAULT_NEIGHBORS: usize = 100;
/// Most nodes of a neighborhood.
pub const MAX_NEIGHBORS: usize = 1_000;
/// Most edges of a path, unless a request asks for more or fewer.
pub const DEFAULT_LENGTH: usize = 6;
/// Most edges of a path.
pub const MAX_LENGTH: usize = 8;
/// Most edges that are followed from one node of a neighborhood.
const MAX_BRANCHES: usize = 1_000;
/// Most pairs of nodes that the graph is asked about to join two sides; where there are more, one side is read.
const MAX_PAIRS: usize = 200;
/// Most nodes whose edges one request reads.
const MAX_READ_NODES: usize = 5_000;
/// Most edges that one request reads.
const MAX_READ_EDGES: usize = 100_000;
/// How many times as many edges as an issue, a merge request or a commit code is taken to have, every change of which is one,
const EDGES_OF_CODE: usize = 10;
/// and how many a general node.
const EDGES_OF_GENERAL: usize = 100;

/// What the first sentence about left out nodes ends with.
const HOW_TO_GO_ON: &str = "name the edges to follow, or start from an outer node";

/// Requests the nodes around one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighborhoodRequest {
    /// The node.
    pub id: NodeId,
    /// Most edges between it and another, 1 to 3; 1 if absent.
    #[serde(default = "default_depth")]
    pub depth: usize,
    /// Which edges are followed; all if empty.
    #[serde(default)]
    pub edges: BTreeSet<Edge>,
    /// Most nodes, at most 1,000; 100 if absent.
    #[serde(default = "default_neighbors")]
    pub limit: usize,
    /// Whether all edges of the node are counted by their names.
    #[serde(default)]
    pub totals: bool,
}

const fn default_depth() -> usize {
    DEFAULT_DEPTH
}

const fn default_neighbors() -> usize {
    DEFAULT_NEIGHBORS
}

impl UseCase for NeighborhoodRequest {
    const NAME: &'static str = "neighborhood";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Neighborhood;

    async fn run(self, resources: &Resources) -> Result<Neighborhood> {
        find_neighborhood(resources, self).await
    }
}

/// The nodes around one. It goes on from no project, and from people, labels, milestones and tags only if the request names
/// edges: what two nodes have in common with many others says little. With a higher limit there are more nodes, and all that
/// were there before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Neighborhood {
    /// The nodes, the nearest first; of those equally near issues, merge requests, commits and code first, then what has to do
    /// with many nodes; then by id. Without the one that they are around.
    pub neighbors: Vec<Neighbor>,
    /// Titles of issues, merge requests and commits among them, and names of people, as far as they are known.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    pub titles: BTreeMap<NodeId, String>,
    /// The edges over which they were reached, and others between them that were met, in order.
    pub edges: Vec<GraphEdge>,
    /// How many edges of each type the node has that they are around, whether they were followed or not, the most first; empty
    /// unless that was asked for.
    #[serde(default)]
    pub totals: Vec<EdgeTotal>,
    /// What bounds left out, a sentence each; empty if nothing. The first one says how to go on.
    pub left_out: Vec<String>,
}

/// How many edges of a type a node has, in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EdgeTotal {
    /// The type.
    pub edge: Edge,
    /// How many; at most 20,000 of a direction are counted, of all types together.
    pub count: usize,
}

/// A node of a neighborhood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Neighbor {
    /// The node.
    pub id: NodeId,
    /// Fewest edges to it.
    pub distance: usize,
}

/// Requests the shortest path between two nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathRequest {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Which edges are followed; all if empty, and then over no people, labels, milestones and tags but the ends.
    #[serde(default)]
    pub edges: BTreeSet<Edge>,
    /// Most edges, 1 to 8; 6 if absent.
    #[serde(default = "default_length")]
    pub max_length: usize,
}

const fn default_length() -> usize {
    DEFAULT_LENGTH
}

impl UseCase for PathRequest {
    const NAME: &'static str = "path";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = PathAnswer;

    async fn run(self, resources: &Resources) -> Result<PathAnswer> {
        find_path(resources, self).await
    }
}

/// The shortest path between two nodes. It runs over no project and no address that stands for nobody in particular, since
/// everything is linked with these, and over people, labels, milestones and tags only if the request names edges, since what two
/// nodes have in common with many others says little. It may start or end at any of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathAnswer {
    /// Its nodes from one end to the other; empty if there is none.
    pub nodes: Vec<NodeId>,
    /// Titles of issues, merge requests and commits among them, and names of people, as far as they are known.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    pub titles: BTreeMap<NodeId, String>,
    /// Its edges in the same order; each starts at either of its two nodes.
    pub edges: Vec<GraphEdge>,
    /// What was left out because of limits, a sentence each. If this is empty, the path is a shortest one, and if there
    /// is no path, there is none of that length.
    pub left_out: Vec<String>,
}

/// Finds the nodes around one.
///
/// # Errors
/// Nothing is known of the node, a bound is exceeded, or the graph cannot be read.
async fn find_neighborhood(resources: &Resources, request: NeighborhoodRequest) -> Result<Neighborhood> {
    check_range("the depth", request.depth, MAX_DEPTH)?;
    if request.limit > MAX_NEIGHBORS {
        return Err(Error::invalid(format!("{} nodes were asked for; at most {MAX_NEIGHBORS}", request.limit)));
    }
    let id = resolve_id(resources, request.id).await?;
    let graph = resources.graph();
    let mut found = blocking(move || {
        let open = OpenNodes::new(&graph, [&id, &id], &request.edges)?;
        let mut walk = Walk::new(&graph, request.edges, MAX_BRANCHES);
        walk.check_known(&id)?;
        let mut distances = BTreeMap::from([(id.clone(), 0)]);
        let mut frontier = vec![id.clone()];
        let mut omitted = 0;
        for distance in 1..=request.depth {
            let room = (request.limit + 1).saturating_sub(distances.len());
            if room == 0 {
                walk.left_out
                    .push(format!("what is {distance} edges away; at most {} nodes were asked for", request.limit));
                break;
            }
            // Some of them may be known.
            let enough = room + distances.len();
            let (reached, unread) = walk.expand(&frontier, |_, reached| reached > enough)?;
            if unread > 0 {
                walk.left_out.push(format!("the edges of {unread} nodes; others led to enough nodes"));
            }
            let mut reached: Vec<NodeId> = reached.into_iter().filter(|node| !distances.contains_key(node)).collect();
            omitted += reached.len().saturating_sub(room);
            reached.truncate(room);
            distances.extend(reached.iter().map(|node| (node.clone(), distance)));
            reached.retain(|node| open.has(node));
            frontier = reached;
        }
        if omitted > 0 {
            walk.left_out.insert(0, format!("at least {omitted} more nodes; the limit is {}", request.limit));
        }
        if let Some(first) = walk.left_out.first_mut() {
            let can_raise = omitted > 0 && request.limit < MAX_NEIGHBORS;
            first.push_str(if can_raise { "; for more, raise the limit, " } else { "; for more, " });
            first.push_str(HOW_TO_GO_ON);
        }
        let is_kept = |edge: &GraphEdge| distances.contains_key(&edge.from) && distances.contains_key(&edge.to);
        let edges = walk.edges.iter().filter(|edge| is_kept(edge)).cloned().collect();
        distances.remove(&id);
        let mut neighbors: Vec<Neighbor> =
            distances.into_iter().map(|(id, distance)| Neighbor { id, distance }).collect();
        // By id already.
        neighbors.sort_by_key(|neighbor| (neighbor.distance, generality(&neighbor.id)));
        let totals = if request.totals { count_by_type(&graph, &id)? } else { Vec::new() };
        Ok(Neighborhood { neighbors, edges, totals, left_out: walk.left_out, ..Neighborhood::default() })
    })
    .await?;
    found.titles = find_titles(resources, found.neighbors.iter().map(|neighbor| &neighbor.id)).await?;
    Ok(found)
}

fn count_by_type(graph: &Graph, id: &NodeId) -> Result<Vec<EdgeTotal>> {
    let mut counts: BTreeMap<Edge, usize> = BTreeMap::new();
    for (_, at) in graph.edges_around(id, None)?.edges {
        *counts.entry(at.edge).or_default() += 1;
    }
    let mut totals: Vec<EdgeTotal> = counts.into_iter().map(|(edge, count)| EdgeTotal { edge, count }).collect();
    totals.sort_by_key(|total| Reverse(total.count));
    Ok(totals)
}

/// The titles of issues, merge requests and commits among nodes, and the names of people whom commits know by an address.
async fn find_titles(resources: &Resources, nodes: impl Iterator<Item = &NodeId>) -> Result<BTreeMap<NodeId, String>> {
    let has_title = |node: &&NodeId| match node {
        NodeId::Thread(_) | NodeId::Commit { .. } => true,
        NodeId::Person(name) => is_address(name),
        _ => false,
    };
    let items = load_items(resources, nodes.filter(has_title).cloned().collect()).await?;
    let title = |(id, item): (NodeId, Item)| {
        let title = match &item {
            Item::Identity(identity) => identity.names.first().cloned(),
            Item::Repository(of) => match &of.record {
                Record::Commit(record) => Some(record.commit.title().to_owned()),
                _ => None,
            },
            item => item.as_thread().map(|thread| thread.title.clone()),
        };
        Some((id, title.filter(|title| !title.is_empty())?))
    };
    Ok(items.into_iter().filter_map(title).collect())
}

/// Finds the shortest path between two nodes. Walks from both ends, on the side where there is less to read first, until they
/// meet.
///
/// # Errors
/// Nothing is known of a node, a bound is exceeded, or the graph cannot be read.
async fn find_path(resources: &Resources, request: PathRequest) -> Result<PathAnswer> {
    check_range("the length of a path", request.max_length, MAX_LENGTH)?;
    let from = resolve_id(resources, request.from).await?;
    let to = resolve_id(resources, request.to).await?;
    let graph = resources.graph();
    let mut found = blocking(move || {
        let open = OpenNodes::new(&graph, [&from, &to], &request.edges)?;
        let mut walk = Walk::new(&graph, request.edges, usize::MAX);
        walk.check_known(&from)?;
        walk.check_known(&to)?;
        let (mut near, mut far) = (Side::new(&from), Side::new(&to));
        let mut length = 0;
        while !near.meets(&far) && length < request.max_length {
            if let Some(end) = walk.join(&near, &far)? {
                near.reached.insert(end);
                break;
            }
            let is_near = near.reading_cost() <= far.reading_cost();
            let (side, other) = if is_near { (&mut near, &far) } else { (&mut far, &near) };
            if side.frontier.is_empty() {
                break;
            }
            side.advance(&mut walk, other, &open)?;
            length += 1;
        }
        let nodes = if near.meets(&far) { walk.shortest_path(&from, &to, &open) } else { Vec::new() };
        let edges = nodes.windows(2).filter_map(|ends| walk.edge_between(&ends[0], &ends[1])).collect();
        Ok(PathAnswer { nodes, edges, left_out: walk.left_out, ..PathAnswer::default() })
    })
    .await?;
    found.titles = find_titles(resources, found.nodes.iter()).await?;
    Ok(found)
}

/// What was reached from one end of a path.
struct Side {
    reached: BTreeSet<NodeId>,
    /// Those that were reached last.
    frontier: BTreeSet<NodeId>,
}

impl Side {
    fn new(end: &NodeId) -> Self {
        let reached = BTreeSet::from([end.clone()]);
        Self { frontier: reached.clone(), reached }
    }

    fn meets(&self, other: &Self) -> bool {
        !self.reached.is_disjoint(&other.reached)
    }

    /// About how much it takes to go on by one edge: a person or a label has edges to much of a project.
    fn reading_cost(&self) -> usize {
        let edges = |node| match generality(node) {
            0 => 1,
            GENERAL.. => EDGES_OF_GENERAL,
            _ => EDGES_OF_CODE,
        };
        self.frontier.iter().map(edges).sum()
    }

    /// Goes on by one edge, until it meets the other side, over the nodes that are open to the path.
    fn advance(&mut self, walk: &mut Walk<'_>, other: &Self, open: &OpenNodes) -> Result<()> {
        // What says more comes first, and is what the path runs over.
        let mut frontier: Vec<&NodeId> = self.frontier.iter().collect();
        frontier.sort_by_key(|node| generality(node));
        let (next, _) = walk.expand(frontier, |node, _| other.reached.contains(node))?;
        self.frontier = next.into_iter().filter(|node| !self.reached.contains(node) && open.has(node)).collect();
        self.reached.extend(self.frontier.iter().cloned());
        Ok(())
    }
}

/// The part of the graph that one request reads.
struct Walk<'a> {
    graph: &'a Graph,
    /// Which edges are followed; all if empty.
    names: BTreeSet<Edge>,
    /// Most edges that are followed from one node.
    branches: usize,
    edges: BTreeSet<GraphEdge>,
    read_nodes: usize,
    read_edges: usize,
    left_out: Vec<String>,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a Graph, names: BTreeSet<Edge>, branches: usize) -> Self {
        Self { graph, names, branches, edges: BTreeSet::new(), read_nodes: 0, read_edges: 0, left_out: Vec::new() }
    }

    /// Refuses a node that the graph does not know and that nothing refers to.
    fn check_known(&self, id: &NodeId) -> Result<()> {
        if self.graph.exists(id)? || !self.graph.edges_around(id, None)?.edges.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::NotFound, format!("nothing is known about {id}")))
    }

    fn has_room(&self) -> bool {
        self.read_nodes < MAX_READ_NODES && self.read_edges < MAX_READ_EDGES
    }

    /// Reads the edges of nodes, one after the other until a node that is reached, or how many are, is enough. Returns the nodes
    /// at their other ends, each once, those of the first node first, of which those that say more; and how many nodes were
    /// not needed.
    fn expand<'n>(
        &mut self,
        frontier: impl IntoIterator<Item = &'n NodeId, IntoIter: ExactSizeIterator>,
        is_enough: impl Fn(&NodeId, usize) -> bool,
    ) -> Result<(Vec<NodeId>, usize)> {
        let (mut reached, mut known) = (Vec::new(), BTreeSet::new());
        let mut frontier = frontier.into_iter();
        while let Some(node) = frontier.next() {
            if !self.has_room() {
                let rest = frontier.len() + 1;
                self.left_out.push(format!(
                    "the edges of {rest} nodes; one request reads {MAX_READ_NODES} nodes and {MAX_READ_EDGES} edges"
                ));
                break;
            }
            self.read_nodes += 1;
            let first = reached.len();
            let mut has_enough = false;
            for edge in self.read_edges_of(node)? {
                let end = if edge.from == *node { &edge.to } else { &edge.from };
                if known.insert(end.clone()) {
                    reached.push(end.clone());
                }
                has_enough |= is_enough(end, reached.len());
                self.edges.insert(edge);
            }
            reached[first..].sort_by_cached_key(|node| (generality(node), node.clone()));
            if has_enough {
                return Ok((reached, frontier.len()));
            }
        }
        Ok((reached, 0))
    }

    /// Looks for edges between what both sides reached last, and returns an end of one at the far side. None are looked for
    /// where there are too many pairs.
    fn join(&mut self, near: &Side, far: &Side) -> Result<Option<NodeId>> {
        if near.frontier.len() * far.frontier.len() > MAX_PAIRS {
            return Ok(None);
        }
        let mut end = None;
        for one in &near.frontier {
            for other in &far.frontier {
                for (direction, edge) in self.graph.edges_between(one, other)? {
                    if self.names.is_empty() || self.names.contains(&edge) {
                        self.edges.insert(GraphEdge::at(one, direction, edge, other.clone()));
                        end = Some(other.clone());
                    }
                }
            }
        }
        Ok(end)
    }

    fn read_edges_of(&mut self, node: &NodeId) -> Result<Vec<GraphEdge>> {
        let names: Vec<Option<Edge>> = match self.names.len() {
            0 => vec![None],
            _ => self.names.iter().copied().map(Some).collect(),
        };
        let mut edges = Vec::new();
        let mut is_cut = false;
        for only in names {
            let around = self.graph.edges_around(node, only)?;
            is_cut |= around.may_have_more;
            let adjacent = around.edges.into_iter();
            edges.extend(adjacent.map(|(direction, at)| GraphEdge::at(node, direction, at.edge, at.other)));
        }
        if is_cut {
            self.left_out.push(format!("edges of {node} beyond the first {MAX_ROWS} of a direction"));
        }
        let room = self.branches.min(MAX_READ_EDGES - self.read_edges.min(MAX_READ_EDGES));
        if edges.len() > room {
            self.left_out.push(format!("{} edges of {node}; the first {room} were followed", edges.len() - room));
            edges.truncate(room);
        }
        self.read_edges += edges.len();
        Ok(edges)
    }

    /// The shortest path over the edges that were read and the nodes that are open to it. Of equally short ones that counts which
    /// goes least from commits to their parents: that one came after the other says little.
    fn shortest_path(&self, from: &NodeId, to: &NodeId, open: &OpenNodes) -> Vec<NodeId> {
        const STEP: usize = 1_000;
        let mut graph = UnGraph::<&NodeId, usize>::new_undirected();
        let mut indices: BTreeMap<&NodeId, NodeIndex> = BTreeMap::new();
        for id in [from, to].into_iter().chain(self.edges.iter().flat_map(|edge| [&edge.from, &edge.to])) {
            indices.entry(id).or_insert_with(|| graph.add_node(id));
        }
        for edge in self.edges.iter().filter(|edge| open.has(&edge.from) && open.has(&edge.to)) {
            let cost = STEP + usize::from(edge.edge == Edge::ParentOf);
            graph.add_edge(indices[&edge.from], indices[&edge.to], cost);
        }
        let goal = indices[to];
        let path = astar(&graph, indices[from], |node| node == goal, |edge| *edge.weight(), |_| 0);
        path.map_or_else(Vec::new, |(_, nodes)| nodes.into_iter().map(|index| graph[index].clone()).collect())
    }

    /// The first of the edges between two nodes, in either direction.
    fn edge_between(&self, one: &NodeId, other: &NodeId) -> Option<GraphEdge> {
        let mut edges = self.edges.iter();
        let joins =
            |edge: &&GraphEdge| (edge.from == *one && edge.to == *other) || (edge.from == *other && edge.to == *one);
        edges.find(joins).cloned()
    }
}
