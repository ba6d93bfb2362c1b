//! Keeps the blame of all lines up to date in the ledger; computing it belongs to `sources::git`.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use backstory_model::{
    commit::Sha,
    lineage::{FileRevision, Lineage, ReplacedHunks},
};
use backstory_sources::git::{
    command::Cancel,
    lineage::{self, CommitReplaced, FileOutcome, Options, Previous, Untraced},
};
use backstory_store::ledger::{BlameHead, BlameUpdate, LedgerError, StoredBlame};

use super::Tips;
use crate::{
    clones::{clone_path, open_objects},
    error::{Error, ErrorKind, Result},
    resources::Resources,
};

/// Files with what was replaced in them that are written at once.
const BATCH: usize = 2_000;

/// Brings the lineage of every branch to its tip, from what is known of it or from scratch. Only of commits that are `kept`, if
/// not all are, is kept what they replaced.
pub(super) fn update_lineage(
    resources: &Resources,
    project: &str,
    tips: &Tips,
    from_scratch: bool,
    kept: Option<&HashSet<Sha>>,
    cancel: &Cancel,
) -> Result<()> {
    for (branch, tip) in tips {
        update_lineage_of(resources, project, (branch, *tip), from_scratch, kept, cancel)?;
    }
    if let Some(kept) = kept {
        resources.ledger().retain_replaced_by(project, |commit| kept.contains(&commit))?;
    }
    let branches: Vec<&str> = tips.keys().map(String::as_str).collect();
    Ok(resources.ledger().retain_blame_of(project, &branches)?)
}

fn update_lineage_of(
    resources: &Resources,
    project: &str,
    (branch, tip): (&str, Sha),
    from_scratch: bool,
    kept: Option<&HashSet<Sha>>,
    cancel: &Cancel,
) -> Result<()> {
    let known = resources.ledger().lineage_head(project, branch)?.filter(|_| !from_scratch);
    if known.as_ref().is_some_and(|known| known.tip == tip) {
        return Ok(());
    }
    let clone = clone_path(resources, project);
    let options = Options::default();
    let paths = Paths::of(resources);
    let mut replaced = ReplacedRows { resources, project, kept, paths, rows: Vec::new(), failed: None };
    let mut take = |of: CommitReplaced| replaced.take(of);
    // After a force-push its old commits may be gone.
    let known = match known {
        Some(known) if open_objects(resources, project)?.exists(known.tip)? => Some(known),
        _ => None,
    };
    let computed = match &known {
        None => lineage::compute_all(&clone, &[tip], &options, &mut take)?,
        Some(known) => {
            let mut file = |_: Sha, path: &str| match resources.ledger().lineage(project, branch, path) {
                Ok(found) => found.map(to_source),
                // It is computed from scratch.
                Err(_) => None,
            };
            let tips = [known.tip];
            let mut previous = Previous { tips: &tips, ignored: &known.ignored, file: &mut file };
            lineage::update_incrementally(&clone, &mut previous, &[tip], &options, &mut take)?
        }
    };
    let mut paths = replaced.end()?;
    if cancel.is_cancelled() {
        return Err(Error::new(ErrorKind::Conflict, "the sync was stopped"));
    }
    let whole = |of: &lineage::TipBlame| of.base.is_none();
    for of in computed.tips {
        let update = BlameUpdate {
            project,
            branch,
            head: BlameHead { tip, ignored: computed.ignored.clone() },
            whole: whole(&of),
            files: of.files.into_iter().filter_map(|(path, file)| paths.stored(&path, file)).collect(),
        };
        resources.ledger().update_lineage(&update)?;
    }
    Ok(())
}

/// A lineage without the secrets in the paths of files that lines were written in.
pub(crate) fn clean_lineage(resources: &Resources, lineage: Arc<Lineage>) -> Arc<Lineage> {
    Paths::of(resources).lineage(&lineage).map_or(lineage, Arc::new)
}

/// Paths without the secrets in them, each looked at once. Files that have one are not indexed, so nobody asks for their
/// lines; lines of others may have been written in one.
struct Paths<'a> {
    resources: &'a Resources,
    /// What each becomes, if it does not stay as it is.
    known: HashMap<Arc<str>, Option<Arc<str>>>,
}

