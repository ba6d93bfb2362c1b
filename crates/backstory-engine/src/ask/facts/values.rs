//! What is neither a function nor a type: a field, a variable, a constant. That it is declared is no proof of when it came, so
//! the versions of its file tell that.

use std::collections::BTreeMap;

use backstory_model::{
    change_question::ChangeDirection,
    code::{EntityKind, last_part_of_name, name_without_count},
    id::NodeId,
    repository::{CommitRecord, EntityChange},
};

use super::versions::{MAX_ANALYZED, Member, MemberFate, find_members};
use crate::{error::Result, resources::Resources};

/// Most files whose versions are read.
const MAX_FILES: usize = 6;

/// Whether a definition that a commit changed is neither a function nor a type.
pub(super) fn is_value(record: &CommitRecord, node: &NodeId) -> bool {
    let NodeId::Entity { path, name, .. } = node else { return false };
    let is_it = |change: &&EntityChange| change.entity.path.as_str() == path.as_str() && change.entity.name == *name;
    let changed = record.entities.iter().find(is_it);
    changed.is_some_and(|change| matches!(change.kind, EntityKind::Constant | EntityKind::Variable))
}

/// What happened to such definitions, each with its node.
pub(super) async fn find_values(
    resources: &Resources,
    nodes: Vec<NodeId>,
    direction: ChangeDirection,
) -> Result<Vec<(NodeId, MemberFate)>> {
    // Those of one file and name are looked for at once.
    let mut files: BTreeMap<(NodeId, String), Vec<(NodeId, Member)>> = BTreeMap::new();
    for node in nodes {
        let NodeId::Entity { project, path, name } = &node else { continue };
        let (file, member) = (NodeId::file(project, path), member_of(name));
        files.entry((file, member.name.clone())).or_default().push((node, member));
    }
    let mut left = MAX_ANALYZED;
    let mut found = Vec::new();
    for ((file, _), asked) in files.into_iter().take(MAX_FILES) {
        let (nodes, members): (Vec<NodeId>, Vec<Member>) = asked.into_iter().unzip();
        let fates = Box::pin(find_members(resources, &file, members, direction, &mut left)).await?;
        found.extend(nodes.into_iter().zip(fates));
    }
    Ok(found)
}

/// What a qualified name is within what it stands in.
fn member_of(name: &str) -> Member {
    let own = name_without_count(name);
    let last = last_part_of_name(own);
    let holder = own.strip_suffix(last).unwrap_or_default().trim_end_matches(['.', ':']);
    let holder = (!holder.is_empty()).then(|| holder.to_owned());
    Member { holder, name: last.trim_start_matches('$').to_owned(), is_parameter: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_belongs_to_what_it_stands_in() {
        for (name, holder, own) in [
            ("Option.hidden", Some("Option"), "hidden"),
            ("shop::Cart::MAX~2", Some("shop::Cart"), "MAX"),
            ("LEFT", None, "LEFT"),
        ] {
            let member = Member { holder: holder.map(str::to_owned), name: own.to_owned(), is_parameter: false };
            assert_eq!(member_of(name), member);
        }
    }
}
