//! Makes bare clones in the data directory, whole or not at all, and keeps them up to date.
//!
//! A repository on this machine is fetched from like any other: its objects are copied and checked, nothing is written
//! to it, and a later change of its files cannot reach the clone, as it could if they were hard-linked. That costs
//! seconds per 100 MB, once.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use backstory_model::commit::Sha;
use base64::Engine;
use rustix::fs::OFlags;
use secrecy::{ExposeSecret, SecretString};

use super::{
    address::{Address, Scheme},
    command::{Cancel, GitCommand, GitError, GitProgram, Limits, NetworkAccess},
};

/// Most that git may say when it lists references or fetches, in bytes.
const MAX_OUTPUT: usize = 64 << 20;
/// Longest that git may take to list references of a repository on this machine: what takes longer is no file.
const LOCAL_LIST_TIME: Duration = Duration::from_mins(2);
/// How many packs a clone may have before they are put together.
const MAX_PACKS: usize = 24;
/// Most entries of a directory tree that are counted or cleaned.
const MAX_ENTRIES: usize = 2_000_000;
/// Most further reference patterns of one clone.
const MAX_REFSPECS: usize = 16;
/// How often the size of a clone is looked at, in ticks of the command's watch.
const SIZE_EVERY: u32 = 5;
/// File in the clone that is locked while it is written.
const LOCK: &str = "backstory.lock";

/// Why a clone was not made or brought up to date. What was there before is as it was.
#[derive(Debug, thiserror::Error)]
pub enum CloneError {
    /// Git could not do it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There is no repository, or it may not be seen.
    #[error("{address} is not a git repository, or it may not be read: {said}")]
    NotARepository {
        /// Where it was looked for.
        address: String,
        /// What git said.
        said: String,
    },
    /// Somebody else may not read it.
    #[error("{address} refused access: {said}; configure a token or an ssh key that may read it")]
    Refused {
        /// Where.
        address: String,
        /// What git said.
        said: String,
    },
    /// It has objects that are damaged, missing or forbidden.
    #[error("{address} is damaged: {said}; `git fsck` in it says more")]
    Corrupt {
        /// Where.
        address: String,
        /// What git said.
        said: String,
    },
    /// It has an object that git does not let in.
    #[error(
        "{address} has objects that git refuses, the first of them {object} ({why}), so nothing new was read of it; \
         'git fsck' in it names all: rewrite its history without them, with git filter-repo for example, and read that"
    )]
    Forbidden {
        /// Where.
        address: String,
        /// The first such object.
        object: String,
        /// What is wrong with it.
        why: String,
    },
    /// It was cloned without the content of all its files.
    #[error(
        "{address} is a partial clone, which lacks the content of some files; run 'git fetch --refetch --no-filter' in it, \
         or add the address that it was cloned from"
    )]
    Partial {
        /// Where.
        address: String,
    },
    /// It uses SHA-256.
    #[error("{address} names its objects by SHA-256, which cannot be read yet")]
    Sha256 {
        /// Where.
        address: String,
    },
    /// The directory of the clone is there already.
    #[error("'{}' exists already; fetch instead, or remove it", directory.display())]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// Another process or thread writes to the clone.
    #[error("'{}' is being written by somebody else; try again when that is done", directory.display())]
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// A pattern of references is not one that may be asked for.
    #[error("'{0}' is not a pattern of references; write one like refs/merge-requests/*/head")]
    Refspec(String),
    /// A token would be sent in the clear.
    #[error("no token is sent to {address}: it is not https, and its host is not among the allowed ones")]
    TokenInTheClear {
        /// Where.
        address: String,
    },
    /// The directory cannot be written.
    #[error("'{}' cannot be written: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A token for http(s). It reaches git through its environment and is sent to the address' own host only.
#[derive(Clone, Debug)]
pub struct Credential {
    /// User name: `oauth2` for a GitLab token, `x-access-token` for a GitHub token.
    pub username: String,
    /// The token.
    pub token: SecretString,
}

