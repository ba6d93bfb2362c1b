//! Resolves abbreviated object names in messages. A later commit can make a name known, or ambiguous.

use std::collections::BTreeMap;

use backstory_model::{
    commit::Sha,
    id::NodeId,
    message::{self, Earlier},
    reference::Context,
};
use backstory_store::ledger::Page;
use jiff::Timestamp;

use super::{
    commit_record,
    counted::{Counted, fold_commits, put_aggregate},
    sync::{BATCH, Summary, Work},
};
use crate::error::Result;

/// Name of the sum in the ledger.
const NAME: &str = "names";

/// Abbreviated object names, with what each stands for if that is one commit.
pub(super) type Names = BTreeMap<String, Option<Sha>>;

impl Work<'_> {
    /// Says again what abbreviated names stand for where that has changed. `known` are all commits.
    pub(super) fn names(
        &mut self,
        known: &[Sha],
        of: &Counted<'_>,
        all: &mut dyn FnMut() -> Result<Vec<Summary>>,
    ) -> Result<()> {
        let nothing: BTreeMap<Sha, Names> = BTreeMap::new();
        let mut said = fold_commits(self.resources, self.project, NAME, of, all, nothing, |said, summary| {
            if !summary.named.is_empty() {
                said.insert(summary.sha, summary.named.clone());
            }
        })?;
        let changed: Vec<Sha> = said
            .iter()
            .filter(|(_, named)| named.iter().any(|(text, target)| resolve(text, known) != *target))
            .map(|(commit, _)| *commit)
            .collect();
        for batch in changed.chunks(BATCH) {
            let mut page = Page { fetched_at: Timestamp::now(), ..Page::default() };
            for commit in batch {
                let Some(named) = said.get_mut(commit) else { continue };
                named.iter_mut().for_each(|(text, target)| *target = resolve(text, known));
                let Some(mut record) = commit_record(self.resources, self.project, &commit.to_string())? else {
                    continue;
                };
                record.named = known_of(named);
                page.items.push(self.commit_item(&record));
            }
            self.commit(&page)?;
        }
        match changed.is_empty() {
            true => Ok(()),
            false => put_aggregate(self.resources, self.project, NAME, of.now, &said),
        }
    }
}

/// Those that stand for a commit.
pub(super) fn known_of(names: &Names) -> BTreeMap<String, Sha> {
    names.iter().filter_map(|(text, target)| Some((text.clone(), (*target)?))).collect()
}

/// The abbreviated names of commits in a message.
pub(super) fn abbreviated(message: &str, context: Context<'_>) -> Vec<String> {
    let findings = message::read(message, context);
    let earlier = findings.reverts.iter().chain(&findings.cherry_picks);
    let earlier = earlier.chain(findings.corrects.iter().map(|correction| &correction.target));
    let earlier = earlier.filter_map(|earlier| match earlier {
        Earlier::Commit { project, sha } if project == context.project => Some(sha),
        _ => None,
    });
    let mentions = findings.mentions.iter().filter_map(|mention| match mention {
        NodeId::Commit { project, sha } if project == context.project => Some(sha),
        _ => None,
    });
    earlier.chain(mentions).filter(|text| text.len() < 40).cloned().collect()
}

/// The commit whose name begins so, if it is one; `names` are sorted.
pub(super) fn resolve(text: &str, names: &[Sha]) -> Option<Sha> {
    let padded = Sha::from_hex(format!("{text:0<40}").as_bytes())?;
    let from = names.partition_point(|name| *name < padded);
    let mut matching = names[from..].iter().take_while(|name| name.to_string().starts_with(text));
    matching.next().filter(|_| matching.next().is_none()).copied()
}
