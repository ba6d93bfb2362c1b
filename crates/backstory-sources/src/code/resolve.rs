//! Resolves references: which definitions calls, imports and supertypes name, over all files of a tree.

mod index;

use std::collections::{BTreeMap, HashMap, HashSet};

use backstory_model::code::{Call, CodeAnalysis, EntityKind, FileAnalysis, Import, Language, Supertype, SupertypeKind};

use self::index::{File, Tree};
use super::{calls::EXPRESSION, candidates};

/// More definitions of one name than this are not told apart.
const MAX_NAMESAKES: usize = 64;
/// Most files that one import is taken to mean.
const MAX_FILES: usize = 64;

/// How sure a link is, by where its target was found.
mod confidence {
    pub(super) const SAME_FILE: f32 = 0.95;
    pub(super) const IMPORTED: f32 = 0.9;
    pub(super) const SAME_DIRECTORY: f32 = 0.7;
    pub(super) const UNIQUE: f32 = 0.5;
    /// An import of a file by its exact path, and by the end of its path.
    pub(super) const EXACT_PATH: f32 = 0.95;
    pub(super) const PATH_END: f32 = 0.7;
}

/// Methods of standard libraries: a call of one on some value means a definition elsewhere only by chance.
const COMMON: &[&str] = &[
    "add",
    "all",
    "any",
    "append",
    "as_ref",
    "clone",
    "close",
    "collect",
    "concat",
    "contains",
    "copy",
    "count",
    "entry",
    "equals",
    "extend",
    "filter",
    "find",
    "first",
    "flush",
    "forEach",
    "format",
    "from",
    "get",
    "has",
    "hash",
    "index",
    "insert",
    "into",
    "is_empty",
    "is_none",
    "is_some",
    "items",
    "iter",
    "join",
    "keys",
    "last",
    "len",
    "length",
    "lock",
    "lower",
    "map",
    "match",
    "min",
    "max",
    "next",
    "open",
    "parse",
    "pop",
    "push",
    "put",
    "read",
    "reduce",
    "remove",
    "replace",
    "reverse",
    "send",
    "set",
    "size",
    "slice",
    "some",
    "sort",
    "split",
    "start",
    "stop",
    "strip",
    "test",
    "then",
    "toString",
    "to_owned",
    "to_string",
    "trim",
    "unwrap",
    "update",
    "upper",
    "values",
    "write",
];

/// What a link says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkKind {
    /// The first calls the second.
    Calls,
    /// The first imports the second, which is a file.
    Imports,
    /// The first extends the second.
    Extends,
    /// The first implements the second.
    Implements,
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkEnd {
    /// Index into [`ResolvedReferences::paths`].
    pub file: u32,
    /// Index into the file's entities; `None` is the file itself.
    pub entity: Option<u32>,
}

/// A reference whose target was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// What it says.
    pub kind: LinkKind,
    /// What refers.
    pub from: LinkEnd,
    /// What it refers to.
    pub to: LinkEnd,
    /// How sure that is, from 0 to 1.
    pub confidence: f32,
    /// The line of the reference.
    pub line: u32,
}

/// References whose targets were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResolvedReferences {
    /// Paths of all files, in order.
    pub paths: Vec<String>,
    /// Links, by file and within a file calls, imports and base types, each in order.
    pub links: Vec<Link>,
}

/// Finds what calls, imports and base types mean. References that could mean several things are left out, and calls of
/// an entity to itself are too.
pub fn resolve(files: &BTreeMap<&str, &FileAnalysis>) -> ResolvedReferences {
    let tree = Tree::new(files);
    let mut links = Vec::new();
    for (file, _) in tree.files.iter().zip(0u32..) {
        let Some(code) = file.code else { continue };
        let view = View::new(&tree, file, code, &mut links);
        links.extend(code.calls.iter().filter_map(|call| view.call(call)));
        links.extend(code.heritage.iter().filter_map(|heritage| view.heritage(heritage)));
    }
    ResolvedReferences { paths: files.keys().map(|path| (*path).to_owned()).collect(), links }
}

/// The tree as seen from one file.
struct View<'t, 'a> {
    tree: &'t Tree<'a>,
    file: &'t File<'a>,
    code: &'a CodeAnalysis,
    /// Files imported with all their names.
    whole: HashSet<u32>,
    /// Files by the local name of the module.
    modules: HashMap<&'a str, Vec<u32>>,
    /// The name in another file by the local name.
    names: HashMap<&'a str, (&'a str, Vec<u32>)>,
}

