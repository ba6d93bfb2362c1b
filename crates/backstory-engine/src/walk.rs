//! Walks the graph from several nodes at once, along edges by which one text or piece of code leads to another.
//!
//! A level is read from the strongest nodes on, until there are as many as are wanted. A node is tied to where the walk
//! began the more strongly, the fewer edges lead to it and the fewer others could have been reached over the same edges:
//! what a popular file or a much-mentioned issue leads to says little.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use backstory_model::{
    edge::Edge,
    id::{NodeId, NoteSource},
};
use backstory_store::graph::{Direction, EdgesAt, Graph, GraphEdge};

use crate::error::Result;

/// Strength that is left after one edge over which only one node can be reached.
const PER_EDGE: f32 = 0.7;
/// Nodes of a level whose edges are read at once.
const AT_ONCE: usize = 25;
/// Most edges that may lead to a node.
pub(crate) const MAX_EDGES: usize = 2;

/// A node that a walk reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reached {
    /// How strongly it is tied to where the walk began, 0 to 1.
    pub(crate) strength: f32,
    /// The edges that lead to it.
    pub(crate) path: Arc<[GraphEdge]>,
}

impl Reached {
    /// Where a walk begins.
    pub(crate) fn start() -> Self {
        Self { strength: 1.0, path: Arc::default() }
    }
}

/// How far a walk goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Most nodes over edges of one name at one node.
    pub(crate) alternatives: usize,
    /// What happens where there are more.
    pub(crate) crowd: Crowd,
    /// Most nodes of a level from which the next one is read, the strongest.
    pub(crate) frontier: usize,
    /// Most nodes in all, the strongest.
    pub(crate) nodes: usize,
}

/// What a walk does where too many nodes can be reached over edges of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowd {
    /// It goes to none of them.
    Avoid,
    /// It goes to the first ones.
    Cut,
}

/// Where a walk came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walked {
    /// What it reached over one edge or more; also where it began, if it came there from elsewhere.
    pub(crate) nodes: BTreeMap<NodeId, Reached>,
    /// Whether a bound kept it from others.
    pub(crate) is_cut: bool,
}

/// A node whose edges are read next.
struct Step {
    node: NodeId,
    /// Where the walk to it began.
    origin: NodeId,
    reached: Reached,
}

/// Walks from nodes, each with how strongly it counts, over at most [`MAX_EDGES`] edges. Discussions and notes stand for
/// their issue or merge request.
///
/// # Errors
/// The graph cannot be read.
pub(crate) fn walk(graph: &Graph, start: &[(NodeId, f32)], bounds: Bounds) -> Result<Walked> {
    let mut walked = Walked::default();
    let mut strengths: BTreeMap<NodeId, f32> = BTreeMap::new();
    for (node, strength) in start {
        let known = strengths.entry(subject_of(node)).or_default();
        *known = known.max(*strength);
    }
    let begin = |(node, strength): (NodeId, f32)| Step {
        origin: node.clone(),
        node,
        reached: Reached { strength, ..Reached::start() },
    };
    let mut frontier: Vec<Step> = strengths.into_iter().map(begin).collect();
    for edges in 1..=MAX_EDGES {
        frontier = advance(graph, frontier, &mut walked, (bounds, edges < MAX_EDGES))?;
    }
    if walked.nodes.len() > bounds.nodes {
        walked.is_cut = true;
        let mut nodes: Vec<_> = std::mem::take(&mut walked.nodes).into_iter().collect();
        nodes.sort_by(|a, b| b.1.strength.total_cmp(&a.1.strength).then_with(|| a.0.cmp(&b.0)));
        nodes.truncate(bounds.nodes);
        walked.nodes = nodes.into_iter().collect();
    }
    Ok(walked)
}

/// Reads one level; returns what was reached more strongly than before, if another level follows.
fn advance(
    graph: &Graph,
    mut frontier: Vec<Step>,
    walked: &mut Walked,
    (bounds, goes_on): (Bounds, bool),
) -> Result<Vec<Step>> {
    frontier.sort_by(|a, b| b.reached.strength.total_cmp(&a.reached.strength).then_with(|| a.node.cmp(&b.node)));
    walked.is_cut |= frontier.len() > bounds.frontier;
    frontier.truncate(bounds.frontier);
    let mut next = goes_on.then(BTreeMap::new);
    for steps in frontier.chunks(AT_ONCE) {
        // What is left leads to what is tied less strongly than most of what there is.
        if walked.nodes.len() >= bounds.nodes {
            walked.is_cut = true;
            break;
        }
        follow(graph, steps, walked, next.as_mut(), bounds)?;
    }
    Ok(next.map_or_else(Vec::new, |next| next.into_values().collect()))
}

