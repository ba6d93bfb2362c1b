//! Parses the address of a repository and decides whether it may be cloned.
//!
//! A server that clones what it is asked to clone must not be led to its own network. So a host is resolved here, each of
//! its addresses must be public unless the host is allowed by name, and git is told to connect to just these addresses
//! (`http.curloptResolve`; for ssh `HostName` with `HostKeyAlias`): a name that resolves differently a moment later
//! changes nothing. Redirects are off. A proxy is not used.

use std::{
    fmt, fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs},
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
};

use url::{Host, Url};

use super::command::NetworkAccess;

/// Longest address that is read, in bytes.
const MAX_LENGTH: usize = 4096;
/// Most directories, links and pipes of a repository on this machine that are looked at.
const MAX_ENTRIES: usize = 100_000;
/// Most addresses of one host that are checked and handed to git.
const MAX_RESOLVED: usize = 32;

/// Why something is not cloned.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// It is no address at all.
    #[error("'{text}' is not the address of a repository: {why}")]
    Invalid {
        /// What was written, shortened and without credentials.
        text: String,
        /// What is wrong and what to write.
        why: &'static str,
    },
    /// The path is not that of a repository.
    #[error("'{path}' is not a git repository; give the directory that holds .git, or a bare repository")]
    NotARepository {
        /// The path.
        path: String,
    },
    /// There is a pipe in the repository.
    #[error("'{path}' is a pipe, on which git would wait for a writer; remove it, or give another repository")]
    Pipe {
        /// The path.
        path: String,
    },
    /// The path cannot be read.
    #[error("'{path}' cannot be read: {source}")]
    Unreadable {
        /// The path.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The host has no address.
    #[error("host '{host}' cannot be resolved: {source}")]
    Unresolved {
        /// The host.
        host: String,
        /// What the resolver says.
        source: io::Error,
    },
    /// The host is not on the public network.
    #[error("host '{host}' is at {address}, {kind}; add it to the allowed hosts if that is intended")]
    NotPublic {
        /// The host.
        host: String,
        /// The address that is refused.
        address: IpAddr,
        /// What kind of address it is.
        kind: &'static str,
    },
}

/// Hosts that may be reached although they are not public.
#[derive(Clone, Debug, Default)]
pub struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// From names and IP addresses, as they stand in an address. Case and the brackets of IPv6 do not matter.
    pub fn new(hosts: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(hosts.into_iter().map(|host| plain_host(host.as_ref())).collect())
    }

    fn allows(&self, host: &str) -> bool {
        self.0.iter().any(|allowed| *allowed == plain_host(host))
    }
}

fn plain_host(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

/// How a remote repository is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Encrypted.
    Https,
    /// Not encrypted.
    Http,
    /// Over ssh, with the keys of an agent or of the user's ssh configuration.
    Ssh,
}

impl Scheme {
    fn default_port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
            Self::Ssh => 22,
        }
    }
}

/// An address that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A repository on this machine.
    Local(PathBuf),
    /// A repository on another one.
    Remote(Remote),
}

/// A repository on another machine, with the addresses that git will connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    scheme: Scheme,
    host: String,
    port: u16,
    /// What git is given: made from the parts that were checked, so that git cannot read it differently.
    url: String,
    resolved: Vec<IpAddr>,
    allowed: bool,
}

