//! A server with little memory and few descriptors, that is asked all the time whether it lives.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::support::{Sandbox, Server, eventually, note, processes};

/// What a shell does before it becomes the server: 1 GB of data, 256 descriptors.
pub(super) const LITTLE: &str = "ulimit -d 1000000 && ulimit -n 256";
/// Longest that the server may take to say that it lives, where nothing else runs.
const LIVELY: Duration = Duration::from_secs(1);
/// The same among other tests.
const LIVELY_AMONG_OTHERS: Duration = Duration::from_secs(5);
/// Time between two questions.
const PACE: Duration = Duration::from_millis(20);
/// How long an answer is waited for that is too late anyway.
const PATIENCE: Duration = Duration::from_secs(60);
/// Answers that took longer are remembered.
const SLOW: Duration = Duration::from_millis(100);

pub(super) fn is_full_size() -> bool {
    std::env::var_os("BACKSTORY_TEST_FULL_SIZE").is_some()
}

/// The server, until it is dropped.
pub(super) struct Served {
    server: Server,
    watch: Watch,
}

impl Served {
    pub(super) fn start(sandbox: &Sandbox) -> Self {
        let server = sandbox.serve_after(LITTLE);
        let watch = Watch::begin(&server.url);
        Self { server, watch }
    }

    pub(super) fn url(&self) -> &str {
        &self.server.url
    }

    pub(super) fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// It has answered in time ever since this was asked last, and has no child but the one that watches over others, or
    /// soon: its own schedule may read what was just added.
    #[track_caller]
    pub(super) fn is_well(&self, when: &str) {
        self.watch.check(when);
        eventually(when, || {
            let children = processes::descendants(self.pid()).into_iter().map(|(process, _)| process);
            let mut left = children.map(processes::command_line).filter(|line| !line.is_empty());
            left.all(|line| line.ends_with("--git-watch"))
        });
    }

    /// Descriptors that it has open.
    pub(super) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }
}

/// Answers that took long: from when to when.
type Slow = Mutex<Vec<(Instant, Instant)>>;

/// A client that requests `/healthz` all the time. The same is asked of a server of the test that does nothing else: when that is slow
/// too, it is the machine that has no time, which is taken off.
struct Watch {
    shared: Arc<Shared>,
    asking: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    asked: AtomicUsize,
    slow: Slow,
    machine: Slow,
    failed: Mutex<Vec<String>>,
}

impl Watch {
    fn begin(url: &str) -> Self {
        let shared = Arc::<Shared>::default();
        let (of_server, of_machine) = (shared.clone(), shared.clone());
        let address = url.trim_start_matches("http://").to_owned();
        let asking = thread::spawn(move || {
            while !of_server.ended.load(Ordering::Relaxed) {
                let begun = Instant::now();
                match ask(&address) {
                    Ok(answer) if answer.starts_with("HTTP/1.1 200") => {}
                    said => of_server.failed.lock().push(format!("{said:?} after {:?}", begun.elapsed())),
                }
                remember(&of_server.slow, begun);
                of_server.asked.fetch_add(1, Ordering::Relaxed);
                thread::park_timeout(PACE);
            }
        });
        let machine = thread::spawn(move || {
            let plain = plain();
            while !of_machine.ended.load(Ordering::Relaxed) {
                let begun = Instant::now();
                drop(ask(&plain));
                remember(&of_machine.machine, begun);
                thread::park_timeout(PACE);
            }
        });
        Self { shared, asking: vec![asking, machine] }
    }

    #[track_caller]
    fn check(&self, when: &str) {
        let asked = self.shared.asked.swap(0, Ordering::Relaxed);
        let failed = std::mem::take(&mut *self.shared.failed.lock());
        assert!(failed.is_empty(), "{when}: {failed:?}");
        let machine = std::mem::take(&mut *self.shared.machine.lock());
        let slow = std::mem::take(&mut *self.shared.slow.lock());
        let own = |(begun, ended): &(Instant, Instant)| {
            let at_once = machine.iter().filter(|(from, to)| from < ended && begun < to);
            let of_machine = at_once.map(|(from, to)| *to - *from).max().unwrap_or_default();
            (*ended - *begun).saturating_sub(of_machine)
        };
        let worst = slow.iter().map(own).max().unwrap_or_default();
        note(&format!(
            "{when}: asked {asked} times whether it lives, {} slow answers, the worst {worst:?}",
            slow.len()
        ));
        let limit = if is_full_size() { LIVELY } else { LIVELY_AMONG_OTHERS };
        assert!(worst < limit, "{when}: /healthz took {worst:?}");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        for asking in self.asking.drain(..) {
            asking.thread().unpark();
            drop(asking.join());
        }
    }
}

fn remember(slow: &Slow, begun: Instant) {
    let ended = Instant::now();
    if ended - begun > SLOW {
        slow.lock().push((begun, ended));
    }
}

/// A request over a connection of its own.
fn ask(address: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The address of a server that says nothing but that all is well.
fn plain() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        // It ends with the process; a few of them do not matter.
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 1024];
            if stream.read(&mut request).is_ok() {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"));
            }
        }
    });
    address
}
