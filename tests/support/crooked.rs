//! A server before the stand-in for a forge, that answers some requests as no forge should. It writes bytes to plain
//! sockets, so that no library keeps it from lying.

use std::{
    io::{self, Read as _, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use super::Forge;
use parking_lot::Mutex;

/// Longest that either side is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most bytes of a request's head.
const MAX_HEAD: usize = 64 << 10;

/// Writes the answer to a request.
type Lie = Arc<dyn Fn(&mut Answer<'_>) -> io::Result<()> + Send + Sync>;

/// The server, until it is dropped.
pub(crate) struct Crooked {
    /// Its address, without a slash at the end.
    pub(crate) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    /// Where the forge is, `127.0.0.1:1234`.
    behind: String,
    lies: Mutex<Vec<(String, Lie)>>,
    told: AtomicUsize,
    ended: AtomicBool,
}

/// An answer that is being written.
pub(crate) struct Answer<'a> {
    stream: &'a mut TcpStream,
    shared: &'a Shared,
    /// What was asked for, `/api/v4/projects/1?page=1`.
    pub(crate) target: &'a str,
}

impl Answer<'_> {
    /// Whether nobody waits for it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.ended.load(Ordering::Relaxed) || self.shared.lies.lock().is_empty()
    }

    /// A whole answer with these headers, of which each has its line end.
    pub(crate) fn whole(&mut self, headers: &str, body: &[u8]) -> io::Result<()> {
        write!(self, "HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n", body.len())?;
        self.write_all(body)
    }
}

impl Write for Answer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Crooked {
    /// Gives the forge's answers until it is told to lie.
    pub(crate) fn before(forge: &Forge) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            behind: forge.url.trim_start_matches("http://").to_owned(),
            lies: Mutex::default(),
            told: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let serving = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.ended.load(Ordering::Relaxed) {
                    return;
                }
                let shared = serving.clone();
                // A client may leave at any time.
                thread::spawn(move || drop(shared.answer(stream)));
            }
        });
        Self { url, shared }
    }

    /// Has requests whose target has these words answered by this.
    pub(crate) fn lie(&self, target: &str, lie: impl Fn(&mut Answer<'_>) -> io::Result<()> + Send + Sync + 'static) {
        self.shared.lies.lock().push((target.to_owned(), Arc::new(lie)));
    }

    /// Tells everything as it is again; how many requests were answered otherwise.
    pub(crate) fn repent(&self) -> usize {
        self.shared.lies.lock().clear();
        self.shared.told.swap(0, Ordering::Relaxed)
    }

    /// How many requests were answered otherwise since then.
    pub(crate) fn told(&self) -> usize {
        self.shared.told.load(Ordering::Relaxed)
    }
}

impl Drop for Crooked {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // So that the accepting thread looks.
        drop(TcpStream::connect(self.url.trim_start_matches("http://")));
    }
}

impl Shared {
    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = head(&mut stream)?;
        let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let lies = self.lies.lock();
        let is_meant = |words: &String| words.split(' ').all(|word| target.contains(word));
        let lie = lies.iter().find(|(words, _)| is_meant(words)).map(|(_, lie)| lie.clone());
        drop(lies);
        match lie {
            Some(lie) => {
                self.told.fetch_add(1, Ordering::Relaxed);
                lie(&mut Answer { stream: &mut stream, shared: self, target: &target })?;
            }
            None => {
                let mut behind = TcpStream::connect(&self.behind)?;
                let others = head.lines().filter(|line| !line.to_lowercase().starts_with("connection:"));
                let asked = others.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\r\n");
                write!(behind, "{asked}\r\nconnection: close\r\n\r\n")?;
                io::copy(&mut behind, &mut stream)?;
            }
        }
        stream.shutdown(Shutdown::Write)
    }
}

/// Everything up to the empty line.
fn head(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while !bytes.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut piece)?;
        if count == 0 || bytes.len() > MAX_HEAD {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..count]);
    }
    String::from_utf8(bytes).map_err(io::Error::other)
}
