//! A small HTTP server for tests, which answers as a test says and records what it was asked.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::Value;
use url::Url;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    /// How many requests came before.
    pub(crate) before: usize,
}

impl Asked {
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }
}

/// What is answered.
pub(crate) enum Reply {
    Text {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// An answer that ends before its announced length.
    Cut {
        announced: usize,
    },
    /// So many bytes of an answer whose length is not announced.
    Unannounced(usize),
    /// The beginning of an answer whose rest never comes.
    Stalled,
    /// Headers that come one byte at a time and never end.
    Dripping,
    /// Nothing, ever.
    Silence,
    /// The connection is closed at once.
    Nothing,
}

impl Reply {
    pub(crate) fn json(body: &Value) -> Self {
        Self::status(200, &body.to_string())
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self::Text { status, headers: Vec::new(), body: body.to_owned() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Text { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }
}

pub(crate) struct Stub {
    pub(crate) url: Url,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Stub {
    /// Serves on a free port until the test ends.
    pub(crate) fn serve(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (answer, kept) = (Arc::new(answer), log.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, log) = (answer.clone(), kept.clone());
                thread::spawn(move || converse(stream, &log, answer.as_ref()));
            }
        });
        Self { url, log }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.lock().clone()
    }
}

fn converse(mut stream: TcpStream, log: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked) -> Reply) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let target = first.split(' ').nth(1).unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = lines.take_while(|line| !line.is_empty()).map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    });
    let mut asked = Asked {
        path: path.to_owned(),
        query: url::form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        headers: headers.collect(),
        before: 0,
    };
    {
        let mut log = log.lock();
        asked.before = log.len();
        log.push(asked.clone());
    }
    match answer(&asked) {
        Reply::Text { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            // The client may have gone away.
            let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        }
        Reply::Cut { announced } => {
            let _ = write!(stream, "HTTP/1.1 200 x\r\nContent-Length: {announced}\r\n\r\n[1, 2");
        }
        Reply::Unannounced(bytes) => {
            let _ = write!(stream, "HTTP/1.1 200 x\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(&vec![b'['; bytes]);
        }
        Reply::Stalled => {
            let _ = write!(stream, "HTTP/1.1 200 x\r\nContent-Length: 1000\r\n\r\n[1, 2");
            thread::park();
        }
        Reply::Dripping => {
            let _ = write!(stream, "HTTP/1.1 200 x\r\nX-Drip: ");
            // Until the client goes away.
            while stream.write_all(b"x").is_ok() {
                thread::park_timeout(Duration::from_millis(10));
            }
        }
        Reply::Silence => thread::park(),
        Reply::Nothing => {}
    }
}
