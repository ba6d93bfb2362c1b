//! Deletes what a forge does not list any more.
//!
//! An unlisted item is gone unless it was fetched after the reading of the list started. The items that mention it
//! (`Graph::items_mentioning`) are fetched again, since a forge does not say that they changed.

use std::collections::{BTreeSet, HashSet};

use backstory_model::id::{NodeId, ThreadId};
use backstory_sources::forge::ThreadList;
use jiff::Timestamp;

use super::{number, project::ProjectSync};
use crate::{error::Result, resources::Resources};

impl ProjectSync<'_> {
    /// A whole list names everything there is: what the ledger has besides is gone, unless it came while the list was
    /// read.
    pub(super) async fn tombstone_unlisted(
        &mut self,
        list: ThreadList,
        listed: Vec<String>,
        began: Timestamp,
    ) -> Result<()> {
        let listed: HashSet<String> = listed.into_iter().collect();
        let nowhere = self
            .no_room
            .keys()
            .filter(|key| !listed.contains(*key) && number(key).is_some_and(|(kind, _)| list.kinds().contains(&kind)));
        let (project, nowhere) = (self.project.to_owned(), nowhere.cloned().collect::<Vec<_>>());
        self.resources.with_ledger(move |ledger| ledger.restore_retired(&project, &nowhere)).await?;
        self.tombstone(list, move |key| !listed.contains(key), Some(began)).await
    }

    /// An issue that has become confidential is gone where none such is read.
    pub(super) async fn tombstone_confidential(&mut self, iids: &[u64]) -> Result<()> {
        if iids.is_empty() {
            return Ok(());
        }
        let confidential: HashSet<String> = iids.iter().map(|iid| format!("#{iid}")).collect();
        let (project, hidden) = (self.project.to_owned(), iids.to_owned());
        self.resources
            .with_ledger(move |ledger| {
                hidden.iter().try_for_each(|iid| ledger.hide_answers(&ThreadId::issue(project.as_str(), *iid)))
            })
            .await?;
        self.tombstone_threads(ThreadList::Issues, move |key| confidential.contains(key)).await
    }

    /// Marks issues or merge requests of a list as gone, with their discussions.
    pub(super) async fn tombstone_threads(
        &mut self,
        list: ThreadList,
        is_gone: impl Fn(&str) -> bool + Send + 'static,
    ) -> Result<()> {
        self.tombstone(list, is_gone, None).await
    }

    /// Those that were fetched before a time of the forge, if one is given.
    async fn tombstone(
        &mut self,
        list: ThreadList,
        is_gone: impl Fn(&str) -> bool + Send + 'static,
        fetched_before: Option<Timestamp>,
    ) -> Result<()> {
        let project = self.project.to_owned();
        let step = move |resources: &Resources| {
            let (ledger, graph) = (resources.ledger(), resources.graph());
            let mut gone = Vec::new();
            let mut stale_referrers = BTreeSet::new();
            for kind in list.kinds() {
                for key in ledger.keys(&project, (*kind).into())? {
                    if !is_gone(&key) {
                        continue;
                    }
                    let items = ledger.thread(&project, &key)?;
                    if fetched_before.is_some_and(|before| items.iter().any(|item| item.fetched_at > before)) {
                        continue;
                    }
                    gone.extend(items.into_iter().map(|item| (item.project, item.kind, item.key)));
                    let Some((kind, iid)) = number(&key) else { continue };
                    let id = ThreadId { project: project.clone(), kind, iid };
                    stale_referrers.extend(graph.items_mentioning(&NodeId::Thread(id))?);
                }
            }
            let count = ledger.tombstone(&gone, Timestamp::now())?;
            let still_there = stale_referrers.into_iter().filter(|item| item.0 == project && !gone.contains(item));
            Ok((count, still_there.filter_map(|(_, _, key)| number(&key)).collect::<Vec<_>>()))
        };
        let (gone, stale_referrers) = self.resources.blocking(step).await?;
        self.report.gone += gone;
        self.stale_referrers.extend(stale_referrers);
        Ok(())
    }
}
