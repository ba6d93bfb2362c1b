//! Bytes that only this process reads, and only while it runs: in a file without a name, so that nothing of them is left
//! when it ends, or in one of an [image](super::image), which is deleted before anything is written to it.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// A file to which bytes are appended.
#[derive(Debug)]
pub(super) struct Scratch {
    directory: PathBuf,
    file: Arc<File>,
    end: u64,
    is_in_memory: bool,
}

impl Scratch {
    /// An empty one in a directory; in memory if no file can be made there.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        let (file, is_in_memory) = match tempfile::tempfile_in(directory) {
            Ok(file) => (file, false),
            Err(_) => (in_memory()?, true),
        };
        Ok(Self { directory: directory.to_owned(), file: Arc::new(file), end: 0, is_in_memory })
    }

    /// One that goes on behind the first bytes of a file, which has a name until somebody deletes it.
    pub(super) fn of_file(path: &Path, end: u64) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        let directory = path.parent().unwrap_or(path).to_owned();
        Ok(Self { directory, file: Arc::new(file), end, is_in_memory: false })
    }

    /// Another, empty one in the same place.
    pub(super) fn another(&self) -> io::Result<Self> {
        Self::new(&self.directory)
    }

    /// Where the next bytes are appended.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Whether no file could be made, or not all written to it.
    pub(super) fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// The file. Who holds it can read what was appended until now and is not erased, also if another takes its place.
    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Appends bytes. If the disk is full all goes to memory: an index must be readable then, too.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.file.write_all_at(bytes, self.end) {
            Err(error) if is_full(&error) && !self.is_in_memory => {
                self.move_to_memory()?;
                self.file.write_all_at(bytes, self.end)?;
            }
            done => done?,
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn move_to_memory(&mut self) -> io::Result<()> {
        let file = in_memory()?;
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while at < self.end {
            let length = usize::try_from(self.end - at).map_or(PIECE, |left| left.min(PIECE));
            read_at(&self.file, at, &mut piece[..length])?;
            file.write_all_at(&piece[..length], at)?;
            at += length as u64;
        }
        (self.file, self.is_in_memory) = (Arc::new(file), true);
        Ok(())
    }

    /// Overwrites bytes with zeros.
    pub(super) fn erase(&mut self, at: u64, length: usize) -> io::Result<()> {
        self.file.write_all_at(&vec![0; length], at)
    }
}

/// Whether there is no more room for a file.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), FileTooLarge | QuotaExceeded | StorageFull)
}

/// Reads bytes that were appended.
pub(super) fn read_at(file: &File, at: u64, to: &mut [u8]) -> io::Result<()> {
    file.read_exact_at(to, at)
}

#[cfg(target_os = "linux")]
fn in_memory() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("backstory", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// Elsewhere the directory of temporary files has to do.
#[cfg(not(target_os = "linux"))]
fn in_memory() -> io::Result<File> {
    tempfile::tempfile()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_there_until_it_is_erased() {
        let directory = tempfile::tempdir().unwrap();
        for directory in [directory.path(), Path::new("/nowhere")] {
            let mut scratch = Scratch::new(directory).unwrap();
            scratch.append(b"first").unwrap();
            scratch.append(b"second").unwrap();
            let (file, mut read) = (scratch.file().clone(), [0; 6]);
            read_at(&file, 5, &mut read).unwrap();
            assert_eq!(&read, b"second");
            scratch.erase(5, 3).unwrap();
            read_at(&file, 5, &mut read).unwrap();
            assert_eq!(&read, b"\0\0\0ond");
            assert_eq!(scratch.end(), 11);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_no_hindrance() {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        // It has zeros wherever it is read.
        let mut scratch = Scratch { directory: PathBuf::new(), file: Arc::new(full), end: 3, is_in_memory: false };
        scratch.append(b"all the same").unwrap();
        let mut read = [1; 10];
        read_at(scratch.file(), 0, &mut read).unwrap();
        assert_eq!(&read, b"\0\0\0all the");
        assert!(scratch.is_in_memory());
    }
}
