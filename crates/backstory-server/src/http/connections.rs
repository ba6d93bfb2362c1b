//! The accept loop: takes connections, with a deadline for headers, and limits their number, in all and for each
//! address. A caller without a token can open any number, so when there is no room those are closed that have kept the
//! server waiting longest, the sooner the less they have sent; one that is being answered never is.
//!
//! [`Connection::hold_open`] keeps one open. Handlers take it only once a request has arrived whole and its caller is
//! known.

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    rt,
    server::conn::http1,
    service::Service as _,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Resource, getrlimit};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{Notify, watch},
    time::Sleep,
};

use super::{proxy::Proxy, wait_for_stop};

/// Most connections at a time, unless half of the descriptors that the process may have are fewer.
const MAX_CONNECTIONS: usize = 1024;
/// Most connections at a time of one address that is not this machine's, unless half of all are fewer.
const MAX_PER_ADDRESS: usize = 128;
/// How long the headers of a request may take to arrive, from the first byte or from the end of the request before.
const HEADER_TIME: Duration = Duration::from_secs(20);
/// Most bytes of a request's headers.
const MAX_HEADERS: usize = 32 << 10;
/// How long a client may take none of the bytes that are ready for it.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// How long a connection is safe from giving way that says nothing, for each connection that there may be: a client
/// that connects has something to say. So some 6,500 silent ones a second are replaced however many there may be, and
/// the backlog is never longer than a second.
const SAFE_SILENT: Duration = Duration::from_micros(150);
/// The same of one that has sent a part of a request: the rest may be on its way.
const SAFE_PART: Duration = Duration::from_micros(200);
/// The same of one that was answered before: its client may be about to use it again.
const SAFE_ANSWERED: Duration = Duration::from_millis(250);
/// Which part of all connections is told to give way at once when there is no room for one more.
const GIVING_WAY: usize = 16;
/// Most connections that the system keeps until they are accepted. They come in order, so it must be possible to get
/// through them in less time than clients have.
const BACKLOG: u32 = 4096;
/// Time between two looks for room when nothing says that there is some.
const LOOK: Duration = Duration::from_millis(5);
/// How long to wait when the system has no descriptor or memory for a connection.
const PAUSE: Duration = Duration::from_millis(100);
/// What a connection is told that there is no room for.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
struct Limits {
    all: usize,
    per_address: usize,
}

impl Limits {
    /// Those of this process: the other half of its descriptors is for the stores and what they start.
    fn of_process() -> Self {
        let descriptors = getrlimit(Resource::Nofile)
            .current
            .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let all = (descriptors / 2).clamp(2, MAX_CONNECTIONS);
        Self { all, per_address: MAX_PER_ADDRESS.min(all / 2) }
    }

    /// So long for each connection that there may be.
    fn for_each(self, time: Duration) -> Duration {
        time.saturating_mul(u32::try_from(self.all).unwrap_or(u32::MAX))
    }
}

/// A connection, as requests that come over it know it.
#[derive(Debug)]
pub(super) struct Connection {
    peer: IpAddr,
    caller: IpAddr,
    activity: Mutex<Activity>,
    /// Notified when it must close.
    close_requested: Notify,
}

#[derive(Debug, Default)]
struct Activity {
    /// Requests that are being answered, or a WebSocket.
    working: usize,
    /// Since when the client has been waited for: since nothing more was there to be read for the first time after it was
    /// opened or answered. What comes in drips is no reason to wait for longer, and what is there and was not read yet, as
    /// the machine is busy, is none to give way.
    waiting: Option<Instant>,
    /// Whether anything has come.
    heard: bool,
    /// Whether anything was answered that may be asked.
    answered: bool,
    /// Whether it was told to give way.
    leaving: bool,
    /// Whether it is told why, as it has said nothing yet.
    refused: bool,
}

impl Connection {
    fn new(peer: IpAddr) -> Arc<Self> {
        Arc::new(Self { peer, caller: caller(peer), activity: Mutex::default(), close_requested: Notify::new() })
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock()
    }

