//! Hostile connections to a server that wants a token, over plain sockets.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::served::{Served, is_full_size};
use crate::support::{Forge, Sandbox, eventually};

const TOKEN: &str = "open-sesame-open-sesame";
/// Longest that any answer may take to come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest that a client with the token may wait.
const PATIENCE_OF_THE_GOOD: Duration = Duration::from_secs(5);
/// How long connections are held that could keep others out.
const HELD: Duration = Duration::from_secs(2);
/// Descriptors that the test needs besides those of its connections.
const OWN: u64 = 500;

/// Sends something over a connection of its own.
fn sent(address: &str, text: &str) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(text.as_bytes())?;
    Ok(stream)
}

/// The status of an answer; `None` if the connection was closed without one.
fn status(mut stream: &TcpStream) -> Option<u16> {
    let mut line = [0; 12];
    stream.read_exact(&mut line).ok()?;
    assert!(line.starts_with(b"HTTP/1.1 "), "{:?}", String::from_utf8_lossy(&line));
    String::from_utf8_lossy(&line[9..]).parse().ok()
}

/// An operation with some token, of which so many bytes are announced as its body.
fn operation(token: &str, length: usize) -> String {
    format!(
        "POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// The beginning of a WebSocket, with headers that have their line ends.
fn websocket(headers: &str) -> String {
    format!(
        "GET /graphql/ws HTTP/1.1\r\nhost: x\r\n{headers}connection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         sec-websocket-protocol: graphql-transport-ws\r\n\r\n"
    )
}

/// Somebody who has the token and asks all the time, each time over another connection.
struct Good {
    ended: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    failed: Arc<Mutex<Vec<String>>>,
    asking: Option<JoinHandle<()>>,
}

impl Good {
    fn begin(address: &str) -> Self {
        let address = address.to_owned();
        let body = r#"{"query":"{ issues(first: 2) { nodes { id } } }"}"#;
        let request = format!("{}{body}", operation(TOKEN, body.len()));
        let (ended, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let failed = Arc::<Mutex<Vec<String>>>::default();
        let (until, count, noted) = (ended.clone(), answered.clone(), failed.clone());
        let asking = thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let asked = || -> io::Result<String> {
                    let mut answer = String::new();
                    sent(&address, &request)?.read_to_string(&mut answer)?;
                    Ok(answer)
                };
                let said = asked();
                let took = begun.elapsed();
                match said {
                    Ok(answer) if answer.starts_with("HTTP/1.1 200") && answer.contains("acme/shop#") => {}
                    said => noted.lock().push(format!("{said:?} after {took:?}")),
                }
                if took > PATIENCE_OF_THE_GOOD {
                    noted.lock().push(format!("it took {took:?}"));
                }
                count.fetch_add(1, Ordering::Relaxed);
                thread::park_timeout(Duration::from_millis(50));
            }
        });
        let good = Self { ended, answered, failed, asking: Some(asking) };
        // From now on it is known at this address as somebody who has the token.
        eventually("the good is answered", || good.answered.load(Ordering::Relaxed) > 0);
        good
    }

    /// It was answered once more, and each time before.
    #[track_caller]
    fn is_answered(&self, when: &str) {
        let before = self.answered.load(Ordering::Relaxed);
        eventually("the good is answered", || self.answered.load(Ordering::Relaxed) > before + 1);
        let failed = self.failed.lock();
        assert!(failed.is_empty(), "{when}: {failed:?}");
    }
}

impl Drop for Good {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(asking) = self.asking.take() {
            asking.thread().unpark();
            drop(asking.join());
        }
    }
}

/// How many connections there may be of one sort. Other tests have some at the same time.
fn most() -> usize {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    let free = limit.maximum.map_or(usize::MAX, |most| usize::try_from(most.saturating_sub(OWN) / 3).unwrap());
    free.min(if is_full_size() { 12_000 } else { 3_000 })
}

/// Opens many connections, each of which sends that; those that could be opened.
fn many(address: &str, count: usize, text: &str) -> Vec<TcpStream> {
    (0..count).filter_map(|_| sent(address, text).ok()).collect()
}

/// A byte of a header of each connection now and then, for a while.
fn trickle(streams: &[TcpStream], time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        for mut stream in streams {
            // Those that gave way are closed.
            let _ = stream.write_all(b"a");
        }
        thread::park_timeout(Duration::from_millis(50));
    }
}

/// Sends a large body; the status of the answer, if there is one.
fn large(address: &str, head: &str) -> Option<u16> {
    let mut stream = sent(address, head).ok()?;
    let piece = vec![b' '; 64 << 10];
    for _ in 0..(10 << 20) / piece.len() {
        if stream.write_all(&piece).is_err() {
            break;
        }
    }
    status(&stream)
}

/// A server that wants a token, and somebody who has it.
struct World {
    good: Good,
    served: Served,
    sandbox: Sandbox,
    forge: Forge,
    address: String,
    descriptors: usize,
    known: String,
}

