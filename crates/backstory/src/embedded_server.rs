//! The embedded server: a command that has the stores answers other commands meanwhile, at an address that only readers
//! of the data directory can find. It takes no webhooks and does no scheduled work; that is `cli::serve`.

use std::{cell::RefCell, net::Ipv4Addr, rc::Rc, time::Duration};

use backstory_engine::{
    Engine,
    error::{Error, ErrorKind, Result},
    model::access::Grant,
};
use backstory_server::{Access, Limits, Proxy, Token};
use tokio::{sync::watch, task::JoinHandle};

use crate::data_dir::{DataDir, SCHEME, ServerKind};

/// A command that ends sooner has no need to be found.
const AFTER: Duration = Duration::from_millis(100);

/// What a process has shared so far, if anything. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct EmbeddedServer(Rc<RefCell<Option<RunningServer>>>);

struct RunningServer {
    end: watch::Sender<bool>,
    served: JoinHandle<()>,
}

impl EmbeddedServer {
    /// Lets other commands ask this one from soon on. If that cannot be, they wait for its end, as for one that does
    /// not answer.
    pub(crate) fn begin(&self, engine: Engine, directory: DataDir, command: &str, config: &str) {
        let (end, ended) = watch::channel(false);
        let (command, config) = (command.to_owned(), config.to_owned());
        let served = tokio::spawn(async move {
            if let Err(error) = serve(engine, directory, (&command, &config), ended).await {
                tracing::warn!(%error, "other commands have to wait for this one");
            }
        });
        *self.0.borrow_mut() = Some(RunningServer { end, served });
    }

    /// Is found no more, and returns when those who asked have their answers, or have waited for them long enough.
    pub(crate) async fn end(&self) {
        let Some(RunningServer { end, served }) = self.0.borrow_mut().take() else { return };
        end.send_replace(true);
        // It ends by itself within the time that a server takes; a bug in it is no failure of the command.
        let _ = served.await;
    }
}

async fn serve(
    engine: Engine,
    directory: DataDir,
    (command, config): (&str, &str),
    mut ended: watch::Receiver<bool>,
) -> Result<()> {
    tokio::select! {
        () = tokio::time::sleep(AFTER) => {}
        _ = ended.wait_for(|ended| *ended) => return Ok(()),
    }
    let failed = |error: std::io::Error| Error::new(ErrorKind::Internal, format!("no address to listen on: {error}"));
    let listener = backstory_server::listen((Ipv4Addr::LOCALHOST, 0).into()).map_err(failed)?;
    let url = format!("{SCHEME}{}", listener.local_addr().map_err(failed)?);
    let announced = directory.announce(ServerKind::Command, command, &url, config);
    let announcement = announced.map_err(|failure| Error::new(ErrorKind::Internal, failure.sentence()))?;
    let own = announcement.secret().clone();
    // Unlike a server that somebody started, it answers nobody without the secret.
    let tokens = vec![Token { name: "owner".to_owned(), secret: own.clone(), grant: Grant::everything() }];
    let (origins, proxy) = (Vec::new(), Proxy::default());
    let access = Access { tokens, own, webhooks: false, origins, requests_per_minute: 0, proxy };
    let until_ended = async move {
        backstory_server::wait_for_stop(ended).await;
        drop(announcement);
    };
    backstory_server::serve(engine, listener, access, Limits::default(), until_ended).await
}