    /// The address at the other end.
    pub(super) fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Keeps the connection from giving way while something is done for it.
    pub(super) fn hold_open(self: &Arc<Self>) -> InUseGuard {
        self.activity().working += 1;
        InUseGuard(self.clone())
    }

    /// The answer to a request, which keeps the connection from giving way until all of it has been sent or given up.
    pub(super) fn hold_until_sent(guard: InUseGuard, response: Response) -> Response {
        response.map(|body| Body::new(HeldBody { body, _guard: guard }))
    }

    /// Something was read, or there was nothing to be read.
    fn read(&self, something: bool) {
        let mut activity = self.activity();
        if something {
            activity.heard = true;
        } else {
            activity.waiting.get_or_insert_with(Instant::now);
        }
    }

    /// If it may give way: who has been answered after all others, and those before that have been waited for longest.
    fn turn(&self, now: Instant, limits: Limits) -> Option<(bool, Instant)> {
        let activity = self.activity();
        let since = activity.waiting.filter(|_| activity.working == 0 && !activity.leaving)?;
        let safe = match (activity.answered, activity.heard) {
            (true, _) => SAFE_ANSWERED,
            (false, true) => limits.for_each(SAFE_PART),
            (false, false) => limits.for_each(SAFE_SILENT),
        };
        (now.duration_since(since) >= safe).then_some((activity.answered, since))
    }

    /// Whether it leaves, now that it was told to: not if a request has come since.
    fn leaves(&self) -> bool {
        let mut activity = self.activity();
        activity.leaving = activity.working == 0;
        activity.refused = activity.leaving && !activity.heard;
        activity.leaving
    }

    fn is_refused(&self) -> bool {
        self.activity().refused
    }
}

/// The body of an answer that is being sent.
struct HeldBody {
    body: Body,
    _guard: InUseGuard,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Something that is done for a connection.
pub(super) struct InUseGuard(Arc<Connection>);

impl Drop for InUseGuard {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.working -= 1;
        (activity.waiting, activity.answered) = (None, true);
    }
}

/// Who an address stands for: one that has IPv6 has as many addresses as it likes below its network.
pub(super) fn caller(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

/// All connections that are open.
#[derive(Debug)]
struct Connections {
    limits: Limits,
    /// Proxies that are trusted ask for many.
    proxy: Proxy,
    open: Mutex<Open>,
    /// Told when one is closed.
    closed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    last_id: u64,
    by_id: BTreeMap<u64, Arc<Connection>>,
}

impl Open {
    fn staying(&self, caller: Option<IpAddr>) -> usize {
        let counts = |of: &&Arc<Connection>| caller.is_none_or(|caller| of.caller == caller) && !of.activity().leaving;
        self.by_id.values().filter(counts).count()
    }

    /// Tells at most so many connections to give way, those that have been waited for longest; how many may.
    fn make_room(&self, limits: Limits, caller: Option<IpAddr>, most: usize) -> usize {
        let now = Instant::now();
        let concerned = self.by_id.values().filter(|of| caller.is_none_or(|caller| of.caller == caller));
        let mut silent: Vec<_> = concerned.filter_map(|of| Some((of.turn(now, limits)?, of))).collect();
        silent.sort_unstable_by_key(|(turn, _)| *turn);
        let leaving = &silent[..most.min(silent.len())];
        for (_, connection) in leaving {
            connection.activity().leaving = true;
            connection.close_requested.notify_one();
        }
        leaving.len()
    }
}

impl Connections {
    fn new(limits: Limits, proxy: Proxy) -> Arc<Self> {
        Arc::new(Self { limits, proxy, open: Mutex::default(), closed: Notify::new() })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }

    /// Waits until there is room for one more.
    async fn room(&self) {
        loop {
            let closed = self.closed.notified();
            {
                let open = self.open();
                if open.by_id.len() < self.limits.all {
                    return;
                }
                if open.staying(None) >= self.limits.all {
                    open.make_room(self.limits, None, self.limits.all.div_ceil(GIVING_WAY));
                }
            }
            // What nobody told of: one was answered and is silent from now on.
            let _ = tokio::time::timeout(LOOK, closed).await;
        }
    }

    /// Room for a connection, unless its address has too many.
    fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Slot> {
        let caller = caller(address);
        let mut open = self.open();
        let is_limited = !caller.is_loopback() && !self.proxy.trusts(address);
        let is_full = is_limited && open.staying(Some(caller)) >= self.limits.per_address;
        if is_full && open.make_room(self.limits, Some(caller), 1) == 0 {
            return None;
        }
        open.last_id += 1;
        let (id, connection) = (open.last_id, Connection::new(address));
        open.by_id.insert(id, connection.clone());
        Some(Slot { id, connection, connections: self.clone() })
    }

    /// Done when none is open any more.
    async fn all_closed(&self) {
        loop {
            let closed = self.closed.notified();
            if self.open().by_id.is_empty() {
                return;
            }
            let _ = tokio::time::timeout(LOOK, closed).await;
        }
    }
}

/// The room of a connection, as long as its descriptor is open.
#[derive(Debug)]
struct Slot {
    id: u64,
    connection: Arc<Connection>,
    connections: Arc<Connections>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connections.open().by_id.remove(&self.id);
        self.connections.closed.notify_one();
    }
}

