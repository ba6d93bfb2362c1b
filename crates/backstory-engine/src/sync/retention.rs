//! Retention: closed and merged threads that have not changed for long are not kept, whether they were read before or come
//! with a first sync. The forge's clock decides, once for each sync, so that both end alike.

use backstory_model::entity::{Item, ItemKind, State};
use backstory_sources::forge::ThreadListing;
use jiff::Timestamp;

use super::project::ProjectSync;
use crate::{Engine, error::Result};

impl ProjectSync<'_> {
    /// Takes the forge's time for the time of this sync.
    pub(super) fn begin_at(&mut self, forge_time: Timestamp) {
        if let Some(kept) = self.engine.settings().retention.closed {
            self.horizon.get_or_insert(forge_time.checked_sub(kept).unwrap_or(Timestamp::MIN));
        }
    }

    /// Whether a listed item is not kept.
    pub(super) fn is_too_old(&self, listing: &ThreadListing) -> bool {
        let is_closed = matches!(listing.payload["state"].as_str(), Some("closed" | "merged"));
        is_closed && self.horizon.is_some_and(|horizon| listing.updated_at < horizon)
    }

    /// Takes out what has become too old, and the people whom nothing else names.
    pub(super) async fn retire(&mut self) -> Result<()> {
        let Some(horizon) = self.horizon else { return Ok(()) };
        self.committed().await?;
        let (engine, project) = (self.engine.clone(), self.project.to_owned());
        self.report.retired += self.engine.blocking(move || engine.retire(&project, horizon)).await?;
        Ok(())
    }
}

impl Engine {
    /// Says how many objects that were.
    fn retire(&self, project: &str, horizon: Timestamp) -> Result<u64> {
        let mut old = Vec::new();
        for kind in [ItemKind::Issue, ItemKind::MergeRequest] {
            for stored in self.ledger().unchanged_since(project, kind, horizon)? {
                let state = match self.parse(&stored)? {
                    Item::Issue(issue) => issue.thread.state,
                    Item::MergeRequest(request) => request.thread.state,
                    _ => continue,
                };
                if matches!(state, State::Closed | State::Merged) {
                    old.push(stored.key);
                }
            }
        }
        if old.is_empty() {
            return Ok(0);
        }
        let mut gone = Vec::new();
        for key in &old {
            let items = self.ledger().thread(project, key)?.into_iter();
            gone.extend(items.map(|item| (item.project, item.kind, item.key)));
        }
        let people = self.people_only_in(|item| {
            item.project == project && item.thread.as_ref().is_some_and(|thread| old.contains(thread))
        })?;
        gone.extend(people.into_iter().map(|key| (String::new(), ItemKind::Person, key)));
        Ok(self.ledger().bury(&gone, Timestamp::now())?)
    }
}