/// How long a clone or fetch may take and how large the clone may get.
#[derive(Clone, Copy, Debug)]
pub struct CloneLimits {
    /// Longest it may take.
    pub time: Duration,
    /// Most bytes on disk. It is looked at twice a second, so it can be passed by what arrives in that time.
    pub bytes: u64,
}

impl Default for CloneLimits {
    fn default() -> Self {
        Self { time: Duration::from_hours(1), bytes: 20 << 30 }
    }
}

/// What to clone, where to, and how.
#[derive(Clone, Copy, Debug)]
pub struct CloneRequest<'a> {
    /// Where from.
    pub address: &'a Address,
    /// The clone's directory.
    pub directory: &'a Path,
    /// References to have besides branches and tags, as `refs/merge-requests/*/head`.
    pub more_refs: &'a [String],
    /// How many commits of each branch a new clone has; the whole history if absent. With it there are no tags.
    pub depth: Option<u32>,
    /// For http(s).
    pub credential: Option<&'a Credential>,
    /// Time and size.
    pub limits: CloneLimits,
}

/// What a clone is like after it was made or brought up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneSummary {
    /// Name of the branch that the origin's HEAD points at; `None` if it is detached, or the repository is empty.
    pub default_branch: Option<String>,
    /// Whether there is no reference at all.
    pub empty: bool,
    /// Whether history is cut off: the origin is itself a shallow clone.
    pub shallow: bool,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Makes a bare clone. It is made beside the directory and renamed when it is whole.
///
/// # Errors
/// See [`CloneError`]; then the directory is not there.
pub fn clone(git: &GitProgram, request: CloneRequest<'_>, cancel: &Cancel) -> Result<CloneSummary, CloneError> {
    let directory = request.directory;
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| CloneError::Io { path, source }
    };
    if directory.exists() {
        return Err(CloneError::Exists { directory: directory.to_owned() });
    }
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(io(parent))?;
    let parent = parent.canonicalize().map_err(io(parent))?;
    let work = tempfile::Builder::new().prefix(".clone-").tempdir_in(&parent).map_err(io(&parent))?;
    let path = work.path().join("repo.git");
    let limits = Limits { time: request.limits.time, output: MAX_OUTPUT };
    let init =
        git.command(None, NetworkAccess::Nothing, "init").args(["--quiet", "--bare", "--template=", "--"]).arg(&path);
    init.run(limits, cancel)?;
    let state = update(git, &path, request, cancel)?;
    fs::rename(&path, directory).map_err(io(directory))?;
    Ok(state)
}

/// Brings a clone up to date: new commits, moved branches, and references that are gone. Objects that no reference
/// reaches any more are kept, so commits of before a force-push can still be read.
///
/// # Errors
/// See [`CloneError`]; then all references are as they were.
pub fn fetch(git: &GitProgram, request: CloneRequest<'_>, cancel: &Cancel) -> Result<CloneSummary, CloneError> {
    let path = request
        .directory
        .canonicalize()
        .map_err(|source| CloneError::Io { path: request.directory.to_owned(), source })?;
    update(git, &path, request, cancel)
}

fn update(
    git: &GitProgram,
    path: &Path,
    request: CloneRequest<'_>,
    cancel: &Cancel,
) -> Result<CloneSummary, CloneError> {
    let _lock = lock(path)?;
    remove_leftovers(path);
    let limits = Limits { time: request.limits.time, output: MAX_OUTPUT };
    let head = default_branch(git, request, limits, cancel)?;
    match transfer_refs(git, path, request, &["--atomic"], cancel) {
        // A branch has become a directory of branches, or the other way round. Git cannot do that in one step, but with
        // the branches that are gone removed first.
        Err(CloneError::Git(GitError::Failed { stderr, .. })) if stderr.contains("cannot create 'refs/") => {
            remove_leftovers(path);
            transfer_refs(git, path, request, &[], cancel)
        }
        done => done,
    }
    .map_err(|error| explain(request.address, error))?;
    let bytes = size(path);
    if bytes > request.limits.bytes {
        return Err(GitError::TooLarge { command: "fetch".to_owned(), limit: request.limits.bytes }.into());
    }
    if let Some(branch) = &head {
        let command = git.command(Some(path), NetworkAccess::Nothing, "symbolic-ref");
        command.args(["HEAD", &format!("refs/heads/{branch}")]).run(limits, cancel)?;
    }
    tidy(git, path, limits, cancel)?;
    let empty = is_empty(git, path, limits, cancel)?;
    Ok(CloneSummary { default_branch: head, empty, shallow: path.join("shallow").exists(), bytes })
}

