//! Keeps the blame of all lines up to date in the ledger; computing it belongs to `sources::git`.

use std::collections::HashSet;

use backstory_model::{commit::Sha, lineage::ReplacedInFile};
use backstory_sources::git::{
    command::Cancel,
    lineage::{self, CommitReplaced, FileLineage, Options, Previous, Untraced},
};
use backstory_store::ledger::{LedgerError, LineageHead, LineageUpdate, StoredLineage};

use super::Tips;
use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
};

/// Files with what was replaced in them that are written at once.
const BATCH: usize = 2_000;

impl Engine {
    /// Brings the lineage of every branch to its tip, from what is known of it or anew. Only of commits that are `kept`, if
    /// not all are, is kept what they replaced.
    pub(super) fn update_lineage(
        &self,
        project: &str,
        tips: &Tips,
        anew: bool,
        kept: Option<&HashSet<Sha>>,
        cancel: &Cancel,
    ) -> Result<()> {
        for (branch, tip) in tips {
            self.update_lineage_of(project, (branch, *tip), anew, kept, cancel)?;
        }
        if let Some(kept) = kept {
            self.ledger().keep_replaced_by(project, |commit| kept.contains(&commit))?;
        }
        let branches: Vec<&str> = tips.keys().map(String::as_str).collect();
        Ok(self.ledger().keep_lineage_of(project, &branches)?)
    }

    fn update_lineage_of(
        &self,
        project: &str,
        (branch, tip): (&str, Sha),
        anew: bool,
        kept: Option<&HashSet<Sha>>,
        cancel: &Cancel,
    ) -> Result<()> {
        let known = self.ledger().lineage_head(project, branch)?.filter(|_| !anew);
        if known.as_ref().is_some_and(|known| known.tip == tip) {
            return Ok(());
        }
        let clone = self.clone_of(project);
        let options = Options::default();
        let mut replaced = ReplacedRows { engine: self, project, kept, rows: Vec::new(), failed: None };
        let mut take = |of: CommitReplaced| replaced.take(of);
        // After a force-push its old commits may be gone.
        let known = match known {
            Some(known) if self.objects(project)?.exists(known.tip)? => Some(known),
            _ => None,
        };
        let computed = match &known {
            None => lineage::fresh(&clone, &[tip], &options, &mut take)?,
            Some(known) => {
                let mut file = |_: Sha, path: &str| match self.ledger().lineage(project, branch, path) {
                    Ok(found) => found.map(to_source),
                    // It is computed anew.
                    Err(_) => None,
                };
                let tips = [known.tip];
                let mut previous = Previous { tips: &tips, ignored: &known.ignored, file: &mut file };
                lineage::update(&clone, &mut previous, &[tip], &options, &mut take)?
            }
        };
        replaced.end()?;
        if cancel.is_cancelled() {
            return Err(Error::new(ErrorKind::Conflict, "the sync was stopped"));
        }
        let whole = |of: &lineage::TipLineage| of.base.is_none();
        for of in computed.tips {
            let update = LineageUpdate {
                project,
                branch,
                head: LineageHead { tip, ignored: computed.ignored.clone() },
                whole: whole(&of),
                files: of.files.into_iter().map(|(path, file)| (path.to_string(), file.map(to_stored))).collect(),
            };
            self.ledger().update_lineage(&update)?;
        }
        Ok(())
    }
}

/// What commits replaced, on the way to the ledger.
struct ReplacedRows<'a> {
    engine: &'a Engine,
    project: &'a str,
    kept: Option<&'a HashSet<Sha>>,
    rows: Vec<(Sha, ReplacedInFile)>,
    failed: Option<LedgerError>,
}

impl ReplacedRows<'_> {
    fn take(&mut self, of: CommitReplaced) {
        let commit = of.commit;
        if self.kept.is_some_and(|kept| !kept.contains(&commit)) {
            return;
        }
        self.rows.extend(of.files.into_iter().map(|file| (commit, file)));
        if self.rows.len() >= BATCH {
            self.write();
        }
    }

    fn write(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if self.failed.is_none() {
            self.failed = self.engine.ledger().put_replaced(self.project, &rows).err();
        }
    }

    fn end(mut self) -> Result<()> {
        self.write();
        self.failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

fn to_stored(file: FileLineage) -> StoredLineage {
    match file {
        FileLineage::Traced(lineage) => {
            StoredLineage::Traced(std::sync::Arc::try_unwrap(lineage).unwrap_or_else(|shared| (*shared).clone()))
        }
        FileLineage::Untraced(Untraced::Binary) => StoredLineage::Binary,
        FileLineage::Untraced(Untraced::TooLarge) => StoredLineage::TooLarge,
    }
}

fn to_source(file: StoredLineage) -> FileLineage {
    match file {
        StoredLineage::Traced(lineage) => FileLineage::Traced(std::sync::Arc::new(lineage)),
        StoredLineage::Binary => FileLineage::Untraced(Untraced::Binary),
        StoredLineage::TooLarge => FileLineage::Untraced(Untraced::TooLarge),
    }
}