impl<'a> Paths<'a> {
    fn of(resources: &'a Resources) -> Self {
        Self { resources, known: HashMap::new() }
    }

    fn cleaned(&mut self, path: &Arc<str>) -> Option<Arc<str>> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let clean = match self.resources.redactor().redact(path) {
            (Cow::Owned(clean), _) => Some(Arc::from(clean)),
            (Cow::Borrowed(_), _) => None,
        };
        self.known.insert(path.clone(), clean.clone());
        clean
    }

    fn clean(&mut self, path: &mut Arc<str>) {
        if let Some(clean) = self.cleaned(path) {
            *path = clean;
        }
    }

    /// What is stored of a file, if anything is.
    fn stored(&mut self, path: &Arc<str>, file: Option<FileOutcome>) -> Option<(String, Option<StoredBlame>)> {
        if self.cleaned(path).is_some() {
            return None;
        }
        let mut file = file.map(to_stored);
        if let Some(StoredBlame::Traced(lineage)) = &mut file
            && let Some(clean) = self.lineage(lineage)
        {
            *lineage = clean;
        }
        Some((path.to_string(), file))
    }

    /// A lineage without them, if it has any.
    fn lineage(&mut self, lineage: &Lineage) -> Option<Lineage> {
        if lineage.sources().iter().all(|source| self.cleaned(&source.path).is_none()) {
            return None;
        }
        Some(Lineage::new(lineage.spans(), |id| {
            let mut source: FileRevision = lineage.sources()[id as usize].clone();
            self.clean(&mut source.path);
            source
        }))
    }

    /// What is stored of what a commit replaced in a file, if anything is.
    fn replaced(&mut self, mut file: ReplacedHunks) -> Option<ReplacedHunks> {
        if self.cleaned(&file.path).is_some() {
            return None;
        }
        self.clean(&mut file.old_path);
        for old in file.replaced.iter_mut().flat_map(|hunk| &mut hunk.old) {
            self.clean(&mut old.source.path);
        }
        Some(file)
    }
}

/// What commits replaced, on the way to the ledger.
struct ReplacedRows<'a> {
    resources: &'a Resources,
    project: &'a str,
    kept: Option<&'a HashSet<Sha>>,
    paths: Paths<'a>,
    rows: Vec<(Sha, ReplacedHunks)>,
    failed: Option<LedgerError>,
}

impl<'a> ReplacedRows<'a> {
    fn take(&mut self, of: CommitReplaced) {
        let commit = of.commit;
        if self.kept.is_some_and(|kept| !kept.contains(&commit)) {
            return;
        }
        let files = of.files.into_iter().filter_map(|file| self.paths.replaced(file));
        self.rows.extend(files.map(|file| (commit, file)));
        if self.rows.len() >= BATCH {
            self.write();
        }
    }

    fn write(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if self.failed.is_none() {
            self.failed = self.resources.ledger().put_replaced(self.project, &rows).err();
        }
    }

    fn end(mut self) -> Result<Paths<'a>> {
        self.write();
        match self.failed {
            Some(error) => Err(error.into()),
            None => Ok(self.paths),
        }
    }
}

fn to_stored(file: FileOutcome) -> StoredBlame {
    match file {
        FileOutcome::Traced(lineage) => {
            StoredBlame::Traced(Arc::try_unwrap(lineage).unwrap_or_else(|shared| (*shared).clone()))
        }
        FileOutcome::Untraced(Untraced::Binary) => StoredBlame::Binary,
        FileOutcome::Untraced(Untraced::TooLarge) => StoredBlame::TooLarge,
    }
}

fn to_source(file: StoredBlame) -> FileOutcome {
    match file {
        StoredBlame::Traced(lineage) => FileOutcome::Traced(Arc::new(lineage)),
        StoredBlame::Binary => FileOutcome::Untraced(Untraced::Binary),
        StoredBlame::TooLarge => FileOutcome::Untraced(Untraced::TooLarge),
    }
}