/// Names of the branches and tags of a repository, each in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefNames {
    /// Below `refs/heads/`.
    pub branches: Vec<String>,
    /// Below `refs/tags/`.
    pub tags: Vec<String>,
}

/// Asks the origin which branches and tags it has. Nothing is fetched.
///
/// # Errors
/// See [`CloneError`].
pub fn list_ref_names(git: &GitProgram, request: CloneRequest<'_>, cancel: &Cancel) -> Result<RefNames, CloneError> {
    let command = transfer(git, None, request, "ls-remote")?
        .args(["--heads", "--tags", "--refs", "--end-of-options"])
        .arg(request.address.argument());
    let limits = Limits { time: request.limits.time, output: MAX_OUTPUT };
    let output = command.run(listing_limits(request.address, limits), cancel);
    let output = output.map_err(|error| explain(request.address, error))?;
    let mut names = RefNames::default();
    for line in String::from_utf8_lossy(&output).lines() {
        let reference = line.split_once('\t').map_or("", |(_id, reference)| reference);
        if let Some(branch) = reference.strip_prefix("refs/heads/") {
            names.branches.push(branch.to_owned());
        } else if let Some(tag) = reference.strip_prefix("refs/tags/") {
            names.tags.push(tag.to_owned());
        }
    }
    Ok(names)
}

/// The limits of a command that only lists references.
fn listing_limits(address: &Address, limits: Limits) -> Limits {
    match address {
        Address::Local(_) => Limits { time: limits.time.min(LOCAL_LIST_TIME), ..limits },
        Address::Remote(_) => limits,
    }
}

/// Fetches everything that is wanted while the size is watched.
fn transfer_refs(
    git: &GitProgram,
    path: &Path,
    request: CloneRequest<'_>,
    how: &[&str],
    cancel: &Cancel,
) -> Result<(), CloneError> {
    let deepen = match request.depth {
        // Of a clone that is there the new commits are fetched: what is cut off stays the same.
        Some(_) if has_refs(path) => vec![],
        Some(depth) => vec![format!("--depth={}", depth.max(1))],
        // The origin may have more history than when the clone was made. Of a shallow origin this fetches what there is.
        None if path.join("shallow").exists() => vec!["--unshallow".to_owned()],
        None => vec![],
    };
    let transfer = transfer(git, Some(path), request, "fetch")?
        .args(["--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
        .args(["--no-recurse-submodules", "--update-shallow"])
        .args(how)
        .args(deepen)
        .arg("--end-of-options")
        .arg(request.address.argument())
        .args(refspecs(&request)?);
    let limit = request.limits.bytes;
    let mut ticks = 0;
    let watch = || {
        ticks += 1;
        let full = ticks % SIZE_EVERY == 0 && size(path) > limit;
        if full { Err(GitError::TooLarge { command: "fetch".to_owned(), limit }) } else { Ok(()) }
    };
    let limits = Limits { time: request.limits.time, output: MAX_OUTPUT };
    transfer.run_watched(Vec::new(), limits, cancel, watch)?;
    Ok(())
}

/// A clone that is being written, until it is dropped.
struct Lock(File);

impl Drop for Lock {
    /// Closing the file would not be enough: a process that another thread is just starting has it too for a moment.
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::debug!(%error, "a clone is unlocked when its file is closed");
        }
    }
}

