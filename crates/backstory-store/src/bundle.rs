//! Bundles: a data directory in one file, so that somebody else begins with a finished index.
//!
//! What belongs to the owner of the data directory is left out: [`stage`] makes the ledger that is handed over.
//!
//! A bundle begins with [`MAGIC`]. What follows is one zstd stream: the header as JSON, then the files in the header's
//! order, each in blocks that begin with their SHA-256, at the end the SHA-256 of all of these. Reading trusts nothing: only
//! the files of a data directory are written, no link and no configuration of git among them, and each no longer than the
//! header says.

mod stage;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Write},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Component, Path, PathBuf},
};

use backstory_model::digest::sha256;
use serde::{Deserialize, Serialize};

use crate::{
    index::IMAGE,
    ledger::{Ledger, LedgerError},
};

pub use stage::Stage;

/// What a bundle begins with. The number is that of the format.
pub const MAGIC: &[u8] = b"backstory bundle 1\n";
/// Largest header, in bytes.
const MAX_HEADER: usize = 256 << 20;
/// Most files of a bundle.
const MAX_FILES: usize = 2_000_000;
/// Most bytes of all files of a bundle.
const MAX_BYTES: u64 = 1 << 40;
/// Longest path, in bytes, and most directories above a file.
const MAX_PATH: usize = 4096;
const MAX_DEPTH: usize = 64;
/// Bytes of a block.
const BLOCK: usize = 4 << 20;
/// Bytes of a hash.
const HASH: usize = 32;
/// Largest window of the compression that is read: 128 MiB.
const MAX_WINDOW_LOG: u32 = 27;
const LEVEL: i32 = 3;
/// The ledger, and the directories of a data directory that a bundle has.
const LEDGER: &str = "ledger.sqlite";
const LEDGER_LOG: &str = "ledger.sqlite-wal";
const CLONES: &str = "clones";
const DIRECTORIES: [&str; 3] = [CLONES, "graph", "index"];
/// What is taken of a clone. Its configuration is written again, since git does what it says.
const OF_CLONE: [&str; 5] = ["HEAD", "objects", "packed-refs", "refs", "shallow"];
/// The configuration of every clone.
const CLONE_CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
/// Who may read what is written: only its owner.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// What a bundle says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleHeader {
    /// Version of the program that wrote it.
    pub version: String,
    /// Digest of graph and lists.
    pub digest: String,
    /// Full paths of the projects.
    pub projects: Vec<String>,
    /// The files, in order.
    files: Vec<BundledFile>,
}

/// A file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BundledFile {
    path: String,
    bytes: u64,
}

/// What a bundle holds, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleSize {
    /// Files.
    pub files: usize,
    /// Their bytes, before compression.
    pub bytes: u64,
    /// SHA-256 of the contents, in hex: the same for the same files.
    pub hash: String,
}

/// Why a bundle was not written or read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is something else.
    #[error("it is not a backstory bundle")]
    NotABundle,
    /// It was written by a newer program.
    #[error("it is a bundle of another format; read it with the version of backstory that wrote it")]
    OtherFormat,
    /// It breaks off, or has other bytes than were written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It has a file that no data directory has.
    #[error("it has the file '{0}', which no data directory has")]
    Forbidden(String),
    /// There is more of it than is read.
    #[error("it has {what}, more than the {limit} that are read")]
    TooLarge {
        /// What there is.
        what: String,
        /// The limit.
        limit: String,
    },
    /// The disk has no room for it.
    #[error("it has {needed} bytes, and the disk has room for {free}")]
    NoRoom {
        /// What it takes.
        needed: u64,
        /// What there is.
        free: u64,
    },
    /// Nothing is stored of a project.
    #[error("nothing is stored of the project '{0}'")]
    UnknownProject(String),
    /// The ledger cannot be read, or its excerpt not be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl BundleError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

