//! PageRank by power iteration: the share of a random walk along the edges that is spent at each node.
//!
//! The same edges give the same bits, in whatever order they come.

/// An edge between two nodes by their numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedEdge {
    /// Where it starts, below the number of nodes.
    pub from: u32,
    /// Where it ends, below the number of nodes.
    pub to: u32,
    /// How often it is taken compared to the others that start there; above 0.
    pub weight: f32,
}

/// How the walk goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageRankSettings {
    /// Share of steps along an edge; the others go anywhere.
    pub damping: f64,
    /// Iteration stops when all ranks together change by less.
    pub tolerance: f64,
    /// Most iterations.
    pub iterations: u32,
}

impl Default for PageRankSettings {
    fn default() -> Self {
        Self { damping: 0.85, tolerance: 1e-9, iterations: 100 }
    }
}

/// Edges by the node they end at, with the share of a step that each carries.
struct Incoming {
    /// Where the edges of each node begin in `sources`; one more at the end.
    starts: Vec<usize>,
    sources: Vec<(u32, f64)>,
    /// Nodes without a way out.
    dangling: Vec<u32>,
}

/// The rank of every node by its number; together they are 1. Edges whose ends do not exist and weights that are not
/// above 0 and finite are left out; parallel edges add up. What dangling nodes have goes to all nodes alike.
pub fn pagerank(nodes: u32, edges: &[WeightedEdge], settings: PageRankSettings) -> Vec<f64> {
    if nodes == 0 {
        return Vec::new();
    }
    let incoming = incoming(nodes, edges);
    let even = 1.0 / f64::from(nodes);
    let mut ranks = vec![even; nodes as usize];
    let mut next = vec![0.0; nodes as usize];
    for _ in 0..settings.iterations {
        let lost: f64 = incoming.dangling.iter().map(|&node| ranks[node as usize]).sum();
        let base = (1.0 - settings.damping + settings.damping * lost) * even;
        let mut change = 0.0;
        for (node, slot) in next.iter_mut().enumerate() {
            let sources = &incoming.sources[incoming.starts[node]..incoming.starts[node + 1]];
            let flow: f64 = sources.iter().map(|&(source, share)| ranks[source as usize] * share).sum();
            *slot = base + settings.damping * flow;
            change += (*slot - ranks[node]).abs();
        }
        std::mem::swap(&mut ranks, &mut next);
        if change < settings.tolerance {
            break;
        }
    }
    let sum: f64 = ranks.iter().sum();
    ranks.iter_mut().for_each(|rank| *rank /= sum);
    ranks
}

fn incoming(nodes: u32, edges: &[WeightedEdge]) -> Incoming {
    let usable =
        |edge: &&WeightedEdge| edge.from < nodes && edge.to < nodes && edge.weight > 0.0 && edge.weight.is_finite();
    let mut sorted: Vec<WeightedEdge> = edges.iter().filter(usable).copied().collect();
    // Sums of floating point numbers depend on their order, so that is fixed here for all of them.
    sorted.sort_unstable_by(|a, b| (a.to, a.from).cmp(&(b.to, b.from)).then_with(|| a.weight.total_cmp(&b.weight)));
    let mut leaving = vec![0.0f64; nodes as usize];
    sorted.iter().for_each(|edge| leaving[edge.from as usize] += f64::from(edge.weight));
    let mut starts = vec![0usize; nodes as usize + 1];
    sorted.iter().for_each(|edge| starts[edge.to as usize + 1] += 1);
    for node in 0..nodes as usize {
        starts[node + 1] += starts[node];
    }
    let share = |edge: &WeightedEdge| (edge.from, f64::from(edge.weight) / leaving[edge.from as usize]);
    let sources = sorted.iter().map(share).collect();
    let dangling = (0..nodes).filter(|&node| leaving[node as usize] == 0.0).collect();
    Incoming { starts, sources, dangling }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edge(from: u32, to: u32, weight: f32) -> WeightedEdge {
        WeightedEdge { from, to, weight }
    }

    #[test]
    fn ranks_what_is_pointed_at() {
        let ranks = pagerank(4, &[edge(0, 3, 1.0), edge(1, 3, 1.0), edge(2, 1, 1.0)], PageRankSettings::default());
        assert!(ranks[3] > ranks[1] && ranks[1] > ranks[0] && ranks[0] == ranks[2], "{ranks:?}");
        let ring = pagerank(3, &[edge(0, 1, 1.0), edge(1, 2, 1.0), edge(2, 0, 1.0)], PageRankSettings::default());
        assert!(ring.iter().all(|rank| (rank - 1.0 / 3.0).abs() < 1e-12));
    }

    #[test]
    fn agrees_with_the_closed_form_for_two_nodes() {
        // Node 1 has no way out: r0 = 0.15/2 + 0.85 r1/2, r1 = r0 + 0.85 r0, so r0 = 1 / 2.85.
        let ranks = pagerank(2, &[edge(0, 1, 1.0)], PageRankSettings::default());
        assert!((ranks[0] - 1.0 / 2.85).abs() < 1e-8, "{ranks:?}");
    }

    #[test]
    fn weights_divide_the_flow() {
        let edges = [edge(0, 1, 3.0), edge(0, 2, 1.0), edge(1, 0, 1.0), edge(2, 0, 1.0)];
        let ranks = pagerank(3, &edges, PageRankSettings::default());
        let flow = |node: usize| ranks[node] - 0.15 / 3.0;
        assert!((flow(1) / flow(2) - 3.0).abs() < 1e-6, "{ranks:?}");
    }

    #[test]
    fn leaves_out_what_is_no_edge() {
        let bad = [edge(0, 9, 1.0), edge(0, 1, f32::NAN), edge(0, 1, -1.0), edge(1, 0, f32::INFINITY)];
        assert_eq!(pagerank(2, &bad, PageRankSettings::default()), [0.5, 0.5]);
        assert!(pagerank(0, &[], PageRankSettings::default()).is_empty());
    }

    fn graphs() -> impl Strategy<Value = (u32, Vec<(u32, u32, u8)>)> {
        (1u32..20).prop_flat_map(|nodes| (Just(nodes), prop::collection::vec((0..nodes, 0..nodes, 1u8..9), 0..60)))
    }

    proptest! {
        #[test]
        fn mass_is_one_and_the_order_of_edges_does_not_matter((nodes, edges) in graphs(), turn in 0usize..60) {
            let mut edges: Vec<_> = edges.into_iter().map(|(a, b, w)| edge(a, b, f32::from(w) / 7.0)).collect();
            let ranks = pagerank(nodes, &edges, PageRankSettings::default());
            prop_assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(ranks.iter().all(|rank| *rank > 0.0));
            let turn = turn.min(edges.len());
            edges.rotate_left(turn);
            edges.reverse();
            let bits = |ranks: &[f64]| ranks.iter().map(|rank| rank.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&ranks), bits(&pagerank(nodes, &edges, PageRankSettings::default())));
        }
    }
}
