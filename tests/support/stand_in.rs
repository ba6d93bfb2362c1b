//! Serves a router in place of another server, in a thread of its own until it is dropped.

use std::thread;

use axum::Router;
use tokio::sync::oneshot;

/// A server of a test.
pub(crate) struct StandIn {
    /// Its address, without a slash at the end.
    pub(crate) url: String,
    _stop: oneshot::Sender<()>,
}

impl StandIn {
    /// Serves the router that is made for its address.
    pub(crate) fn start(router: impl FnOnce(&str) -> Router) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = router(&url);
        let (stop, stopped) = oneshot::channel::<()>();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    _ = stopped => {}
                    served = axum::serve(listener, router).into_future() => served.unwrap(),
                }
            });
        });
        Self { url, _stop: stop }
    }
}