/// Writes what was staged to a file, which must not be there. Nobody may have the stores open.
///
/// # Errors
/// A file cannot be read, or the bundle not written; what was written of it is removed.
pub fn write_bundle(stage: &Stage, file: &Path, version: &str, digest: &str) -> Result<BundleSize, BundleError> {
    let failed = BundleError::io;
    let mut files = Vec::new();
    list_files(stage.source(), Path::new(""), &mut files)?;
    if stage.is_whole() {
        files.retain(|file| file.path != LEDGER && file.path != LEDGER_LOG);
        let ledger = stage.ledger();
        let bytes = fs::metadata(&ledger).map_err(failed(&ledger))?.len();
        files.push(BundledFile { path: LEDGER.to_owned(), bytes });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let projects = stage.projects().to_vec();
    let header = BundleHeader { version: version.to_owned(), digest: digest.to_owned(), projects, files };
    let out = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(file).map_err(failed(file))?;
    let written = write_all(stage, file, &header, out);
    if written.is_err() {
        // The reason is told already.
        let _ = fs::remove_file(file);
    }
    written
}

/// Reads a bundle into a directory that it creates, on a disk that has room for `free` bytes.
///
/// # Errors
/// It is no bundle, is damaged, too large, or a file cannot be written; what was written is removed.
pub fn read_bundle(file: &Path, directory: &Path, free: u64) -> Result<(BundleHeader, BundleSize), BundleError> {
    let input = File::open(file).map_err(BundleError::io(file))?;
    let mut builder = fs::DirBuilder::new();
    builder.mode(DIRECTORY_MODE).create(directory).map_err(BundleError::io(directory))?;
    let read = read_all(file, BufReader::new(input), directory, free);
    if read.is_err() {
        // The reason is told already.
        let _ = fs::remove_dir_all(directory);
    }
    read
}

/// The files below a directory that a bundle takes.
fn list_files(data_dir: &Path, below: &Path, files: &mut Vec<BundledFile>) -> Result<(), BundleError> {
    let directory = data_dir.join(below);
    for entry in fs::read_dir(&directory).map_err(BundleError::io(&directory))? {
        let entry = entry.map_err(BundleError::io(&directory))?;
        let relative = below.join(entry.file_name());
        let kind = entry.file_type().map_err(BundleError::io(&directory))?;
        if kind.is_dir() {
            let top = relative.components().next().map(|part| part.as_os_str().to_owned());
            if top.is_some_and(|top| DIRECTORIES.iter().any(|known| top == *known)) {
                list_files(data_dir, &relative, files)?;
            }
            continue;
        }
        let Some(path) = relative.to_str().filter(|path| kind.is_file() && is_allowed(path)) else { continue };
        if files.len() == MAX_FILES {
            let what = format!("more than {MAX_FILES} files");
            return Err(BundleError::TooLarge { what, limit: MAX_FILES.to_string() });
        }
        let bytes = entry.metadata().map_err(BundleError::io(&directory))?.len();
        files.push(BundledFile { path: path.to_owned(), bytes });
    }
    Ok(())
}

/// Whether a path is one of a data directory that a bundle may have.
fn is_allowed(path: &str) -> bool {
    let parts: Vec<Component<'_>> = Path::new(path).components().collect();
    let names: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let Some(names) = names else { return false };
    if path.len() > MAX_PATH || names.len() > MAX_DEPTH || names.join("/") != path {
        return false;
    }
    match names.as_slice() {
        [LEDGER | LEDGER_LOG] => true,
        [CLONES, clone, first, rest @ ..] => {
            clone.ends_with(".git") && OF_CLONE.contains(first) && !(*first == "objects" && is_link_of_objects(rest))
        }
        ["graph" | "index", .., last] => *last != "LOCK" && !last.starts_with(IMAGE),
        _ => false,
    }
}

/// Whether a file among objects leads to objects elsewhere.
fn is_link_of_objects(rest: &[&str]) -> bool {
    matches!(rest, ["info", name] if name.contains("alternates"))
}

fn write_all(stage: &Stage, file: &Path, header: &BundleHeader, mut out: File) -> Result<BundleSize, BundleError> {
    let failed = |source| BundleError::Io { path: file.to_owned(), source };
    out.write_all(MAGIC).map_err(failed)?;
    let mut out = zstd::Encoder::new(BufWriter::new(out), LEVEL).map_err(failed)?;
    let text = serde_json::to_vec(header).map_err(|error| BundleError::Damaged(error.to_string()))?;
    out.write_all(&(text.len() as u64).to_le_bytes()).and_then(|()| out.write_all(&text)).map_err(failed)?;
    let mut hashes = Vec::new();
    let mut block = vec![0; BLOCK];
    for BundledFile { path, bytes } in &header.files {
        let source = if path == LEDGER { stage.ledger() } else { stage.source().join(path) };
        let mut input = File::open(&source).map_err(BundleError::io(&source))?;
        hashes.extend_from_slice(&sha256(path.as_bytes()));
        let mut left = *bytes;
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
            input.read_exact(&mut block[..count]).map_err(BundleError::io(&source))?;
            let hash = sha256(&block[..count]);
            out.write_all(&hash).and_then(|()| out.write_all(&block[..count])).map_err(failed)?;
            hashes.extend_from_slice(&hash);
            left -= count as u64;
        }
    }
    let all = sha256(&hashes);
    out.write_all(&all).map_err(failed)?;
    let out = out.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error)).map_err(failed)?;
    out.sync_all().map_err(failed)?;
    Ok(size_of(header, &all))
}

