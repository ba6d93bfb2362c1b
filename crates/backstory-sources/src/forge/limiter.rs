//! The rate limiter: when the next request to a forge may be sent.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The second of "requests per second".
const WINDOW: Duration = Duration::from_secs(1);
/// A request that is not answered is taken to have arrived after this time at the latest.
const LATEST_ARRIVAL: Duration = Duration::from_secs(1);

/// Lets requests go one after the other, evenly spaced, so that no second at the server sees more than the limit.
///
/// When a request arrives is known only to lie between its sending and its answer, and a busy network or server can
/// bring requests that were sent apart close together. So a request occupies one of as many slots as the limit allows
/// until a second after its answer: whenever another is sent, fewer than the limit can have arrived within the second
/// before.
pub(crate) struct Limiter {
    per_second: usize,
    queue: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    paused_until: Option<Instant>,
    next_start: Option<Instant>,
    slots: Vec<Slot>,
    last_ticket: u64,
}

struct Slot {
    ticket: u64,
    free_at: Instant,
}

/// The right to send one request. It must be told, or dropped, when the answer begins.
pub(crate) struct Permit<'a> {
    limiter: &'a Limiter,
    ticket: Option<u64>,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.limiter.state().answered(ticket, Instant::now());
            self.limiter.changed.notify_one();
        }
    }
}

impl Limiter {
    /// 0 for no limit.
    pub(crate) fn new(per_second: u32) -> Self {
        Self {
            per_second: per_second as usize,
            queue: tokio::sync::Mutex::new(()),
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Waits in the queue for the right to send a request.
    pub(crate) async fn acquire(&self) -> Permit<'_> {
        let _first_in_queue = self.queue.lock().await;
        loop {
            let later = match self.state().start(self.per_second, Instant::now()) {
                Ok(ticket) => return Permit { limiter: self, ticket },
                Err(later) => later,
            };
            tokio::select! {
                () = sleep_until(later) => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// Sends nothing for some time.
    pub(crate) fn pause(&self, duration: Duration) {
        self.state().pause(Instant::now() + duration);
    }

    /// What remains of the pause.
    pub(crate) fn pause_left(&self) -> Duration {
        self.state().paused_until.map(|until| until.saturating_duration_since(Instant::now())).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// A ticket if a request may start now, else when to ask again. There are no tickets without a limit.
    fn start(&mut self, per_second: usize, now: Instant) -> Result<Option<u64>, Instant> {
        if let Some(until) = self.paused_until.filter(|&until| until > now) {
            return Err(until);
        }
        if per_second == 0 {
            return Ok(None);
        }
        if let Some(at) = self.next_start.filter(|&at| at > now) {
            return Err(at);
        }
        self.slots.retain(|slot| slot.free_at > now);
        if self.slots.len() >= per_second {
            return Err(self.slots.iter().map(|slot| slot.free_at).min().unwrap_or(now));
        }
        self.last_ticket += 1;
        self.slots.push(Slot { ticket: self.last_ticket, free_at: now + LATEST_ARRIVAL + WINDOW });
        self.next_start = Some(now + WINDOW / per_second as u32);
        Ok(Some(self.last_ticket))
    }

    fn answered(&mut self, ticket: u64, now: Instant) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.ticket == ticket) {
            slot.free_at = slot.free_at.min(now + WINDOW);
        }
    }

    fn pause(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds that the i-th request takes to arrive, and its answer to return.
    type Latency = fn(u64) -> (u64, u64);

    /// When requests arrive, in milliseconds, if each is sent as soon as it may be.
    fn arrivals(per_second: usize, requests: u64, latency: Latency) -> Vec<u64> {
        let (start, mut state, mut now) = (Instant::now(), State::default(), 0);
        let at = |ms: u64| start + Duration::from_millis(ms);
        let (mut answers, mut arrivals) = (Vec::<(u64, u64)>::new(), Vec::new());
        for i in 0..requests {
            let ticket = loop {
                answers.retain(|&(when, ticket)| {
                    if when <= now {
                        state.answered(ticket, at(when));
                    }
                    when > now
                });
                match state.start(per_second, at(now)) {
                    Ok(ticket) => break ticket.unwrap(),
                    Err(_) => now += 1,
                }
            };
            let (there, back) = latency(i);
            arrivals.push(now + there);
            answers.push((now + there + back, ticket));
        }
        arrivals.sort_unstable();
        arrivals
    }

    fn most_in_a_second(arrivals: &[u64]) -> usize {
        let within = |&end: &u64| arrivals.iter().filter(|&&at| at <= end && at + 1000 > end).count();
        arrivals.iter().map(within).max().unwrap()
    }

    #[test]
    fn no_second_sees_more_than_the_limit_whatever_the_network_does() {
        let latencies: [Latency; 5] = [
            |_| (0, 0),
            |_| (40, 1),
            |i| ((i * 7919) % 400, (i * 31) % 50),
            |i| (if i % 10 == 0 { 900 } else { 3 }, 5),
            |i| (0, if i % 3 == 0 { 5000 } else { 0 }),
        ];
        for per_second in [1, 3, 10, 50] {
            for latency in latencies {
                let arrivals = arrivals(per_second, 5 * per_second as u64 + 3, latency);
                assert!(most_in_a_second(&arrivals) <= per_second);
            }
        }
    }

    #[test]
    fn a_fast_server_is_asked_nearly_as_often_as_allowed() {
        let arrivals = arrivals(10, 101, |_| (5, 5));
        assert!(arrivals[100] - arrivals[0] <= 10_300, "{arrivals:?}");
    }

    #[test]
    fn requests_are_spaced_evenly() {
        let arrivals = arrivals(10, 30, |_| (1, 1));
        assert!(arrivals.windows(2).all(|pair| pair[1] - pair[0] >= 100), "{arrivals:?}");
    }

    #[test]
    fn a_request_that_hangs_frees_its_slot_in_time() {
        let arrivals = arrivals(2, 11, |i| (1, if i % 2 == 0 { 60_000 } else { 1 }));
        assert!(arrivals[10] < 11_000, "{arrivals:?}");
    }

    #[test]
    fn a_pause_holds_everybody_back_and_the_longest_counts() {
        let (mut state, now) = (State::default(), Instant::now());
        let in_seconds = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(state.start(0, now), Ok(None));
        state.pause(in_seconds(5));
        state.pause(in_seconds(2));
        for per_second in [0, 10] {
            assert_eq!(state.start(per_second, in_seconds(4)), Err(in_seconds(5)));
        }
        assert_eq!(state.start(0, in_seconds(5)), Ok(None));
    }

    #[tokio::test]
    async fn permits_without_a_limit_come_at_once() {
        let limiter = Limiter::new(0);
        for _ in 0..1000 {
            drop(limiter.acquire().await);
        }
        assert_eq!(limiter.pause_left(), Duration::ZERO);
    }
}
