//! Searches for pieces of text in the files of a directory, also inside zstd frames.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use aho_corasick::AhoCorasick;
use memchr::memmem;
use zstd::{
    stream::read::Decoder,
    zstd_safe::{DCtx, ResetDirective},
};

/// Bytes that are read at once.
const CHUNK: usize = 4 << 20;
/// Most bytes that are unpacked of one packed piece of a file.
const MAX_UNPACKED: u64 = 4 << 20;
/// What zstd begins everything with.
pub(crate) const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// How deep directories may lie in each other.
const MAX_DEPTH: usize = 32;

/// Pieces of text to look for.
#[derive(Clone, Debug, Default)]
pub struct Needles {
    finder: Option<AhoCorasick>,
    longest: usize,
}

/// What was looked through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Files.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Files in which a piece was found, at most one of each piece's.
    pub found: Vec<PathBuf>,
}

impl Needles {
    /// These; empty ones are left out.
    ///
    /// # Errors
    /// There are too many to be looked for at once.
    pub fn new<'a>(pieces: impl IntoIterator<Item = &'a str>) -> io::Result<Self> {
        let pieces: Vec<&str> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let longest = pieces.iter().map(|piece| piece.len()).max().unwrap_or(0);
        let finder = match pieces.as_slice() {
            [] => None,
            pieces => Some(AhoCorasick::new(pieces).map_err(io::Error::other)?),
        };
        Ok(Self { finder, longest })
    }

    /// Whether one of them is in these bytes.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.finder.as_ref().is_some_and(|finder| finder.is_match(bytes))
    }

    /// Which of them are in these bytes, by their places in the list.
    pub fn matching_needles(&self, bytes: &[u8]) -> BTreeSet<usize> {
        let finder = self.finder.as_ref().filter(|finder| finder.is_match(bytes));
        let found = finder.into_iter().flat_map(|finder| finder.find_overlapping_iter(bytes));
        found.map(|found| found.pattern().as_usize()).collect()
    }

    /// Looks through the files below a directory, but for those directories that `skip` says; links are not followed.
    ///
    /// # Errors
    /// A directory or file cannot be read. One that goes meanwhile is none.
    pub fn scan(&self, directory: &Path, skip: &dyn Fn(&Path) -> bool) -> io::Result<ScanReport> {
        let mut scan = Scan { pieces: self, skip, unpacker: DCtx::create(), scanned: ScanReport::default() };
        scan.directory(directory, MAX_DEPTH)?;
        Ok(scan.scanned)
    }
}

/// A look through files.
struct Scan<'a> {
    pieces: &'a Needles,
    skip: &'a dyn Fn(&Path) -> bool,
    /// Making one takes longer than unpacking a note.
    unpacker: DCtx<'static>,
    scanned: ScanReport,
}

impl Scan<'_> {
    fn directory(&mut self, directory: &Path, depth: usize) -> io::Result<()> {
        if depth == 0 {
            return Err(io::Error::other(format!("{} lies too deep", directory.display())));
        }
        let Some(entries) = unless_gone(fs::read_dir(directory))? else { return Ok(()) };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let Some(kind) = unless_gone(entry.file_type())? else { continue };
            if kind.is_dir() && !(self.skip)(&path) {
                self.directory(&path, depth - 1)?;
            } else if kind.is_file()
                && let Some(mut file) = unless_gone(File::open(&path))?
            {
                self.scanned.files += 1;
                if self.file(&mut file)? {
                    self.scanned.found.push(path);
                }
            }
        }
        Ok(())
    }

    /// Whether one of the pieces is in a file.
    fn file(&mut self, file: &mut File) -> io::Result<bool> {
        let mut window = Vec::new();
        loop {
            let known = window.len();
            let read = file.take(CHUNK as u64).read_to_end(&mut window)?;
            self.scanned.bytes += read as u64;
            if self.pieces.is_in(&window[known.saturating_sub(self.pieces.longest)..]) {
                return Ok(true);
            }
            // What is packed may begin in one chunk and go on into the next.
            if self.is_packed_in(&window, if read == 0 { window.len() } else { known }) {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
            window.drain(..known);
        }
    }

    /// Whether one of the pieces is in what was packed and begins before a place.
    fn is_packed_in(&mut self, bytes: &[u8], before: usize) -> bool {
        let begins = &bytes[..bytes.len().min(before + ZSTD.len() - 1)];
        memmem::find_iter(begins, &ZSTD).any(|at| {
            let mut unpacked = Vec::new();
            // To begin again is never refused.
            let _ = self.unpacker.reset(ResetDirective::SessionOnly);
            let decoder = Decoder::with_context(&bytes[at..], &mut self.unpacker).single_frame();
            // What it gives before it finds an error counts too.
            let _ = decoder.take(MAX_UNPACKED).read_to_end(&mut unpacked);
            self.pieces.is_in(&unpacked)
        })
    }
}

/// What was opened; `None` if it is gone.
fn unless_gone<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}
