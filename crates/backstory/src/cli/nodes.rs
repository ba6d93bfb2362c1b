//! How nodes and edges of the graph are printed: short ids with titles, and arrows that read from left to right.

use std::collections::BTreeMap;

use backstory_engine::model::id::NodeId;

use crate::output::{FAINT, escape_terminal};

/// Digits of an object name.
const SHA_DIGITS: usize = 8;

/// `acme/shop@1a2b3c4d Fix it`: the id of a node, that of a commit abbreviated, and its title.
pub(super) fn label(id: &NodeId, titles: &BTreeMap<NodeId, String>) -> String {
    let name = match id {
        NodeId::Commit { project, sha } => format!("{project}@{}", sha.get(..SHA_DIGITS).unwrap_or(sha)),
        id => id.to_string(),
    };
    let name = escape_terminal(&name);
    match titles.get(id) {
        Some(title) => format!("{name} {FAINT}{}{FAINT:#}", escape_terminal(title)),
        None => name,
    }
}

/// `-MODIFIES->`, or `<-MODIFIES-` for an edge that leads to what stands to the left.
pub(super) fn arrow(name: &str, to_the_right: bool) -> String {
    if to_the_right { format!("-{name}->") } else { format!("<-{name}-") }
}
