//! Turns what a forge sent into a batch for the ledger: what can be parsed is stored, the rest is quarantined.

use backstory_model::entity::ItemKind;
use backstory_sources::{
    forge::{self, Origin, Payload, ThreadDetails, UnreadableItem},
    redact::Redactor,
};
use backstory_store::ledger::{IngestBatch, MAX_PAYLOAD, NewItem, NewQuarantined, RetriedItem};

use super::number;
use crate::error::Result;

/// A page that is being filled.
pub(super) struct BatchBuilder<'a> {
    redactor: &'a Redactor,
    origin: &'a Origin,
    pub(super) page: IngestBatch,
}

impl<'a> BatchBuilder<'a> {
    pub(super) fn new(redactor: &'a Redactor, origin: &'a Origin, page: IngestBatch) -> Self {
        Self { redactor, origin, page }
    }

    /// Takes in an issue or merge request with all that came with it; `is_known` says whether it is stored as it was
    /// before. If it is not and cannot be read, nothing of it is taken in: there is nothing that its discussions are
    /// about.
    pub(super) fn thread(
        &mut self,
        details: ThreadDetails,
        is_known: impl Fn(ItemKind, &str) -> Result<bool>,
    ) -> Result<()> {
        let kind = details.thread.kind;
        let key = details.thread.key.clone();
        let project = self.origin.project.clone();
        self.page.retried.push(RetriedItem::Thread(project.clone(), key.clone()));
        let own = if self.item(details.thread, Some(&key)) { self.page.items.pop() } else { None };
        if own.is_none() && !is_known(kind, &key)? {
            return Ok(());
        }
        // One that cannot be told apart may be any that is stored.
        if details.unreadable.iter().all(|wrong| wrong.has_key) {
            self.page.complete_threads.push((project, key.clone()));
        }
        for wrong in details.unreadable {
            self.unreadable(wrong);
        }
        // A new name of somebody comes before what has it already.
        for person in details.people {
            self.item(person, Some(&key));
        }
        self.page.items.extend(own);
        for discussion in details.discussions {
            self.item(discussion, Some(&key));
        }
        Ok(())
    }

    /// Takes in a payload, or puts it aside; says whether it can be read.
    pub(super) fn item(&mut self, mut payload: Payload, thread: Option<&str>) -> bool {
        let found = self.redactor.redact_json(&mut payload.json);
        payload.key = self.clean(&payload.key);
        let parsed = forge::parse(payload.kind, self.origin, &payload.key, &payload.json);
        let bytes = payload.json.to_string().into_bytes();
        let wrong = match parsed {
            Err(wrong) => Some((wrong.field, wrong.reason)),
            Ok(_) if bytes.len() > MAX_PAYLOAD => {
                Some((String::new(), format!("is larger than {} MiB", MAX_PAYLOAD >> 20)))
            }
            Ok(_) => None,
        };
        let Payload { kind, key, updated_at, confidential, .. } = payload;
        if let Some((field, reason)) = wrong {
            self.put_aside(kind, &key, thread, &field, &reason, confidential);
            return false;
        }
        self.page.items.push(NewItem {
            project: self.origin.project.clone(),
            kind,
            key,
            // People came with it, but do not belong to it alone.
            thread: thread.filter(|_| kind != ItemKind::Person).map(str::to_owned),
            updated_at,
            secrets: found.iter().map(|(rule, count)| (rule.to_owned(), count)).collect(),
            confidential,
            payload: bytes,
        });
        true
    }

    /// Puts aside what cannot even be told apart.
    pub(super) fn unreadable(&mut self, wrong: UnreadableItem) {
        let UnreadableItem { kind, key, field, reason, confidential, .. } = wrong;
        let thread = number(&key).map(|(kind, iid)| format!("{}{iid}", kind.sigil()));
        self.put_aside(kind, &key, thread.as_deref(), &field, &reason, confidential);
    }

    /// A text without the secrets in it. A name that appears in other payloads is replaced there alike, so that they
    /// still refer to it.
    pub(super) fn clean(&self, text: &str) -> String {
        self.redactor.redact(text).0.into_owned()
    }

    fn put_aside(
        &mut self,
        kind: ItemKind,
        key: &str,
        thread: Option<&str>,
        field: &str,
        reason: &str,
        confidential: bool,
    ) {
        let (project, key) = (self.origin.project.clone(), self.clean(key));
        tracing::debug!(project, kind = kind.as_str(), key, field, reason, "an item cannot be read and is put aside");
        self.page.put_aside.push(NewQuarantined {
            thread: thread.map(str::to_owned),
            field: self.clean(field),
            reason: self.clean(reason),
            project,
            kind,
            key,
            confidential,
        });
    }
}