/// Reads the edges of some nodes of a level, and adds what was reached more strongly than before to the next one.
fn follow(
    graph: &Graph,
    steps: &[Step],
    walked: &mut Walked,
    mut next: Option<&mut BTreeMap<NodeId, Step>>,
    bounds: Bounds,
) -> Result<()> {
    let asked: Vec<EdgesAt<'_>> =
        steps.iter().map(|step| EdgesAt { node: &step.node, edges: followed(&step.node) }).collect();
    let ends_of = graph.adjacent_nodes(&asked, bounds.alternatives + 1)?;
    for ((asked, source), ends_of) in asked.iter().zip(steps).zip(ends_of) {
        for ((edge, direction), mut ends) in asked.edges.iter().zip(ends_of.iter().map(|ends| &**ends)) {
            if ends.len() > bounds.alternatives {
                walked.is_cut = true;
                if bounds.crowd == Crowd::Avoid {
                    continue;
                }
                ends = &ends[..bounds.alternatives];
            }
            let strength = source.reached.strength * PER_EDGE * rarity(ends.len());
            for end in ends {
                let node = subject(end);
                let is_known = walked.nodes.get(&*node).is_some_and(|known| known.strength >= strength);
                if is_known || *node == source.origin {
                    continue;
                }
                let last = GraphEdge::at(asked.node, *direction, *edge, end.clone());
                let path = source.reached.path.iter().cloned().chain([last]).collect();
                let reached = Reached { strength, path };
                let node = node.into_owned();
                if let Some(next) = &mut next {
                    let step = Step { node: node.clone(), origin: source.origin.clone(), reached: reached.clone() };
                    next.insert(node.clone(), step);
                }
                walked.nodes.insert(node, reached);
            }
        }
    }
    Ok(())
}

/// How much it says that one of so many nodes was reached: 1 for the only one, 0.32 for one of ten.
fn rarity(alternatives: usize) -> f32 {
    (alternatives.max(1) as f32).sqrt().recip()
}

/// What has edges of its own: of a discussion or note, its issue or merge request; of a design note, what it stands in.
pub(crate) fn subject_of(id: &NodeId) -> NodeId {
    subject(id).into_owned()
}

fn subject(id: &NodeId) -> Cow<'_, NodeId> {
    Cow::Owned(match id {
        NodeId::Discussion { thread, .. } | NodeId::Note { thread, .. } => NodeId::Thread(thread.clone()),
        NodeId::DesignNote { project, source: NoteSource::Commit(sha), .. } => NodeId::commit(project, sha),
        NodeId::DesignNote { project, source: NoteSource::File(path), .. } => NodeId::file(project, path),
        other => return Cow::Borrowed(other),
    })
}

/// The edges by which a node leads to others that may be meant.
///
/// Those to people, labels, milestones and projects are not among them: they lead everywhere. A walk that begins at one
/// of those follows them.
fn followed(id: &NodeId) -> &'static [(Edge, Direction)] {
    use Direction::{In, Out};
    use Edge::{
        Approved, AssignedTo, Authored, Blocks, Calls, CherryPickOf, Closes, CoEvolvesWith, CommentsOn, Contains,
        Duplicates, Extends, Fixes, Implements, Imports, InMilestone, Introduces, Labeled, MergedAs, MergedBy,
        Modifies, PointsAt, Proposes, References, RelatesTo, ReplacedBy, Reverts, Reviewed, VerifiedBy,
    };
    match id {
        NodeId::Thread(_) => &[
            (Closes, Out),
            (Closes, In),
            (Fixes, In),
            (MergedAs, Out),
            (References, Out),
            (References, In),
            (RelatesTo, Out),
            (RelatesTo, In),
            (Duplicates, Out),
            (Duplicates, In),
            (Blocks, Out),
            (Blocks, In),
            (Reverts, In),
            (Proposes, Out),
        ],
        NodeId::Commit { .. } => &[
            (MergedAs, In),
            (MergedBy, Out),
            (MergedBy, In),
            (Closes, Out),
            (Fixes, Out),
            (Fixes, In),
            (Reverts, Out),
            (Reverts, In),
            (CherryPickOf, Out),
            (CherryPickOf, In),
            (References, Out),
            (References, In),
            (Modifies, Out),
            (Introduces, Out),
        ],
        NodeId::File { .. } | NodeId::Entity { .. } => &[
            (Modifies, In),
            (Introduces, In),
            (Proposes, In),
            (CommentsOn, In),
            (References, In),
            (Contains, Out),
            (Contains, In),
            (Calls, Out),
            (Calls, In),
            (Imports, Out),
            (Imports, In),
            (Extends, Out),
            (Extends, In),
            (Implements, Out),
            (Implements, In),
            (VerifiedBy, Out),
            (VerifiedBy, In),
            (CoEvolvesWith, Out),
            (CoEvolvesWith, In),
            (ReplacedBy, Out),
            (ReplacedBy, In),
        ],
        NodeId::Person(_) => &[(Authored, Out), (Reviewed, Out), (Approved, Out), (AssignedTo, In)],
        NodeId::Label { .. } => &[(Labeled, In)],
        NodeId::Milestone { .. } => &[(InMilestone, In)],
        NodeId::Ticket(_) => &[(Fixes, In), (References, In)],
        NodeId::Branch { .. } | NodeId::Tag { .. } => &[(PointsAt, Out)],
        NodeId::Project(_) | NodeId::Discussion { .. } | NodeId::Note { .. } | NodeId::DesignNote { .. } => &[],
    }
}
