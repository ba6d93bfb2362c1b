//! Throttles addresses that show too many wrong tokens, and tokens that send too many requests.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
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
/// The requests of a minute are so many times those that may come at once.
const BURST_SHARE: f64 = 10.0;
/// After how long a token may send as many requests at once again, at the latest.
const FULL: Duration = Duration::from_secs(60);

/// The addresses that showed wrong tokens.
///
/// `K` tells right tokens apart.
#[derive(Debug)]
pub(super) struct AuthThrottle<K>(Mutex<HashMap<IpAddr, Address<K>>>);

impl<K> Default for AuthThrottle<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[derive(Debug)]
struct Address<K> {
    /// Wrong tokens that have not been made good by time.
    wrong: u32,
    /// Up to when time has made good.
    since: Instant,
    /// The right tokens that it showed: others at this address cannot shut out who has one of them.
    right: BTreeSet<K>,
}

/// Why a token does not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthDenied {
    /// It is none.
    Wrong,
    /// Too many were wrong: this one was not looked at, and the next will be after that time.
    TooMany(Duration),
}

impl<K> Address<K> {
    fn recover(&mut self, now: Instant) {
        let made_good = now.duration_since(self.since).as_secs() / ANOTHER.as_secs();
        let made_good = u32::try_from(made_good).unwrap_or(u32::MAX);
        self.wrong = self.wrong.saturating_sub(made_good);
        self.since = if self.wrong == 0 { now } else { self.since + ANOTHER * made_good };
    }
}

impl<K: Ord + Clone> AuthThrottle<K> {
    /// Judges what an address showed: the right token that it is, or none.
    ///
    /// # Errors
    /// It is wrong, or the address showed too many wrong ones to be told.
    pub(super) fn check(&self, address: IpAddr, token: Option<K>) -> Result<K, AuthDenied> {
        let now = Instant::now();
        let mut callers = self.0.lock();
        if callers.len() >= MAX_CALLERS && !callers.contains_key(&address) {
            forget_one(&mut callers);
        }
        let new = || Address { wrong: 0, since: now, right: BTreeSet::new() };
        let caller = callers.entry(address).or_insert_with(new);
        caller.recover(now);
        match token {
            Some(token) if caller.wrong < BURST || caller.right.contains(&token) => {
                caller.right.insert(token.clone());
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

fn forget_one<K>(callers: &mut HashMap<IpAddr, Address<K>>) {
    let oldest = callers.iter().min_by_key(|(_, caller)| (caller.wrong > 0, caller.since)).map(|(address, _)| *address);
    if let Some(address) = oldest {
        callers.remove(&address);
    }
}

/// How many requests each token has sent lately: a bucket for each, which fills evenly.
#[derive(Debug)]
pub(super) struct RequestRates<K> {
    /// 0 for no limit.
    per_minute: u32,
    buckets: Mutex<BTreeMap<K, Bucket>>,
}

/// The requests that a token may send.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    filled: Instant,
}

impl<K: Ord + Clone> RequestRates<K> {
    /// At most so many requests a minute, and a tenth of them at once.
    pub(super) fn new(per_minute: u32) -> Self {
        Self { per_minute, buckets: Mutex::default() }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// There were too many; after that time there may be one more.
    pub(super) fn take(&self, token: &K) -> Result<(), Duration> {
        if self.per_minute == 0 {
            return Ok(());
        }
        let now = Instant::now();
        let (per_second, most) =
            (f64::from(self.per_minute) / 60.0, (f64::from(self.per_minute) / BURST_SHARE).max(1.0));
        let mut buckets = self.buckets.lock();
        // A token that has sent nothing for a while has a full bucket, and needs none.
        if buckets.len() >= MAX_CALLERS {
            buckets.retain(|_, bucket| now.duration_since(bucket.filled) < FULL);
        }
        let bucket = buckets.entry(token.clone()).or_insert(Bucket { left: most, filled: now });
        bucket.left = (bucket.left + now.duration_since(bucket.filled).as_secs_f64() * per_second).min(most);
        bucket.filled = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / per_second));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_may_send_a_tenth_of_its_requests_at_once() {
        let rates = RequestRates::new(600);
        let sent = (0..100).filter(|_| rates.take(&"ci").is_ok()).count();
        assert!((60..70).contains(&sent), "{sent}");
        assert!(rates.take(&"ci").is_err_and(|wait| wait <= Duration::from_millis(100)));
        assert!(rates.take(&"another").is_ok());
        let unlimited = RequestRates::new(0);
        assert!((0..1000).all(|_| unlimited.take(&"ci").is_ok()));
    }
}