impl<'t, 'a> View<'t, 'a> {
    fn new(tree: &'t Tree<'a>, file: &'t File<'a>, code: &'a CodeAnalysis, links: &mut Vec<Link>) -> Self {
        let mut view = Self { tree, file, code, whole: HashSet::new(), modules: HashMap::new(), names: HashMap::new() };
        let mut linked = HashSet::new();
        for import in &code.imports {
            let found = import.candidates.iter().find_map(|candidate| tree.files_at(candidate, file));
            if let Some((files, sure)) = &found {
                for to in files {
                    if *to != file.number && linked.insert(*to) {
                        links.push(view.import_link(*to, *sure, import.line));
                    }
                }
            }
            let files = found.map(|(files, _)| files).unwrap_or_default();
            view.names_of(import, &files, &mut linked, links);
        }
        view
    }

    fn import_link(&self, to: u32, confidence: f32, line: u32) -> Link {
        let (from, to) = (LinkEnd { file: self.file.number, entity: None }, LinkEnd { file: to, entity: None });
        Link { kind: LinkKind::Imports, from, to, confidence, line }
    }

    /// Takes note of what an import makes known here.
    fn names_of(&mut self, import: &'a Import, files: &[u32], linked: &mut HashSet<u32>, links: &mut Vec<Link>) {
        if import.names.is_empty() {
            self.whole.extend(files);
        }
        for name in &import.names {
            match (name.name.as_str(), name.local.as_str()) {
                ("*", "*") => self.whole.extend(files),
                ("*", local) => self.modules.entry(local).or_default().extend(files),
                (_, local) => {
                    // What is imported by name may be a module itself.
                    if let Some((file, sure)) = self.submodule(import, &name.name) {
                        self.modules.entry(local).or_default().push(file);
                        if file != self.file.number && linked.insert(file) {
                            links.push(self.import_link(file, sure, import.line));
                        }
                    }
                    if !files.is_empty() {
                        self.names.entry(local).or_insert_with(|| (&name.name, files.to_vec()));
                    }
                }
            }
        }
    }

    fn submodule(&self, import: &Import, name: &str) -> Option<(u32, f32)> {
        let module = match self.code.language {
            Language::Python if import.module.ends_with('.') => format!("{}{name}", import.module),
            Language::Python => format!("{}.{name}", import.module),
            Language::Rust if name.starts_with(|first: char| first.is_lowercase()) => {
                format!("{}::{name}", import.module)
            }
            _ => return None,
        };
        let last = module.rsplit(['.', ':']).next().unwrap_or_default();
        let found = candidates::import_candidates(self.code.language, self.file.path, &module);
        let named = |candidate: &&String| {
            let path = candidate.trim_end_matches("/mod.rs").trim_end_matches("/__init__.py");
            let stem = path.rsplit('/').next().unwrap_or(path);
            stem.split('.').next() == Some(last)
        };
        let (files, sure) = found.iter().filter(named).find_map(|one| self.tree.files_at(one, self.file))?;
        files.first().map(|file| (*file, sure))
    }

    fn call(&self, call: &Call) -> Option<Link> {
        let wanted = Wanted::of_call(self.code.language, call);
        let from = LinkEnd { file: self.file.number, entity: call.from };
        let (to, confidence) = self.find(&wanted, from)?;
        (to != from).then_some(Link { kind: LinkKind::Calls, from, to, confidence, line: call.line })
    }

    fn heritage(&self, heritage: &Supertype) -> Option<Link> {
        let name = heritage.name.rsplit([':', '.', '\\']).next()?;
        let qualifier = heritage.name.strip_suffix(name).map(|rest| rest.trim_end_matches([':', '.', '\\']));
        let wanted = Wanted { name, qualifier: qualifier.filter(|rest| !rest.is_empty()), what: What::Type };
        let from = LinkEnd { file: self.file.number, entity: Some(heritage.entity?) };
        let (to, confidence) = self.find(&wanted, from)?;
        let kind = match heritage.kind {
            SupertypeKind::Extends => LinkKind::Extends,
            SupertypeKind::Implements => LinkKind::Implements,
        };
        (to != from).then_some(Link { kind, from, to, confidence, line: heritage.line })
    }

