//! Lookup tables for the resolution, over all files of a tree.

use std::collections::{BTreeMap, HashMap};

use backstory_model::code::{CodeAnalysis, FileAnalysis, Language};

use super::{LinkEnd, MAX_FILES, MAX_NAMESAKES, confidence};

/// A file of the tree.
pub(super) struct File<'a> {
    pub(super) number: u32,
    pub(super) path: &'a str,
    pub(super) directory: &'a str,
    pub(super) code: Option<&'a CodeAnalysis>,
}

/// Indexes over all files.
pub(super) struct Tree<'a> {
    pub(super) files: Vec<File<'a>>,
    by_path: HashMap<&'a str, u32>,
    by_name: HashMap<&'a str, Vec<u32>>,
    by_directory: HashMap<&'a str, Vec<u32>>,
    /// Definitions by their name, in order of their files.
    definitions: HashMap<&'a str, Vec<LinkEnd>>,
}

fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

impl<'a> Tree<'a> {
    pub(super) fn new(files: &BTreeMap<&'a str, &'a FileAnalysis>) -> Self {
        let mut tree = Self {
            files: Vec::with_capacity(files.len()),
            by_path: HashMap::with_capacity(files.len()),
            by_name: HashMap::new(),
            by_directory: HashMap::new(),
            definitions: HashMap::new(),
        };
        for ((path, analysis), number) in files.iter().zip(0u32..) {
            let directory = directory_of(path);
            let code = analysis.code();
            tree.by_path.insert(path, number);
            tree.by_name.entry(path.rsplit('/').next().unwrap_or(path)).or_default().push(number);
            tree.by_directory.entry(directory).or_default().push(number);
            for (entity, at) in code.map(|code| code.entities.as_slice()).unwrap_or_default().iter().zip(0u32..) {
                if entity.kind.is_callable() || entity.kind.is_type() {
                    tree.definitions.entry(&entity.name).or_default().push(LinkEnd { file: number, entity: Some(at) });
                }
            }
            tree.files.push(File { number, path, directory, code });
        }
        tree
    }

    pub(super) fn definitions_of(&self, name: &str) -> &[LinkEnd] {
        self.definitions.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn entity(&self, end: LinkEnd) -> Option<&'a backstory_model::code::Entity> {
        self.files.get(end.file as usize)?.code?.entities.get(end.entity? as usize)
    }

    /// Files that a candidate of an import means, and how sure that is.
    pub(super) fn files_at(&self, candidate: &str, from: &File<'_>) -> Option<(Vec<u32>, f32)> {
        let (wanted, sure) = match candidate.strip_prefix("**/") {
            Some(end) => (end, confidence::PATH_END),
            None => (candidate, confidence::EXACT_PATH),
        };
        if let Some(package) = wanted.strip_suffix("*.go") {
            let package = package.trim_end_matches('/');
            let anywhere = sure < confidence::EXACT_PATH;
            let directory = if anywhere { self.directory_ending(package)? } else { package };
            let files = self.by_directory.get(directory)?;
            let files: Vec<u32> = files.iter().copied().filter(|file| self.is_go(*file)).take(MAX_FILES).collect();
            return (!files.is_empty()).then_some((files, sure));
        }
        if sure == confidence::EXACT_PATH {
            return self.by_path.get(wanted).map(|file| (vec![*file], sure));
        }
        let name = wanted.rsplit('/').next()?;
        let ends = |file: &&u32| {
            let path = self.files[**file as usize].path;
            path.strip_suffix(wanted).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let found: Vec<u32> = self.by_name.get(name)?.iter().filter(ends).copied().take(MAX_NAMESAKES).collect();
        match found.as_slice() {
            [] => None,
            [one] => Some((vec![*one], sure)),
            // Of several, the one that shares most of the way.
            several => {
                let near = |file: &u32| shared(self.files[*file as usize].path, from.path);
                let best = several.iter().map(near).max()?;
                let mut nearest = several.iter().filter(|file| near(file) == best);
                let one = nearest.next()?;
                nearest.next().is_none().then(|| (vec![*one], sure))
            }
        }
    }

    fn is_go(&self, file: u32) -> bool {
        self.files[file as usize].code.is_some_and(|code| code.language == Language::Go)
    }

    fn directory_ending(&self, end: &str) -> Option<&'a str> {
        let ends = |directory: &&&str| {
            directory.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let mut found = self.by_directory.keys().filter(ends);
        let one = found.next()?;
        found.next().is_none().then_some(*one)
    }
}

/// How many directories two paths share from the root.
fn shared(one: &str, other: &str) -> usize {
    let directories = |path| directory_of(path).split('/');
    directories(one).zip(directories(other)).take_while(|(one, other)| one == other).count()
}
