//! Generations: the numbered directories of a projection. A rebuild fills a new one beside the one that is read, which
//! then becomes current in one step. Recorded states of the index are in [`ledger::Snapshot`](crate::ledger::Snapshot).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Name of the file that holds the number of the current generation.
const CURRENT: &str = "CURRENT";

/// The generations in a directory.
#[derive(Clone, Debug)]
pub struct Generations {
    directory: PathBuf,
}

impl Generations {
    /// Those in `directory`, which is created if it is absent.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn open(directory: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        Ok(Self { directory })
    }

    /// Without a file that names it, it is the first one, and if that is gone the newest.
    fn current_number(&self) -> u64 {
        let first = || self.path(1).is_dir().then_some(1);
        self.named().or_else(first).or_else(|| self.newest_number()).unwrap_or(1)
    }

    fn named(&self) -> Option<u64> {
        let named = fs::read_to_string(self.directory.join(CURRENT)).ok()?.trim().parse().ok()?;
        self.path(named).is_dir().then_some(named)
    }

    fn newest_number(&self) -> Option<u64> {
        let entries = fs::read_dir(&self.directory).ok()?.filter_map(Result::ok);
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        directories.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).max()
    }

    /// Directory of the current generation.
    pub fn current(&self) -> PathBuf {
        self.path(self.current_number())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.directory.join(number.to_string())
    }

    /// Directory for a new generation, empty and not yet current.
    ///
    /// # Errors
    /// What is left of an earlier attempt cannot be removed.
    pub fn prepare(&self) -> io::Result<PathBuf> {
        let current = self.current();
        if self.named().is_none() && current.is_dir() {
            // The new one must not be taken for it before it is whole.
            self.activate(&current)?;
        }
        let next = self.path(self.current_number() + 1);
        if next.exists() {
            fs::remove_dir_all(&next)?;
        }
        Ok(next)
    }

    /// Makes a prepared generation current. Durable when it returns.
    ///
    /// # Errors
    /// The change could not be written; the old one is still current.
    pub fn activate(&self, prepared: &Path) -> io::Result<()> {
        let number = prepared.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let new = self.directory.join("CURRENT.new");
        fs::write(&new, number)?;
        fs::File::open(&new)?.sync_all()?;
        fs::rename(&new, self.directory.join(CURRENT))?;
        fs::File::open(&self.directory)?.sync_all()
    }

    /// Removes every generation but the current one.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn remove_others(&self) -> io::Result<()> {
        let current = self.current();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path.is_dir() && path != current {
                // Whoever still reads there may have written meanwhile.
                fs::remove_dir_all(&path).or_else(|_| fs::remove_dir_all(&path))?;
            }
        }
        Ok(())
    }
}