/// The bytes of a connection. A client that does not read them is not waited for.
struct Stream {
    stream: TokioIo<TcpStream>,
    /// Runs while there are bytes that the client does not take.
    stalled: Option<Pin<Box<Sleep>>>,
    slot: Slot,
}

impl Stream {
    fn unless_stalled<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_TIME)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl rt::Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.slot.connection.is_refused() {
            refuse(self.stream.inner());
            // To the protocol the connection has ended.
            return Poll::Ready(Ok(()));
        }
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.slot.connection.read(read.is_ready());
        read
    }
}

impl rt::Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.unless_stalled(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.unless_stalled(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Listens at an address.
///
/// # Errors
/// The address is taken, or is not one of this machine.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Answers connections until the server is stopped, then waits until the last one is closed.
pub(super) async fn serve(listener: TcpListener, router: Router, proxy: Proxy, stopped: watch::Receiver<bool>) {
    let connections = Connections::new(Limits::of_process(), proxy);
    loop {
        let next = async {
            connections.room().await;
            listener.accept().await
        };
        let accepted = tokio::select! {
            () = wait_for_stop(stopped.clone()) => break,
            accepted = next => accepted,
        };
        match accepted {
            Ok((stream, peer)) => match connections.admit(peer.ip()) {
                Some(slot) => drop(tokio::spawn(answer(stream, slot, router.clone(), stopped.clone()))),
                None => refuse(&stream),
            },
            // The client has left already.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted for now");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.all_closed().await;
}

/// Says that there is no room, if that can be said at once.
fn refuse(stream: &TcpStream) {
    if let Err(error) = stream.try_write(FULL) {
        tracing::debug!(%error, "a connection was closed, as there are too many");
    }
}

async fn answer(stream: TcpStream, slot: Slot, router: Router, stopped: watch::Receiver<bool>) {
    // Answers are whole when they are sent: nothing is gained by waiting for more.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection may be slow");
    }
    let (connection, known) = (slot.connection.clone(), slot.connection.clone());
    let router = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(known.clone());
        router.call(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).max_buf_size(MAX_HEADERS);
    let stream = Stream { stream: TokioIo::new(stream), stalled: None, slot };
    let mut served = pin!(http.serve_connection(stream, service).with_upgrades());
    let ended = loop {
        tokio::select! {
            // What has come is read before it gives way.
            biased;
            ended = served.as_mut() => break ended,
            () = connection.close_requested.notified() => {
                if connection.leaves() {
                    // Reading once more tells a client that has said nothing that there is no room.
                    break if connection.is_refused() { served.await } else { Ok(()) };
                }
            }
            () = wait_for_stop(stopped.clone()) => {
                served.as_mut().graceful_shutdown();
                break served.await;
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}