impl Address {
    /// Checks what was written: a path, a `https`, `http` or `ssh` URL, or `user@host:path`.
    ///
    /// `resolve` gives all addresses of a host; [`resolve`] asks the system.
    ///
    /// # Errors
    /// If it is something else, not a repository, has credentials in it, or its host is not public.
    pub fn check(
        text: &str,
        allowed: &AllowedHosts,
        resolve: impl Fn(&str, u16) -> io::Result<Vec<IpAddr>>,
    ) -> Result<Self, AddressError> {
        let invalid = |why| Err(AddressError::Invalid { text: shown(text), why });
        if text.is_empty() || text.len() > MAX_LENGTH {
            return invalid("give a path or a URL of at most 4096 bytes");
        }
        if text.starts_with('-') {
            return invalid("it begins with a dash; write a path as ./-name");
        }
        if text.chars().any(char::is_control) {
            return invalid("it holds a control character");
        }
        if Self::is_path(text) {
            return local(Path::new(text));
        }
        match text.split_once(':').filter(|_| !text.contains("://")) {
            Some((host, path)) => scp_like(text, host, path, allowed, resolve),
            None => remote(text, allowed, resolve),
        }
    }

    /// Whether a text is a path, and no address of something elsewhere.
    pub fn is_path(text: &str) -> bool {
        // The first colon before any slash is where git ends the host.
        !text.contains("://") && text.split_once(':').is_none_or(|(host, _)| host.contains('/'))
    }

    /// A repository on this machine, by its path.
    ///
    /// # Errors
    /// If there is none.
    pub fn local(path: &Path) -> Result<Self, AddressError> {
        local(path)
    }

    /// What of the world git must reach.
    pub(super) fn network_access(&self) -> NetworkAccess {
        match self {
            Self::Local(_) => NetworkAccess::Local,
            Self::Remote(Remote { scheme: Scheme::Https, .. }) => NetworkAccess::Https,
            Self::Remote(Remote { scheme: Scheme::Http, .. }) => NetworkAccess::Http,
            Self::Remote(Remote { scheme: Scheme::Ssh, .. }) => NetworkAccess::Ssh,
        }
    }

    /// What git is given. It never begins with a dash.
    pub(super) fn argument(&self) -> &std::ffi::OsStr {
        match self {
            Self::Local(path) => path.as_os_str(),
            Self::Remote(remote) => remote.url.as_ref(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => path.display().fmt(f),
            Self::Remote(remote) => f.write_str(&remote.url),
        }
    }
}

impl Remote {
    /// How it is reached.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Its host, as in the URL.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether a token may be sent to it: only encrypted, unless the host was allowed by name.
    pub fn may_receive_token(&self) -> bool {
        self.scheme == Scheme::Https || self.scheme == Scheme::Http && self.allowed
    }

    /// Whether it is reached by the same scheme, at the same host and port as a URL.
    pub fn has_origin(&self, url: &str) -> bool {
        let (Ok(own), Ok(url)) = (Url::parse(&self.origin()), Url::parse(url)) else { return false };
        self.scheme != Scheme::Ssh && own.origin() == url.origin()
    }

    /// `scheme://host:port/`, which is where a token is sent and nowhere else.
    pub(super) fn origin(&self) -> String {
        let scheme = if self.scheme == Scheme::Https { "https" } else { "http" };
        if self.port == self.scheme.default_port() {
            format!("{scheme}://{}/", self.host)
        } else {
            format!("{scheme}://{}:{}/", self.host, self.port)
        }
    }

    /// Value of `http.curloptResolve` that pins the addresses; `None` if the host is an address itself, or for ssh.
    pub(super) fn curl_resolve(&self) -> Option<String> {
        if self.scheme == Scheme::Ssh || plain_host(&self.host).parse::<IpAddr>().is_ok() {
            return None;
        }
        let addresses: Vec<String> = self.resolved.iter().map(|address| bracketed(*address)).collect();
        Some(format!("{}:{}:{}", self.host, self.port, addresses.join(",")))
    }

