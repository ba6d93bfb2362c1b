//! Generations: the numbered directories of a projection. A rebuild fills a new one beside the one that is read, which
//! then becomes current in one step. Recorded states of the index are in [`ledger::Snapshot`](crate::ledger::Snapshot).

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Name of the file that holds the number of the current generation.
const CURRENT: &str = "CURRENT";
/// Name of the file that says by which settings they are made.
const SETTINGS: &str = "SETTINGS";
/// Name of the file that holds the id of the ledger that they are made from.
const LEDGER_ID: &str = "LEDGER";

/// The generations in a directory.
#[derive(Clone, Debug)]
pub struct Generations {
    directory: PathBuf,
}

impl Generations {
    /// Those in `directory`, which is created if it is absent.
    ///
    /// # Errors
    /// The directory cannot be created, or it is a link: what that leads to may be somebody else's, and old generations
    /// are removed.
    pub fn open(directory: PathBuf) -> io::Result<Self> {
        if directory.is_symlink() {
            let reason = "it is a link; remove the link, and move the whole data directory if it should be elsewhere";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        fs::create_dir_all(&directory)?;
        Ok(Self { directory })
    }

    /// Without a file that names it, it is the first one, and if that is gone the newest.
    fn current_number(&self) -> u64 {
        let first = || self.path(1).is_dir().then_some(1);
        self.named().or_else(first).or_else(|| self.newest_number()).unwrap_or(1)
    }

    fn named(&self) -> Option<u64> {
        let named = self.text(CURRENT)?.trim().parse().ok()?;
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
    pub fn create_next(&self) -> io::Result<PathBuf> {
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
        self.replace(CURRENT, number.as_bytes())
    }

    /// Writes a file in one step; a link in its place is not followed. Durable when it returns.
    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let new = self.directory.join(format!("{name}.new"));
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::File::create_new(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, self.directory.join(name))?;
        fs::File::open(&self.directory)?.sync_all()
    }

    /// What a file beside the generations says; `None` if it is no file.
    fn text(&self, name: &str) -> Option<String> {
        let path = self.directory.join(name);
        // Reading a pipe would not end.
        path.is_file().then(|| fs::read_to_string(path).ok())?
    }

    /// The id of the ledger that the generations were made from, if that is on record.
    pub fn ledger_id(&self) -> Option<String> {
        self.text(LEDGER_ID)
    }

    /// Records which ledger the generations are made from.
    ///
    /// # Errors
    /// It could not be written.
    pub fn put_ledger_id(&self, id: &str) -> io::Result<()> {
        self.replace(LEDGER_ID, id.as_bytes())
    }

    /// By which settings the generations are made, if that is on record.
    pub fn settings(&self) -> Option<String> {
        self.text(SETTINGS)
    }

    /// Records by which settings the generations are made.
    ///
    /// # Errors
    /// It could not be written.
    pub fn put_settings(&self, settings: &str) -> io::Result<()> {
        self.replace(SETTINGS, settings.as_bytes())
    }

    /// Something in the current generation that is neither a file nor a directory: opening it may never end.
    pub fn irregular_file(&self) -> Option<PathBuf> {
        let mut directories = vec![self.current()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => directories.push(path),
                    Ok(kind) if kind.is_symlink() && !(path.is_file() || path.is_dir()) => return Some(path),
                    Ok(kind) if kind.is_file() || kind.is_symlink() => {}
                    _ => return Some(path),
                }
            }
        }
        None
    }

    /// Removes every generation but the current one, and nothing else.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn remove_others(&self) -> io::Result<()> {
        let current = self.current();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let is_numbered = entry.file_name().to_str().is_some_and(|name| name.parse::<u64>().is_ok());
            let path = entry.path();
            if is_numbered && entry.file_type()?.is_dir() && path != current {
                // A process that still reads there may have written meanwhile.
                fs::remove_dir_all(&path).or_else(|_| fs::remove_dir_all(&path))?;
            }
        }
        Ok(())
    }
}
