//! Looking for pieces of text in the files of a directory, also where zstd has packed them.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use memchr::memmem;

/// Bytes that are read at once.
const CHUNK: usize = 4 << 20;
/// Most bytes that are unpacked of one packed piece of a file.
const MAX_UNPACKED: u64 = 4 << 20;
/// What zstd begins everything with.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// How deep directories may lie in each other.
const MAX_DEPTH: usize = 32;

/// Pieces of text to look for.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    finders: Vec<memmem::Finder<'static>>,
    longest: usize,
}

/// What was looked through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Files.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Files in which a piece was found, at most one of each piece's.
    pub found: Vec<PathBuf>,
}

impl Pieces {
    /// These; empty ones are left out.
    pub fn new<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        let finders: Vec<_> = pieces.map(|piece| memmem::Finder::new(piece).into_owned()).collect();
        let longest = finders.iter().map(|finder| finder.needle().len()).max().unwrap_or(0);
        Self { finders, longest }
    }

    /// Which of them are in these bytes, by their places in the list.
    pub fn within(&self, bytes: &[u8]) -> impl Iterator<Item = usize> {
        let places = self.finders.iter().enumerate();
        places.filter(move |(_, finder)| finder.find(bytes).is_some()).map(|(place, _)| place)
    }

    /// Looks through the files below a directory, but for those directories that `skip` says; links are not followed.
    ///
    /// # Errors
    /// A directory or file cannot be read. One that goes meanwhile is none.
    pub fn scan(&self, directory: &Path, skip: &dyn Fn(&Path) -> bool) -> io::Result<Scanned> {
        let mut scanned = Scanned::default();
        self.scan_directory(directory, skip, MAX_DEPTH, &mut scanned)?;
        Ok(scanned)
    }

    fn scan_directory(
        &self,
        directory: &Path,
        skip: &dyn Fn(&Path) -> bool,
        depth: usize,
        scanned: &mut Scanned,
    ) -> io::Result<()> {
        if depth == 0 {
            return Err(io::Error::other(format!("{} lies too deep", directory.display())));
        }
        let Some(entries) = unless_gone(fs::read_dir(directory))? else { return Ok(()) };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let Some(kind) = unless_gone(entry.file_type())? else { continue };
            if kind.is_dir() && !skip(&path) {
                self.scan_directory(&path, skip, depth - 1, scanned)?;
            } else if kind.is_file()
                && let Some(mut file) = unless_gone(File::open(&path))?
            {
                scanned.files += 1;
                if self.scan_file(&mut file, scanned)? {
                    scanned.found.push(path);
                }
            }
        }
        Ok(())
    }

    /// Whether one of them is in a file.
    fn scan_file(&self, file: &mut File, scanned: &mut Scanned) -> io::Result<bool> {
        // What is packed may begin in one chunk and go on into the next.
        let overlap = CHUNK.max(self.longest);
        let mut window = Vec::new();
        loop {
            let read = file.take(CHUNK as u64).read_to_end(&mut window)?;
            scanned.bytes += read as u64;
            if self.within(&window).next().is_some() || self.is_packed_in(&window) {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
            window.drain(..window.len().saturating_sub(overlap));
        }
    }

    fn is_packed_in(&self, bytes: &[u8]) -> bool {
        memmem::find_iter(bytes, &ZSTD).any(|at| {
            let mut unpacked = Vec::new();
            if let Ok(decoder) = zstd::stream::read::Decoder::with_buffer(&bytes[at..]) {
                // What it gives before it finds an error counts too.
                let _ = decoder.take(MAX_UNPACKED).read_to_end(&mut unpacked);
            }
            self.within(&unpacked).next().is_some()
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