    /// The definition that is meant, by where it is found first.
    fn find(&self, wanted: &Wanted<'_>, from: LinkEnd) -> Option<(LinkEnd, f32)> {
        let all = self.tree.definitions_of(wanted.name);
        let renamed = self.names.get(wanted.name).filter(|_| wanted.qualifier.is_none());
        if all.is_empty() && renamed.is_none() {
            return None;
        }
        let fits = |end: &LinkEnd| self.fits(*end, wanted);
        let own = range_of(all, self.file.number);
        let here: Vec<LinkEnd> = own.iter().copied().filter(fits).collect();
        if wanted.what == What::OfSelf {
            let siblings: Vec<LinkEnd> = here.iter().copied().filter(|end| self.is_sibling(*end, from)).collect();
            if !siblings.is_empty() {
                return self.only(&siblings, confidence::SAME_FILE);
            }
        }
        if !here.is_empty() {
            return self.only(&here, confidence::SAME_FILE);
        }
        if let Some((name, files)) = renamed {
            let there = self.in_files(self.tree.definitions_of(name), files, wanted);
            if !there.is_empty() {
                return self.only(&there, confidence::IMPORTED);
            }
        }
        let first = wanted.qualifier.map(|path| path.split([':', '.', '\\', '-']).next().unwrap_or(path));
        let last = wanted.qualifier.map(|path| path.rsplit([':', '.', '\\', '>']).next().unwrap_or(path));
        for local in [last, first].into_iter().flatten() {
            let module = self.modules.get(local).or_else(|| self.names.get(local).map(|(_, files)| files));
            let Some(files) = module else { continue };
            let there = self.in_files(all, files, wanted);
            if !there.is_empty() {
                return self.only(&there, confidence::IMPORTED);
            }
        }
        if !self.whole.is_empty() {
            let there: Vec<LinkEnd> =
                all.iter().filter(|end| self.whole.contains(&end.file)).copied().filter(fits).collect();
            if !there.is_empty() {
                return self.only(&self.defined(there, all), confidence::IMPORTED);
            }
        }
        self.find_near(wanted, all)
    }

    /// The definition in the same directory, or the only one of the repository.
    fn find_near(&self, wanted: &Wanted<'_>, all: &[LinkEnd]) -> Option<(LinkEnd, f32)> {
        if all.len() > MAX_NAMESAKES {
            return None;
        }
        let on_value = wanted.what == What::OnValue;
        if on_value && COMMON.contains(&wanted.name) {
            return None;
        }
        let kin: Vec<LinkEnd> = all.iter().copied().filter(|end| self.fits(*end, wanted)).collect();
        let beside: Vec<LinkEnd> = kin
            .iter()
            .copied()
            .filter(|end| self.tree.files[end.file as usize].directory == self.file.directory)
            .collect();
        if !beside.is_empty() {
            return self.only(&beside, confidence::SAME_DIRECTORY);
        }
        self.only(&kin, confidence::UNIQUE)
    }

    fn in_files(&self, all: &[LinkEnd], files: &[u32], wanted: &Wanted<'_>) -> Vec<LinkEnd> {
        all.iter().copied().filter(|end| files.contains(&end.file) && self.fits(*end, wanted)).collect()
    }

    /// Whether the definition can be meant.
    fn fits(&self, end: LinkEnd, wanted: &Wanted<'_>) -> bool {
        let Some(entity) = self.tree.entity(end) else { return false };
        let kin = self.tree.files[end.file as usize]
            .code
            .is_some_and(|code| code.language.interoperates_with(self.code.language));
        let method = entity.kind == EntityKind::Method;
        kin && match wanted.what {
            What::Type => entity.kind.is_type(),
            What::Free => !method || implicit_receiver(self.code.language),
            What::OnValue => method || entity.parent.is_none(),
            What::OfSelf => method || entity.kind.is_type(),
            What::Anything => true,
        } && self.qualifies(entity, end, wanted)
    }