    /// How ssh is called: no questions, and to the first of the addresses, whose key is checked under the host's name.
    pub(super) fn ssh_command(&self) -> String {
        let pin = match self.resolved.first() {
            Some(address) => format!(" -o HostName={address} -o HostKeyAlias={}", plain_host(&self.host)),
            None => String::new(),
        };
        format!("ssh -o BatchMode=yes -o ConnectTimeout=30 -o ForwardAgent=no -o PermitLocalCommand=no{pin}")
    }
}

/// Asks the system for the addresses of a host.
///
/// # Errors
/// What the system says.
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<IpAddr>> {
    Ok((host, port).to_socket_addrs()?.map(|address| address.ip()).collect())
}

fn local(path: &Path) -> Result<Address, AddressError> {
    let shown = || path.display().to_string();
    let absolute = path.canonicalize().map_err(|source| AddressError::Unreadable { path: shown(), source })?;
    let bare = absolute.join("HEAD").is_file() && absolute.join("objects").is_dir();
    if !bare && !absolute.join(".git").exists() {
        return Err(AddressError::NotARepository { path: shown() });
    }
    match find_pipe(if bare { absolute.clone() } else { absolute.join(".git") }) {
        Some(pipe) => Err(AddressError::Pipe { path: pipe.display().to_string() }),
        None => Ok(Address::Local(absolute)),
    }
}

/// A pipe among the files of a repository. Opening one waits, perhaps forever.
fn find_pipe(repository: PathBuf) -> Option<PathBuf> {
    let mut waiting = vec![repository];
    for _ in 0..MAX_ENTRIES {
        let path = waiting.pop()?;
        let found = path.symlink_metadata().ok().map(|found| found.file_type());
        if found.is_some_and(|kind| kind.is_dir()) {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            // Objects are many, and their kind is known without a look at each.
            waiting.extend(
                entries.filter(|entry| !entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path()),
            );
        } else if path.metadata().is_ok_and(|found| found.file_type().is_fifo()) {
            return Some(path);
        }
    }
    None
}

fn remote(
    text: &str,
    allowed: &AllowedHosts,
    resolve: impl Fn(&str, u16) -> io::Result<Vec<IpAddr>>,
) -> Result<Address, AddressError> {
    let invalid = |why| Err(AddressError::Invalid { text: shown(text), why });
    if text.contains("::") && !text.contains('[') {
        return invalid("remote helpers are not used; write https://host/path");
    }
    let Ok(url) = Url::parse(text) else { return invalid("it is not a URL; write https://host/path") };
    let scheme = match url.scheme() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        "ssh" => Scheme::Ssh,
        "file" => return invalid("write the path of a local repository without file://"),
        _ => return invalid("its scheme is not https, http or ssh"),
    };
    if url.password().is_some() || scheme != Scheme::Ssh && !url.username().is_empty() {
        return invalid("it has credentials in it; configure a token from an environment variable instead");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return invalid("it has a query or fragment; give the address that git clone takes");
    }
    let host = match url.host() {
        Some(Host::Domain(name)) => name.to_ascii_lowercase(),
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => format!("[{address}]"),
        None => return invalid("it names no host"),
    };
    if !is_host(&host) || !is_user(url.username()) {
        return invalid("its host or user has characters that no host or user has");
    }
    let port = url.port().unwrap_or(scheme.default_port());
    let user = if url.username().is_empty() { String::new() } else { format!("{}@", url.username()) };
    let shown_port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let clean = format!("{}://{user}{host}{shown_port}{}", url.scheme(), url.path());
    checked(Remote { scheme, host, port, url: clean, resolved: Vec::new(), allowed: false }, allowed, resolve)
}

fn scp_like(
    text: &str,
    host: &str,
    path: &str,
    allowed: &AllowedHosts,
    resolve: impl Fn(&str, u16) -> io::Result<Vec<IpAddr>>,
) -> Result<Address, AddressError> {
    let invalid = |why| Err(AddressError::Invalid { text: shown(text), why });
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    if path.is_empty() || path.starts_with(['-', ':']) {
        return invalid("write user@host:path, https://host/path, or ./ before a path that has a colon");
    }
    let host = host.to_ascii_lowercase();
    if !is_host(&host) || host.starts_with('[') || !is_user(user) {
        return invalid("its host or user has characters that no host or user has");
    }
    let at = if user.is_empty() { "" } else { "@" };
    let url = format!("{user}{at}{host}:{path}");
    let remote = Remote { scheme: Scheme::Ssh, host, port: 22, url, resolved: Vec::new(), allowed: false };
    checked(remote, allowed, resolve)
}

