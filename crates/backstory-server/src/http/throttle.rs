//! Throttles addresses that show too many wrong tokens.

use std::{
    collections::{BTreeSet, HashMap},
    net::IpAddr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// Wrong tokens that an address may show at once.
const BURST: u32 = 20;
/// After how long it may show one more.
const ANOTHER: Duration = Duration::from_secs(3);
/// Most addresses that are remembered; those that showed a wrong token longest ago are forgotten first.
const MAX_CALLERS: usize = 4096;

/// The addresses that showed wrong tokens.
#[derive(Debug, Default)]
pub(super) struct AuthThrottle(Mutex<HashMap<IpAddr, Caller>>);

#[derive(Debug)]
struct Caller {
    /// Wrong tokens that have not been made good by time.
    wrong: u32,
    /// Up to when time has made good.
    since: Instant,
    /// The right tokens that it showed: others at this address cannot shut out who has one of them.
    right: BTreeSet<usize>,
}

/// Why a token does not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthDenied {
    /// It is none.
    Wrong,
    /// Too many were wrong: this one was not looked at, and the next will be after that time.
    TooMany(Duration),
}

impl Caller {
    fn recover(&mut self, now: Instant) {
        let made_good = now.duration_since(self.since).as_secs() / ANOTHER.as_secs();
        let made_good = u32::try_from(made_good).unwrap_or(u32::MAX);
        self.wrong = self.wrong.saturating_sub(made_good);
        self.since = if self.wrong == 0 { now } else { self.since + ANOTHER * made_good };
    }
}

impl AuthThrottle {
    /// Judges what an address showed: the number of the right token that it is, or none.
    ///
    /// # Errors
    /// It is wrong, or the address showed too many wrong ones to be told.
    pub(super) fn judge(&self, address: IpAddr, token: Option<usize>) -> Result<usize, AuthDenied> {
        let now = Instant::now();
        let mut callers = self.0.lock();
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&address) {
            forget_one(&mut callers);
        }
        let new = || Caller { wrong: 0, since: now, right: BTreeSet::new() };
        let caller = callers.entry(address).or_insert_with(new);
        caller.recover(now);
        match token {
            Some(token) if caller.wrong < BURST || caller.right.contains(&token) => {
                caller.right.insert(token);
                Ok(token)
            }
            _ if caller.wrong >= BURST => Err(AuthDenied::TooMany(
                ANOTHER.saturating_sub(now.duration_since(caller.since)).max(Duration::from_secs(1)),
            )),
            _ => {
                caller.wrong += 1;
                Err(AuthDenied::Wrong)
            }
        }
    }
}

fn forget_one(callers: &mut HashMap<IpAddr, Caller>) {
    let oldest = callers.iter().min_by_key(|(_, caller)| (caller.wrong > 0, caller.since)).map(|(address, _)| *address);
    if let Some(address) = oldest {
        callers.remove(&address);
    }
}
