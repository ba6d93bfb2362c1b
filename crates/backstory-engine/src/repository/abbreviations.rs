//! Finds and resolves abbreviated object names in messages.

use std::collections::BTreeMap;

use backstory_model::{
    commit::Sha,
    id::NodeId,
    message::{self, RelatedChange},
    reference::ReferenceContext,
};

/// Abbreviated object names, with what each stands for if that is one commit.
pub(crate) type AbbreviatedShas = BTreeMap<String, Option<Sha>>;

/// Those that stand for a commit.
pub(crate) fn known_of(names: &AbbreviatedShas) -> BTreeMap<String, Sha> {
    names.iter().filter_map(|(text, target)| Some((text.clone(), (*target)?))).collect()
}

/// The abbreviated names of commits in a message.
pub(crate) fn abbreviated(message: &str, context: ReferenceContext<'_>) -> Vec<String> {
    let findings = message::parse_references(message, context);
    let earlier = findings.reverts.iter().chain(&findings.cherry_picks);
    let earlier = earlier.chain(findings.corrects.iter().map(|correction| &correction.target));
    let earlier = earlier.filter_map(|earlier| match earlier {
        RelatedChange::Commit { project, sha } if project == context.project => Some(sha),
        _ => None,
    });
    let mentions = findings.mentions.iter().filter_map(|mention| match mention {
        NodeId::Commit { project, sha } if project == context.project => Some(sha),
        _ => None,
    });
    earlier.chain(mentions).filter(|text| text.len() < 40).cloned().collect()
}

/// The commit whose name starts with this, if it is one; `names` are sorted.
pub(crate) fn resolve(text: &str, names: &[Sha]) -> Option<Sha> {
    let padded = Sha::from_hex(format!("{text:0<40}").as_bytes())?;
    let from = names.partition_point(|name| *name < padded);
    let mut matching = names[from..].iter().take_while(|name| name.to_string().starts_with(text));
    matching.next().filter(|_| matching.next().is_none()).copied()
}
