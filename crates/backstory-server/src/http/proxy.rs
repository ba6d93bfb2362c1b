//! Reverse proxies in front of the server: the origin that browsers know it by, and which proxies are believed when they
//! say for whom they ask.

use std::{fmt, net::IpAddr, str::FromStr};

use axum::http::{HeaderMap, HeaderName};
use backstory_engine::{
    error::{Error, ErrorKind},
    model::text::truncate_echo,
};

use super::cors::Origin;

/// Header in which proxies name those that they ask for, each behind the one that it had the request from.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// What only proxies send, besides `X-Forwarded-…`.
const SENT_BY_PROXIES: [&str; 12] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-original-host",
    "cf-connecting-ip",
    "cf-ray",
    "true-client-ip",
    "fly-client-ip",
    "fastly-client-ip",
];
/// Most addresses of a request that are looked at.
const MAX_HOPS: usize = 20;

/// What is between clients and the server.
#[derive(Clone, Debug, Default)]
pub struct Proxy {
    /// Where browsers find the server, if that is not where it listens.
    pub public: Option<Origin>,
    /// The proxies that are believed.
    pub trusted: Vec<Network>,
}

impl Proxy {
    /// Whether an address is that of a proxy that is believed.
    pub(super) fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }

    /// Who sent a request that came from an address: that one, or whom trusted proxies say that they ask for.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let named: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
        for name in named.into_iter().rev().take(MAX_HOPS) {
            // Behind the first that is not trusted, anything may have been written.
            let Some(next) = parse_address(name).filter(|_| self.trusts(client)) else { break };
            client = next;
        }
        client
    }
}

/// Whether a proxy has passed a request on, as far as that can be told.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with("x-forwarded-") || SENT_BY_PROXIES.contains(&name.as_str()))
}

/// An address, perhaps with a port, as proxies write it.
fn parse_address(text: &str) -> Option<IpAddr> {
    let address = text.parse().ok();
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    address.or_else(with_port).or_else(in_brackets).map(|address: IpAddr| address.to_canonical())
}

/// Addresses that begin with the same bits: `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        let shift = |width: u32| width - self.bits;
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(shift(32)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(shift(128)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || {
            let message =
                format!("'{}' is not a network; write an address or one such as 10.0.0.0/8", truncate_echo(text));
            Error::new(ErrorKind::Invalid, message)
        };
        let (address, bits) = text.split_once('/').unzip();
        let address: IpAddr = address.unwrap_or(text).parse().map_err(|_| wrong())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(width), str::parse).map_err(|_| wrong())?;
        if bits > width {
            return Err(wrong());
        }
        Ok(Self { address, bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(networks: &[&str]) -> Proxy {
        Proxy { public: None, trusted: networks.iter().map(|text| text.parse().unwrap()).collect() }
    }

    fn headers(lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (FORWARDED_FOR, line.parse().unwrap())).collect()
    }

    #[test]
    fn a_network_contains_what_begins_with_its_bits() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.200.3.4", "11.0.0.1"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("0.0.0.0/0", "8.8.8.8", "::1"),
            ("fd00::/8", "fd12::1", "fe80::1"),
            ("::1", "::1", "::2"),
            ("127.0.0.1", "::ffff:127.0.0.1", "127.0.0.2"),
        ] {
            let of: Network = network.parse().unwrap();
            assert!(of.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!of.contains(outside.parse().unwrap()), "{network} {outside}");
        }
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/-1", "proxy.example.com"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_trusted_proxies_say_whom_they_ask_for() {
        let (peer, client): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "203.0.113.9".parse().unwrap());
        let one = proxy(&["127.0.0.1", "10.0.0.0/8"]);
        assert_eq!(proxy(&[]).client(peer, &headers(&["203.0.113.9"])), peer);
        assert_eq!(one.client(client, &headers(&["198.51.100.1"])), client);
        for lines in [
            &["203.0.113.9"][..],
            &["203.0.113.9:4711"],
            &["203.0.113.9, 10.1.2.3"],
            // What the client wrote itself stands before what the proxies add.
            &["198.51.100.1, 203.0.113.9"],
            &["198.51.100.1", "203.0.113.9", "10.1.2.3"],
            &["unknown, 203.0.113.9"],
        ] {
            assert_eq!(one.client(peer, &headers(lines)), client, "{lines:?}");
        }
        assert_eq!(one.client(peer, &headers(&["unknown"])), peer);
        assert_eq!(one.client(peer, &HeaderMap::new()), peer);
    }
}
