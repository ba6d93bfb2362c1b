//! The repository that a test reads from, written to in chains of calls.

use std::ops::{Deref, DerefMut};

use super::Fixture;
use backstory_engine::model::commit::Sha;

/// A repository whose changes can be chained up to the commit.
#[derive(Default)]
pub(crate) struct Origin(Fixture);

impl Origin {
    pub(crate) fn new() -> Self {
        Self(Fixture::new())
    }

    /// Writes a file of the working tree.
    pub(crate) fn write(&mut self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> &mut Self {
        self.0.write(path, content);
        self
    }

    /// Goes to another branch, made from HEAD if it is new.
    pub(crate) fn switch(&mut self, branch: &str) -> &mut Self {
        self.0.switch(branch);
        self
    }

    /// Puts a file of any mode into the index.
    pub(crate) fn index(&mut self, mode: &str, id: Sha, path: &str) -> &mut Self {
        self.0.index(mode, id, path);
        self
    }

    /// Who writes the next commits.
    pub(crate) fn author(&mut self, name: &str, email: &str) -> &mut Self {
        self.0.author(name, email);
        self
    }
}

impl Deref for Origin {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.0
    }
}

impl DerefMut for Origin {
    fn deref_mut(&mut self) -> &mut Fixture {
        &mut self.0
    }
}