    /// A qualifier that names a type of the definition's file must be the one that it belongs to.
    fn qualifies(&self, entity: &backstory_model::code::Entity, end: LinkEnd, wanted: &Wanted<'_>) -> bool {
        let Some(qualifier) = wanted.qualifier.filter(|_| wanted.what == What::Anything) else { return true };
        let last = qualifier.rsplit([':', '.', '\\', '>']).next().unwrap_or(qualifier);
        if !last.starts_with(|first: char| first.is_uppercase()) {
            return true;
        }
        let parent = entity.parent.and_then(|parent| self.tree.entity(LinkEnd { entity: Some(parent), ..end }));
        match parent {
            Some(parent) => parent.name == last,
            None => entity.qualified_name.len() > entity.name.len() && entity.qualified_name.contains(last),
        }
    }

    fn is_sibling(&self, end: LinkEnd, from: LinkEnd) -> bool {
        let mut at = self.tree.entity(from);
        let target = self.tree.entity(end).and_then(|entity| entity.parent);
        for _ in 0..8 {
            let Some(entity) = at else { return false };
            if entity.parent.is_some() && entity.parent == target {
                return true;
            }
            at = entity.parent.and_then(|parent| self.tree.entity(LinkEnd { entity: Some(parent), ..from }));
        }
        false
    }

    /// A declaration stands for the definition, if there is one.
    fn defined(&self, found: Vec<LinkEnd>, all: &[LinkEnd]) -> Vec<LinkEnd> {
        let is_declaration =
            |end: &LinkEnd| self.tree.entity(*end).is_some_and(|entity| entity.kind == EntityKind::Declaration);
        if !found.iter().all(is_declaration) {
            return found;
        }
        let defined: Vec<LinkEnd> = all
            .iter()
            .copied()
            .filter(|end| self.tree.entity(*end).is_some_and(|entity| entity.kind == EntityKind::Function))
            .collect();
        if defined.len() == 1 { defined } else { found }
    }

    /// The one that is meant, if all but one are declarations or others of the same name in the same place.
    fn only(&self, found: &[LinkEnd], confidence: f32) -> Option<(LinkEnd, f32)> {
        let is_definition =
            |end: &&LinkEnd| self.tree.entity(**end).is_some_and(|entity| entity.kind != EntityKind::Declaration);
        let definitions: Vec<LinkEnd> = found.iter().filter(is_definition).copied().collect();
        let found = if definitions.is_empty() { found } else { &definitions };
        let first = found.first()?;
        let place = |end: &LinkEnd| (end.file, self.tree.entity(*end).and_then(|entity| entity.parent));
        found.iter().all(|end| place(end) == place(first)).then_some((*first, confidence))
    }
}

/// Definitions of one file among those in order of their files.
fn range_of(all: &[LinkEnd], file: u32) -> &[LinkEnd] {
    let start = all.partition_point(|end| end.file < file);
    let length = all[start..].partition_point(|end| end.file == file);
    &all[start..start + length]
}

/// Whether methods are called without their receiver in the language.
fn implicit_receiver(language: Language) -> bool {
    matches!(language, Language::Java | Language::Kotlin | Language::CSharp | Language::Ruby | Language::Cpp)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Type,
    /// Called by its name alone.
    Free,
    /// Called on `self` or its like.
    OfSelf,
    /// Called on a variable or an expression.
    OnValue,
    /// Called by a path, whose end may name a module or a type.
    Anything,
}

struct Wanted<'a> {
    name: &'a str,
    qualifier: Option<&'a str>,
    what: What,
}

impl<'a> Wanted<'a> {
    fn of_call(language: Language, call: &'a Call) -> Self {
        let qualifier = call.qualifier.as_deref();
        let what = match qualifier {
            None => What::Free,
            Some("self" | "this" | "Self" | "cls" | "super" | "super()" | "$this" | "static" | "@") => What::OfSelf,
            Some(EXPRESSION) => What::OnValue,
            Some(path) if path.contains("::") || path.contains('\\') => What::Anything,
            Some(path) if path.starts_with("self.") || path.starts_with("this.") => What::OnValue,
            Some(path) => {
                let plain_value = path.starts_with(|first: char| first.is_lowercase() || first == '_' || first == '$');
                // A module of Python, Go or JavaScript looks like a variable; imports tell them apart.
                if plain_value && language != Language::Go { What::OnValue } else { What::Anything }
            }
        };
        Self { name: &call.name, qualifier, what }
    }
}

#[cfg(test)]
mod tests;
