//! Writes what was fetched to the ledger: a batch, or a project with what is listed of it as a whole.

use std::{collections::HashSet, sync::Arc};

use backstory_model::entity::ItemKind;
use backstory_sources::forge::{self, ParsedList, Payload, UnreadableItem};
use backstory_store::ledger::{IngestBatch, IngestCounts, RetriedItem};
use jiff::Timestamp;

use super::batch::BatchBuilder;
use crate::{
    error::{Error, ErrorKind, Result},
    records::load_origin,
    resources::Resources,
    settings::ForgeKind,
};

/// What is read with the project itself.
pub(super) const OF_PROJECT: [ItemKind; 4] =
    [ItemKind::Project, ItemKind::Label, ItemKind::Milestone, ItemKind::Release];

/// What a step wrote.
pub(super) struct Committed {
    pub(super) changes: IngestCounts,
    pub(super) put_aside: Vec<(ItemKind, String)>,
}

/// Stores a project with its labels, milestones and releases; those that it had and has no more are gone. If the project itself
/// cannot be read, it stays as it was before.
pub(super) fn ingest_project(
    resources: &Resources,
    kind: ForgeKind,
    project: &str,
    own: Payload,
    parts: Vec<ParsedList>,
) -> Result<Committed> {
    let now = Timestamp::now();
    let ledger = resources.ledger();
    let (origin, own) = match forge::parse_project(kind, project, &own.json) {
        Ok(origin) => (Arc::new(origin), Ok(own)),
        Err(wrong) => {
            // Nothing can be told of what it has either, unless it could be read before.
            let known =
                ledger.item(project, ItemKind::Project, "project")?.and_then(|_| load_origin(resources, project).ok());
            let origin = known.ok_or_else(|| {
                let message = format!(
                    "{project} cannot be read: in what its forge says about the project itself, {} {}; 'backstory sync' \
                     asks for it again",
                    wrong.field, wrong.reason
                );
                Error::new(ErrorKind::Upstream, message)
            })?;
            let (field, reason) = (wrong.field, wrong.reason);
            let (kind, key) = (ItemKind::Project, "project".to_owned());
            (origin, Err(UnreadableItem { kind, key, has_key: true, field, reason, confidential: false }))
        }
    };
    let retried = OF_PROJECT.map(|kind| RetriedItem::Kind(project.to_owned(), kind)).to_vec();
    let page = IngestBatch { fetched_at: now, retried, ..IngestBatch::default() };
    let mut intake = BatchBuilder::new(resources.redactor(), &origin, page);
    match own {
        Ok(own) => {
            intake.item(own, None);
        }
        Err(wrong) => intake.unreadable(wrong),
    }
    let mut listed: HashSet<(ItemKind, String)> = HashSet::new();
    // Where one cannot be told apart, it may be any of those that are stored.
    let mut unsure: HashSet<ItemKind> = HashSet::new();
    for part in parts {
        for payload in part.payloads {
            // Of names that are the same without their secrets the first one counts.
            if listed.insert((payload.kind, intake.clean(&payload.key))) {
                intake.item(payload, None);
            }
        }
        for wrong in part.unreadable {
            unsure.extend((!wrong.has_key).then_some(wrong.kind));
            listed.insert((wrong.kind, intake.clean(&wrong.key)));
            intake.unreadable(wrong);
        }
    }
    let committed = ingest_batch(resources, intake)?;
    let mut gone = Vec::new();
    for kind in OF_PROJECT.into_iter().skip(1).filter(|kind| !unsure.contains(kind)) {
        for key in ledger.keys(project, kind)? {
            if !listed.contains(&(kind, key.clone())) {
                gone.push((project.to_owned(), kind, key));
            }
        }
    }
    ledger.tombstone(&gone, now)?;
    Ok(committed)
}

/// Stores a batch.
pub(super) fn ingest_batch(resources: &Resources, intake: BatchBuilder<'_>) -> Result<Committed> {
    let BatchBuilder { page, .. } = intake;
    let changes = resources.ledger().ingest(&page)?;
    let put_aside = page.put_aside.into_iter().map(|of| (of.kind, of.key)).collect();
    Ok(Committed { changes, put_aside })
}
