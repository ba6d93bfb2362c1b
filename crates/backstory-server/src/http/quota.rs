//! Quotas: what callers hold for a while, some in all and fewer of one token, so that no token leaves others without.

use std::{collections::HashMap, sync::Arc};

use backstory_engine::model::access::Actor;
use parking_lot::Mutex;

/// How much of something may be held at a time. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Quota {
    in_all: usize,
    of_token: usize,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    in_all: usize,
    of_token: HashMap<Actor, usize>,
}

/// One of what a quota has, which is given back when it is dropped.
#[derive(Debug)]
pub(super) struct QuotaPermit {
    token: Option<Actor>,
    held: Arc<Mutex<Held>>,
}

impl Quota {
    pub(super) fn new(in_all: usize, of_token: usize) -> Self {
        Self { in_all, of_token, held: Arc::default() }
    }

    /// Takes one; `None` if there is none left, or none for the token of who asks. Who has none may hold all: the owner of
    /// the data directory, and this machine where no token is needed.
    pub(super) fn take(&self, who: &Actor) -> Option<QuotaPermit> {
        let token = matches!(who, Actor::Token { .. }).then(|| who.clone());
        let mut held = self.held.lock();
        if held.in_all >= self.in_all {
            return None;
        }
        if let Some(token) = &token {
            let own = held.of_token.entry(token.clone()).or_default();
            if *own >= self.of_token {
                return None;
            }
            *own += 1;
        }
        held.in_all += 1;
        Some(QuotaPermit { token, held: self.held.clone() })
    }
}

impl Drop for QuotaPermit {
    fn drop(&mut self) {
        let mut held = self.held.lock();
        held.in_all -= 1;
        if let Some(token) = &self.token
            && let Some(own) = held.of_token.get_mut(token)
        {
            *own -= 1;
            if *own == 0 {
                held.of_token.remove(token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_its_part_and_leaves_the_rest() {
        let quota = Quota::new(3, 2);
        let token = |name: &str| Actor::Token { id: name.into(), name: name.into() };
        let (ci, other) = (token("ci"), token("other"));
        let mut held: Vec<QuotaPermit> = (0..2).map(|_| quota.take(&ci).unwrap()).collect();
        assert!(quota.take(&ci).is_none());
        held.push(quota.take(&other).unwrap());
        assert!(quota.take(&other).is_none() && quota.take(&Actor::Local).is_none());
        held.remove(0);
        assert!(quota.take(&ci).is_some());
        drop(held);
        let all: Vec<QuotaPermit> = (0..3).map(|_| quota.take(&Actor::Local).unwrap()).collect();
        assert!(quota.take(&Actor::Owner).is_none());
        drop(all);
        assert!(quota.held.lock().of_token.is_empty());
    }
}
