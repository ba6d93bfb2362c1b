//! The tokens that were made, as they are in the ledger, and what waits to be written to the audit log.

use std::collections::BTreeMap;

use backstory_model::digest::sha256;
use backstory_store::ledger::{IssuedToken, NewOperation, TokenHash};
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, RwLock};
use subtle::ConstantTimeEq as _;

/// What every token begins with, so that people and scanners know one when they see it.
pub(crate) const PREFIX: &str = "bst_";
/// Digits of a token's id.
pub(crate) const ID_LENGTH: usize = 8;
/// Most operations that wait to be written.
const MAX_PENDING: usize = 10_000;
/// How exactly the last use of a token is known.
const USE_PRECISION: SignedDuration = SignedDuration::from_secs(60);

/// See the module.
pub(crate) struct AccessState {
    tokens: RwLock<Vec<(IssuedToken, TokenHash)>>,
    pending: Mutex<Pending>,
    /// Held while what waits is taken out and written, so that it is written when a flush returns.
    pub(crate) flushing: tokio::sync::Mutex<()>,
    /// Held while the tokens are read again, so that an older list never replaces a newer one.
    pub(crate) reloading: tokio::sync::Mutex<()>,
}

/// What waits to be written.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) operations: Vec<NewOperation>,
    /// When tokens were used, by their ids.
    pub(crate) used: BTreeMap<String, Timestamp>,
    /// Operations for which there was no room.
    pub(crate) dropped: u64,
    /// Whether somebody will write it soon.
    is_scheduled: bool,
}

impl AccessState {
    /// With the tokens of a ledger.
    pub(crate) fn new(tokens: Vec<(IssuedToken, TokenHash)>) -> Self {
        Self {
            tokens: RwLock::new(tokens),
            pending: Mutex::default(),
            flushing: tokio::sync::Mutex::default(),
            reloading: tokio::sync::Mutex::default(),
        }
    }

    /// Takes in the tokens of the ledger. One that was revoked here stays so, even if the ledger could not be written.
    pub(crate) fn replace(&self, mut tokens: Vec<(IssuedToken, TokenHash)>) {
        let mut known = self.tokens.write();
        for (token, _) in &mut tokens {
            let before = known.iter().find(|(known, _)| known.id == token.id);
            token.revoked_at = token.revoked_at.or(before.and_then(|(known, _)| known.revoked_at));
        }
        *known = tokens;
    }

    /// Refuses a token from now on.
    pub(crate) fn revoke(&self, id: &str, now: Timestamp) {
        if let Some((token, _)) = self.tokens.write().iter_mut().find(|(token, _)| token.id == id) {
            token.revoked_at = token.revoked_at.or(Some(now));
        }
    }

    /// All tokens.
    pub(crate) fn list(&self) -> Vec<IssuedToken> {
        self.tokens.read().iter().map(|(token, _)| token.clone()).collect()
    }

    /// Whether there is one that is not revoked.
    pub(crate) fn has_tokens(&self) -> bool {
        self.tokens.read().iter().any(|(token, _)| token.revoked_at.is_none())
    }

    /// The valid token with this text. Hashes are compared in constant time, and all of them.
    pub(crate) fn find(&self, text: &str, now: Timestamp) -> Option<IssuedToken> {
        let hash = sha256(text.as_bytes());
        let tokens = self.tokens.read();
        let same = tokens.iter().filter(|(_, known)| bool::from(known.ct_eq(&hash)));
        let token = same.fold(None, |_, (token, _)| Some(token));
        token.filter(|token| token.is_valid(now)).cloned()
    }

    /// The valid token with this id.
    pub(crate) fn valid(&self, id: &str, now: Timestamp) -> Option<IssuedToken> {
        let tokens = self.tokens.read();
        tokens.iter().map(|(token, _)| token).find(|token| token.id == id && token.is_valid(now)).cloned()
    }

    /// Takes in an operation; whether the caller must have it written soon.
    pub(crate) fn push(&self, operation: NewOperation) -> bool {
        let mut pending = self.pending.lock();
        if pending.operations.len() < MAX_PENDING {
            pending.operations.push(operation);
        } else {
            pending.dropped += 1;
        }
        !std::mem::replace(&mut pending.is_scheduled, true)
    }

    /// Takes in that a token is used; whether the caller must have it written soon.
    pub(crate) fn push_use(&self, id: &str, now: Timestamp) -> bool {
        let is_known = |(token, _): &(IssuedToken, TokenHash)| {
            token.id == id && token.last_used_at.is_some_and(|last| now.duration_since(last) < USE_PRECISION)
        };
        if self.tokens.read().iter().any(is_known) {
            return false;
        }
        if let Some((token, _)) = self.tokens.write().iter_mut().find(|(token, _)| token.id == id) {
            token.last_used_at = Some(now);
        }
        let mut pending = self.pending.lock();
        pending.used.insert(id.to_owned(), now);
        !std::mem::replace(&mut pending.is_scheduled, true)
    }

    /// Takes out what waits.
    pub(crate) fn take(&self) -> Pending {
        std::mem::take(&mut *self.pending.lock())
    }

    /// Takes back operations that could not be written, as far as there is room.
    pub(crate) fn put_back(&self, mut operations: Vec<NewOperation>) {
        let mut pending = self.pending.lock();
        operations.append(&mut pending.operations);
        pending.dropped += operations.len().saturating_sub(MAX_PENDING) as u64;
        operations.truncate(MAX_PENDING);
        pending.operations = operations;
    }

    /// Drops what waiting operations asked for.
    pub(crate) fn forget_requests(&self) {
        self.pending.lock().operations.iter_mut().for_each(|operation| operation.request = None);
    }
}
