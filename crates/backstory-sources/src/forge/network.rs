//! Which addresses a forge may have. A forge in the configuration may be anywhere. One that a user of the server named
//! must be on the public network, or a server could be led to its own: so the addresses of its host are checked, and
//! the client connects to just those.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::git::address::{AddressError, AllowedHosts, check_public, resolve};

/// Which addresses a forge may have.
#[derive(Clone, Debug, Default)]
pub enum AllowedNetwork {
    /// Any.
    #[default]
    Any,
    /// Those of the public network, and any of these hosts.
    Public(AllowedHosts),
}

impl AllowedNetwork {
    /// Checks the host of an address if it is a number, which no client looks up. What a name leads to is checked when a
    /// client connects.
    ///
    /// # Errors
    /// It is not where a forge may be.
    pub fn check(&self, url: &Url) -> Result<(), AddressError> {
        let Self::Public(allowed) = self else { return Ok(()) };
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        check_public(&address.to_string(), &[address], allowed)
    }
}

/// Finds the addresses of a host.
pub(super) type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// Asks the system.
pub(super) fn system() -> Lookup {
    Arc::new(|host: &str| resolve(host, 0))
}

/// Gives a client the addresses of a host, unless one of them is not public.
pub(super) struct PublicOnlyResolver {
    allowed: AllowedHosts,
    lookup: Lookup,
}

impl PublicOnlyResolver {
    pub(super) fn new(allowed: AllowedHosts, lookup: Lookup) -> Self {
        Self { allowed, lookup }
    }
}

impl Resolve for PublicOnlyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (allowed, lookup) = (self.allowed.clone(), self.lookup.clone());
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || {
                let host = name.as_str();
                let addresses = lookup(host)?;
                check_public(host, &addresses, &allowed).map_err(io::Error::other)?;
                io::Result::Ok(addresses)
            });
            let addresses = found.await??.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::Ipv4Addr,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
    };

    use super::*;

    #[tokio::test]
    async fn a_name_that_leads_elsewhere_the_next_time_is_refused() {
        let asked = AtomicUsize::new(0);
        let answers = [Ipv4Addr::new(93, 184, 215, 14), Ipv4Addr::LOCALHOST];
        let lookup: Lookup = Arc::new(move |_: &str| {
            let number = asked.fetch_add(1, Relaxed);
            Ok(answers.get(number).map(|address| IpAddr::V4(*address)).into_iter().collect())
        });
        let resolver = PublicOnlyResolver::new(AllowedHosts::default(), lookup);
        let ask = async || match resolver.resolve("forge.example".parse().unwrap()).await {
            Ok(addresses) => Ok(addresses.map(|address| address.ip()).collect::<Vec<_>>()),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(ask().await, Ok(vec![IpAddr::V4(answers[0])]));
        assert!(ask().await.unwrap_err().contains("forge.example"));
    }

    #[test]
    fn an_address_in_place_of_a_name_is_checked_too() {
        let check = |allowed: &[&str], url: &str| {
            AllowedNetwork::Public(AllowedHosts::new(allowed)).check(&url.parse().unwrap())
        };
        assert!(check(&[], "https://93.184.215.14/").is_ok());
        for private in ["http://127.0.0.1:8080/", "http://[::1]/", "http://10.0.0.1/", "http://[::ffff:7f00:1]/"] {
            assert!(check(&[], private).is_err(), "{private}");
        }
        assert!(check(&["127.0.0.1"], "http://127.0.0.1:8080/").is_ok());
        assert!(AllowedNetwork::Any.check(&"http://10.0.0.1/".parse().unwrap()).is_ok());
    }
}