fn is_host(host: &str) -> bool {
    !host.is_empty()
        && !host.starts_with('-')
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'[' | b']' | b':'))
}

fn is_user(user: &str) -> bool {
    !user.starts_with('-') && user.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

/// Resolves the host and refuses it if one of its addresses is not public.
fn checked(
    mut remote: Remote,
    allowed: &AllowedHosts,
    resolve: impl Fn(&str, u16) -> io::Result<Vec<IpAddr>>,
) -> Result<Address, AddressError> {
    let host = plain_host(&remote.host);
    let unresolved = |source| AddressError::Unresolved { host: host.clone(), source };
    remote.resolved = match host.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) => resolve(&host, remote.port).map_err(unresolved)?,
    };
    remote.resolved.dedup();
    if remote.resolved.is_empty() || remote.resolved.len() > MAX_RESOLVED {
        let text = format!("it has {} addresses", remote.resolved.len());
        return Err(unresolved(io::Error::other(text)));
    }
    check_public(&host, &remote.resolved, allowed)?;
    remote.allowed = allowed.allows(&host);
    Ok(Address::Remote(remote))
}

/// Refuses a host of which one address is not public, unless the host is allowed by name.
///
/// # Errors
/// Which address, and what kind of address it is.
pub fn check_public(host: &str, addresses: &[IpAddr], allowed: &AllowedHosts) -> Result<(), AddressError> {
    let found = addresses.iter().find_map(|address| Some((*address, not_public(*address)?)));
    match found {
        Some((address, kind)) if !allowed.allows(host) => {
            Err(AddressError::NotPublic { host: plain_host(host), address, kind })
        }
        _ => Ok(()),
    }
}

/// What kind of address it is if it is not one of the public network.
fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

/// Azure's metadata service; those of other clouds are in ranges that are refused anyway.
const METADATA: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let octets = address.octets();
    match octets {
        [0, ..] => Some("which is unspecified"),
        [127, ..] => Some("which is this machine"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some("which is a private network"),
        [169, 254, ..] => Some("which is link-local or the metadata of a cloud"),
        [100, 64..=127, ..] => Some("which is the network of a provider"),
        [192, 0, 0, _] | [192, 0, 2, _] | [198, 18..=19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Some("which is reserved")
        }
        [224..=239, ..] => Some("which is multicast"),
        [240..=255, ..] => Some("which is reserved"),
        _ if address == METADATA => Some("which is the metadata of a cloud"),
        _ => None,
    }
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    let inner = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        not_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("which is unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("which is this machine"),
        [0, 0, 0, 0, 0, 0xffff | 0, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] => Some("which is IPv4 in disguise"),
        [0xfc00..=0xfdff, ..] => Some("which is a private network"),
        [0xfe80..=0xfeff, ..] => Some("which is link-local"),
        [0xff00..=0xffff, ..] => Some("which is multicast"),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inner(high, low),
        [0x64, 0xff9b, 1, ..] => Some("which is IPv4 in disguise"),
        [0x2002, high, low, ..] => inner(high, low),
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x100, 0, 0, 0, ..] | [0x3fff, 0..=0xfff, ..] => {
            Some("which is reserved")
        }
        [0x2000..=0x3fff, ..] => None,
        _ => Some("which is reserved"),
    }
}

fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// What was written, short enough for an error and without what might be a password.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(200).filter(|c| !c.is_control()).collect();
    match (text.split_once("://"), text.rfind('@')) {
        (Some((scheme, _)), Some(at)) => format!("{scheme}://{}", &text[at + 1..]),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