impl World {
    fn new() -> Self {
        let forge = Forge::start();
        let mut sandbox = Sandbox::new(&forge);
        sandbox.set("API_TOKEN", TOKEN);
        sandbox.set("HOOK_SECRET", "hook-secret");
        sandbox.configure(
            "webhook_secret_env = \"HOOK_SECRET\"\n[server]\ntoken_env = \"API_TOKEN\"\nrequests_per_minute = 0\n",
        );
        sandbox.run(&["sync"]).ok();
        let served = Served::start(&sandbox);
        let address = served.url().trim_start_matches("http://").to_owned();
        let good = Good::begin(&address);
        let known = sandbox.run(&["count"]).ok().stdout;
        let descriptors = served.descriptors();
        let world = Self { good, served, sandbox, forge, address, descriptors, known };
        world.is_well("before");
        world
    }

    /// Everybody who may is answered, nothing is lost.
    #[track_caller]
    fn is_well(&self, when: &str) {
        self.good.is_answered(when);
        self.served.is_well(when);
        assert_eq!(self.sandbox.run(&["count"]).ok().stdout, self.known, "{when}");
    }

    /// It works on as before, and has given back what connections took.
    fn works_on(&self) {
        let new = self.forge.new_issue("acme/shop", "alice", "After all", "");
        self.sandbox.run(&["sync"]).ok();
        self.sandbox.run(&["show", &new]).ok();
        assert_eq!(self.sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
        eventually("descriptors are given back", || self.served.descriptors() <= self.descriptors + 16);
        self.good.is_answered("at the end");
        self.served.is_well("at the end");
    }
}

#[test]
fn connections_that_come_to_no_end_keep_nobody_out() {
    let (world, most) = (World::new(), most());
    let address = &world.address;
    // Those that are silent, or do not come to an end.
    for (what, share, text) in [
        ("silent ones", 1, String::new()),
        ("half a line", 3, "GET /heal".to_owned()),
        ("half a header", 3, "GET /healthz HTTP/1.1\r\nhost: local".to_owned()),
        ("a body that does not come", 3, operation(TOKEN, 1000)),
        ("a body of who has no token", 3, operation("wrong-token-wrong-token", 1000)),
    ] {
        let held = many(address, most / share, &text);
        assert!(held.len() > most / share / 2, "{what}: {}", held.len());
        trickle(&held[..if text.is_empty() { 0 } else { held.len() }], HELD);
        world.is_well(what);
    }

    // All at once, and with WebSockets that say nothing.
    let bearer = format!("authorization: Bearer {TOKEN}\r\n");
    let beginnings = [String::new(), "GET /heal".to_owned(), operation(TOKEN, 1000), websocket(""), websocket(&bearer)];
    let begun = Instant::now();
    let time = if is_full_size() { Duration::from_secs(60) } else { HELD };
    while begun.elapsed() < time {
        let held: Vec<TcpStream> =
            beginnings.iter().cycle().take(most / 5).filter_map(|text| sent(address, text).ok()).collect();
        trickle(&held, Duration::from_millis(500));
    }
    world.is_well("all at once");
    world.works_on();
}

#[test]
fn requests_that_are_made_to_harm_are_refused() {
    let (world, most) = (World::new(), most());
    let address = &world.address;
    // Bodies that are too large, from who has the token and who has not.
    let tokens = [TOKEN, "wrong-token-wrong-token"];
    let statuses: Vec<Option<u16>> = thread::scope(|scope| {
        let send = |number: usize| {
            let head = operation(tokens[number % 2], 10 << 20);
            scope.spawn(move || large(address, &head))
        };
        let under_way: Vec<_> = (0..20).map(send).collect();
        under_way.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    // A connection that is reset before the answer is read is one way to be refused.
    assert!(statuses.iter().flatten().all(|status| [401, 413, 429, 503].contains(status)), "{statuses:?}");
    world.is_well("large bodies");

    // WebSockets that say nothing.
    let bearer = format!("authorization: Bearer {TOKEN}\r\n");
    let newcomers = many(address, most / 10, &websocket(""));
    world.is_well("WebSockets of newcomers");
    let own = many(address, 100, &websocket(&bearer));
    let opened = own.iter().filter(|stream| status(stream) == Some(101)).count();
    // Those that are let in are for as many as there is room for.
    assert!((1..=64).contains(&opened), "{opened}");
    world.is_well("WebSockets of who has the token");
    drop((newcomers, own));

    // Guesses.
    let mut answers = Vec::new();
    let hook = "POST /webhooks/gitlab HTTP/1.1\r\nhost: x\r\nx-gitlab-token: wrong\r\ncontent-length: 1000000\r\n\r\n";
    for number in 0..most / 10 {
        let guess = operation(&format!("guess-number-{number}-of-many"), 0);
        for text in [hook, &guess] {
            answers.push(status(&sent(address, text).unwrap()));
        }
    }
    assert!(answers.iter().all(|status| matches!(status, Some(401 | 429))), "{answers:?}");
    assert!(answers.contains(&Some(429)));
    world.is_well("guesses");
    world.works_on();
}