fn lock(path: &Path) -> Result<Lock, CloneError> {
    let file = path.join(LOCK);
    let io = |source| CloneError::Io { path: file.clone(), source };
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let lock = File::options().create(true).truncate(false).write(true).custom_flags(flags).open(&file).map_err(io)?;
    match lock.try_lock() {
        Ok(()) => Ok(Lock(lock)),
        Err(TryLockError::WouldBlock) => Err(CloneError::Busy { directory: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}

/// The branch of the origin's HEAD. This is also what finds out that there is no repository.
fn default_branch(
    git: &GitProgram,
    request: CloneRequest<'_>,
    limits: Limits,
    cancel: &Cancel,
) -> Result<Option<String>, CloneError> {
    let command = transfer(git, None, request, "ls-remote")?
        .args(["--symref", "--end-of-options"])
        .arg(request.address.argument())
        .arg("HEAD");
    let output = command.run(listing_limits(request.address, limits), cancel);
    let output = output.map_err(|error| explain(request.address, error))?;
    let output = String::from_utf8_lossy(&output);
    let mut branch = None;
    for line in output.lines() {
        match line.split_once('\t') {
            Some((target, "HEAD")) if target.starts_with("ref: ") => {
                branch = target.strip_prefix("ref: refs/heads/").map(str::to_owned);
            }
            Some((id, _)) if id.len() == 64 => {
                return Err(CloneError::Sha256 { address: request.address.to_string() });
            }
            _ => {}
        }
    }
    Ok(branch)
}

/// A command that talks to the origin and to nothing else.
fn transfer(
    git: &GitProgram,
    repository: Option<&Path>,
    request: CloneRequest<'_>,
    name: &str,
) -> Result<GitCommand, CloneError> {
    let reach = request.address.network_access();
    let mut command = git.command(repository, reach, name);
    let Address::Remote(remote) = request.address else { return Ok(command) };
    if remote.scheme() == Scheme::Ssh {
        return Ok(command.ssh_command(&remote.ssh_command()));
    }
    if let Some(pinned) = remote.curl_resolve() {
        command = command.config("http.curloptResolve", &pinned);
    }
    let Some(credential) = request.credential else { return Ok(command) };
    if !remote.may_receive_token() {
        return Err(CloneError::TokenInTheClear { address: request.address.to_string() });
    }
    let token = credential.token.expose_secret();
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{}:{token}", credential.username));
    let header = format!("Authorization: Basic {pair}");
    Ok(command.config(&format!("http.{}.extraHeader", remote.origin()), &header).secret(token).secret(&pair))
}

/// Whether a clone has references, so that it was fetched before.
fn has_refs(path: &Path) -> bool {
    let has_entries = |directory: &Path| fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some());
    path.join("packed-refs").exists() || has_entries(&path.join("refs/heads"))
}

fn refspecs(request: &CloneRequest<'_>) -> Result<Vec<String>, CloneError> {
    let more = request.more_refs;
    // Each tag would bring the files of its release.
    let own: &[&str] = if request.depth.is_some() { &["refs/heads/*"] } else { &["refs/heads/*", "refs/tags/*"] };
    let own: Vec<String> = own.iter().map(|pattern| (*pattern).to_owned()).collect();
    if let Some(wrong) = more.iter().find(|pattern| !is_pattern(pattern)).or(more.get(MAX_REFSPECS)) {
        return Err(CloneError::Refspec(wrong.chars().take(200).collect()));
    }
    Ok(own.iter().chain(more).map(|pattern| format!("+{pattern}:{pattern}")).collect())
}

fn is_pattern(pattern: &str) -> bool {
    pattern.strip_prefix("refs/").is_some_and(|rest| !rest.starts_with("replace"))
        && pattern.len() <= 200
        && !pattern.contains("..")
        && pattern.matches('*').count() <= 1
        && pattern.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_' | b'.' | b'*'))
}

/// Says what a failure of git means.
fn explain(address: &Address, error: impl Into<CloneError>) -> CloneError {
    let error = error.into();
    let CloneError::Git(GitError::Failed { stderr, .. }) = &error else { return error };
    let (address, said) = (address.to_string(), stderr.clone());
    if let Some((object, why)) = forbidden(stderr) {
        return CloneError::Forbidden { address, object, why };
    }
    let has = |texts: &[&str]| texts.iter().any(|text| stderr.contains(text));
    if has(&["mismatched algorithms"]) {
        CloneError::Sha256 { address }
    } else if has(&["does not appear to be a git repository", "not found", "does not exist"]) {
        CloneError::NotARepository { address, said }
    } else if has(&["promisor remote", "lazy fetching disabled"]) {
        CloneError::Partial { address }
    } else if has(&[
        "Authentication failed",
        "could not read Username",
        "Permission denied",
        "error: 401",
        "error: 403",
    ]) {
        CloneError::Refused { address, said }
    } else if has(&[
        "corrupt",
        "missing",
        "unable to read",
        "bad object",
        "fsck",
        "loose object",
        "invalid object",
        "did not send all",
    ]) {
        CloneError::Corrupt { address, said }
    } else {
        error
    }
}

/// The object that a check of objects found wrong, and what is wrong with it, as in
/// `error: object 082ae7…: duplicateEntries: contains duplicate file entries; fatal: fsck error in packed object`.
fn forbidden(said: &str) -> Option<(String, String)> {
    if !said.contains("fsck error") {
        return None;
    }
    let (_, rest) = said.split_once("error: object ")?;
    let (object, rest) = rest.split_once(": ")?;
    Sha::from_hex(object.as_bytes())?;
    let why = rest.split_once("; ").map_or(rest, |(why, _)| why);
    Some((object.to_owned(), why.to_owned()))
}

/// Removes what a fetch that was killed left behind. Only the holder of the lock may do this.
fn remove_leftovers(path: &Path) {
    for name in ["packed-refs.lock", "packed-refs.new", "HEAD.lock", "shallow.lock", "config.lock"] {
        drop(fs::remove_file(path.join(name)));
    }
    for_each_file(&path.join("refs"), |file, _| {
        if file.extension().is_some_and(|extension| extension == "lock") {
            drop(fs::remove_file(file));
        }
    });
    for_each_file(&path.join("objects"), |file, _| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("tmp_") || name.starts_with(".tmp-") || name.ends_with(".lock") {
            drop(fs::remove_file(file));
        }
    });
}

/// Keeps the number of packs small, and a commit graph, with which git finds its way through history faster.
fn tidy(git: &GitProgram, path: &Path, limits: Limits, cancel: &Cancel) -> Result<(), CloneError> {
    let mut packs = 0;
    for_each_file(&path.join("objects/pack"), |file, _| {
        packs += usize::from(file.extension().is_some_and(|extension| extension == "pack"));
    });
    if packs > MAX_PACKS {
        let repack = git.command(Some(path), NetworkAccess::Nothing, "repack");
        repack.args(["-d", "-l", "-q", "--geometric=2"]).run(limits, cancel)?;
    }
    let graph = git.command(Some(path), NetworkAccess::Nothing, "commit-graph");
    graph.args(["write", "--reachable", "--no-progress"]).run(limits, cancel)?;
    Ok(())
}

fn is_empty(git: &GitProgram, path: &Path, limits: Limits, cancel: &Cancel) -> Result<bool, CloneError> {
    let command =
        git.command(Some(path), NetworkAccess::Nothing, "for-each-ref").args(["--count=1", "--format=%(refname)"]);
    Ok(command.run(limits, cancel)?.is_empty())
}

/// Bytes of all files below a directory.
fn size(path: &Path) -> u64 {
    let mut total = 0;
    for_each_file(path, |_, bytes| total += bytes);
    total
}

/// Calls for every file below a directory. Files that vanish meanwhile are passed over.
fn for_each_file(path: &Path, mut call: impl FnMut(&Path, u64)) {
    let mut directories = vec![path.to_owned()];
    let mut seen = 0;
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return;
            }
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => directories.push(entry.path()),
                Ok(metadata) => call(&entry.path(), metadata.len()),
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
