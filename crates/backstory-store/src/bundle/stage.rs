//! What a bundle is made of. If all projects are handed over, graph, index and clones are taken from where they are;
//! otherwise their clones and the index are copied beside an excerpt of the ledger. That excerpt is another ledger, so
//! graph and index are rebuilt from it when it is opened, with the vectors of the index that was copied.

use std::{
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use super::{BundleError, CLONES, DIRECTORY_MODE, LEDGER, configure_clones, create_parent, list_files};
use crate::ledger::Ledger;

/// The directory of the index, in a data directory.
const INDEX: &str = "index";

/// What a bundle is made of; a directory of its own that is removed with this.
#[derive(Debug)]
pub struct Stage {
    data_dir: PathBuf,
    directory: PathBuf,
    projects: Vec<String>,
    is_whole: bool,
}

impl Stage {
    /// Prepares what is handed over of a data directory that nobody has open: the projects that are named, or all. The
    /// directory must not be there.
    ///
    /// # Errors
    /// Nothing is stored of a project, or a file cannot be read or written; what was written is removed.
    pub fn prepare(data_dir: &Path, directory: &Path, wanted: &[String]) -> Result<Self, BundleError> {
        let ledger = Ledger::open(&data_dir.join(LEDGER))?;
        let known = ledger.stored_projects()?;
        if let Some(unknown) = wanted.iter().find(|project| !known.contains(project)) {
            return Err(BundleError::UnknownProject(backstory_model::text::truncate_echo(unknown).into_owned()));
        }
        let is_whole = wanted.is_empty() || known.iter().all(|project| wanted.contains(project));
        fs::DirBuilder::new().mode(DIRECTORY_MODE).create(directory).map_err(BundleError::io(directory))?;
        let projects = if is_whole { known } else { wanted.to_vec() };
        let stage = Self { data_dir: data_dir.to_owned(), directory: directory.to_owned(), projects, is_whole };
        if is_whole {
            ledger.write_excerpt(&stage.ledger(), &[])?;
            return Ok(stage);
        }
        ledger.write_excerpt(&stage.ledger(), &stage.projects)?;
        stage.copy_files()?;
        Ok(stage)
    }

    /// Copies the clones of its projects, and the index.
    fn copy_files(&self) -> Result<(), BundleError> {
        let clones: Vec<String> =
            self.projects.iter().map(|project| format!("{CLONES}/{}/", clone_name(project))).collect();
        let mut files = Vec::new();
        list_files(&self.data_dir, Path::new(""), &mut files)?;
        let is_wanted =
            |path: &str| path.starts_with(&format!("{INDEX}/")) || clones.iter().any(|clone| path.starts_with(clone));
        for file in files.iter().filter(|file| is_wanted(&file.path)) {
            let (from, to) = (self.data_dir.join(&file.path), self.directory.join(&file.path));
            create_parent(&to)?;
            fs::copy(&from, &to).map_err(BundleError::io(&from))?;
        }
        configure_clones(&self.directory.join(CLONES))
    }

    /// The directory that is handed over, but for the ledger.
    pub(super) fn source(&self) -> &Path {
        if self.is_whole { &self.data_dir } else { &self.directory }
    }

    /// The ledger that is handed over.
    pub(super) fn ledger(&self) -> PathBuf {
        self.directory.join(LEDGER)
    }

    /// Full paths of the projects.
    pub fn projects(&self) -> &[String] {
        &self.projects
    }

    /// Whether everything is handed over that is stored. Otherwise [`directory`](Self::directory) must be opened once.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The directory of the excerpt: a data directory, if not everything is handed over.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What is left of it is visible beside the bundle.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Directory of a project's clone.
fn clone_name(project: &str) -> String {
    format!("{}.git", project.replace('%', "%25").replace('/', "%2F"))
}