fn read_all(
    file: &Path,
    mut input: impl Read,
    directory: &Path,
    free: u64,
) -> Result<(BundleHeader, BundleSize), BundleError> {
    let damaged = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => BundleError::Damaged("it breaks off".to_owned()),
        _ => BundleError::Damaged(error.to_string()),
    };
    let mut magic = vec![0; MAGIC.len()];
    input.read_exact(&mut magic).map_err(|_| BundleError::NotABundle)?;
    if magic != MAGIC {
        let other = magic.starts_with(b"backstory bundle ");
        return Err(if other { BundleError::OtherFormat } else { BundleError::NotABundle });
    }
    let mut input = zstd::Decoder::new(input).map_err(BundleError::io(file))?;
    input.window_log_max(MAX_WINDOW_LOG).map_err(BundleError::io(file))?;
    let header = read_header(&mut input)?;
    // A few bytes can stand for as many as they like.
    let needed = header.files.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
    if needed > free {
        return Err(BundleError::NoRoom { needed, free });
    }
    let mut hashes = Vec::new();
    let mut block = vec![0; BLOCK];
    let mut hash = [0; HASH];
    for BundledFile { path, bytes } in &header.files {
        let target = directory.join(path);
        create_parent(&target)?;
        let out = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&target);
        let mut out = out.map_err(BundleError::io(&target))?;
        hashes.extend_from_slice(&sha256(path.as_bytes()));
        let mut left = *bytes;
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
            input.read_exact(&mut hash).and_then(|()| input.read_exact(&mut block[..count])).map_err(damaged)?;
            if sha256(&block[..count]) != hash {
                return Err(BundleError::Damaged(format!("{path} has other bytes than were written")));
            }
            out.write_all(&block[..count]).map_err(BundleError::io(&target))?;
            hashes.extend_from_slice(&hash);
            left -= count as u64;
        }
        out.sync_all().map_err(BundleError::io(&target))?;
    }
    input.read_exact(&mut hash).map_err(damaged)?;
    let all = sha256(&hashes);
    if all != hash {
        return Err(BundleError::Damaged("its files are not those that were written".to_owned()));
    }
    if input.read(&mut hash).map_err(damaged)? > 0 {
        return Err(BundleError::Damaged("something follows its last file".to_owned()));
    }
    if !Ledger::is_plain(&directory.join(LEDGER)).unwrap_or(false) {
        return Err(BundleError::Damaged("its ledger is none of backstory".to_owned()));
    }
    Ledger::remove_rows_of_owner(&directory.join(LEDGER))?;
    configure_clones(&directory.join(CLONES))?;
    let size = size_of(&header, &all);
    Ok((header, size))
}

fn read_header(input: &mut impl Read) -> Result<BundleHeader, BundleError> {
    let damaged = |error: io::Error| BundleError::Damaged(error.to_string());
    let mut length = [0; 8];
    input.read_exact(&mut length).map_err(damaged)?;
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_HEADER {
        let (what, limit) = (format!("a header of {length} bytes"), MAX_HEADER.to_string());
        return Err(BundleError::TooLarge { what, limit });
    }
    let mut text = Vec::new();
    input.take(length as u64).read_to_end(&mut text).map_err(damaged)?;
    let header: BundleHeader =
        serde_json::from_slice(&text).map_err(|error| BundleError::Damaged(format!("its header: {error}")))?;
    if header.files.len() > MAX_FILES {
        let what = format!("{} files", header.files.len());
        return Err(BundleError::TooLarge { what, limit: MAX_FILES.to_string() });
    }
    let bytes = header.files.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
    if bytes > MAX_BYTES {
        return Err(BundleError::TooLarge { what: format!("{bytes} bytes"), limit: MAX_BYTES.to_string() });
    }
    if let Some(file) = header.files.iter().find(|file| !is_allowed(&file.path)) {
        return Err(BundleError::Forbidden(backstory_model::text::truncate_echo(&file.path).into_owned()));
    }
    if !header.files.iter().any(|file| file.path == LEDGER) {
        return Err(BundleError::Damaged("it has no ledger".to_owned()));
    }
    Ok(header)
}

/// Makes each directory of clones one that git accepts as a repository.
fn configure_clones(clones: &Path) -> Result<(), BundleError> {
    if !clones.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(clones).map_err(BundleError::io(clones))? {
        let clone = entry.map_err(BundleError::io(clones))?.path();
        for directory in ["objects", "refs"] {
            create_parent(&clone.join(directory).join("any"))?;
        }
        let config = clone.join("config");
        fs::write(&config, CLONE_CONFIG).map_err(BundleError::io(&config))?;
    }
    Ok(())
}

fn create_parent(file: &Path) -> Result<(), BundleError> {
    let Some(parent) = file.parent() else { return Ok(()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(DIRECTORY_MODE).create(parent).map_err(BundleError::io(parent))
}

fn size_of(header: &BundleHeader, hash: &[u8; HASH]) -> BundleSize {
    let bytes = header.files.iter().map(|file| file.bytes).sum();
    BundleSize { files: header.files.len(), bytes, hash: hex::encode(hash) }
}

#[cfg(test)]
mod tests;
