//! Finds when a name came to what declares it, or went from there, by what the versions of a file say of it: those before and
//! after the commits that touch the name. Its first declaration as a field, its type or a default may come long after it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use backstory_model::{
    change_question::ChangeDirection,
    code::{CodeAnalysis, ContentAnalysis, Entity, Lines, last_part_of_name, name_without_count},
    commit::{ChangeStatus, Commit, FileVersion, RepoPath, Sha},
    entity::Item,
    id::NodeId,
    repository::{EntityChangeKind, Record},
};
use backstory_sources::{code::IncrementalAnalyzer, git::objects::Objects};
use jiff::Timestamp;

use super::declared::{declares, mentions, mentions_own, parameters_of, without_texts};
use crate::{
    clones::{MAX_TEXT, open_objects},
    error::Result,
    history::{Fate, GraphChangeRow, changes_across_renames, fate_of},
    read::item_of_node,
    records::commit_record,
    resources::Resources,
};

/// Most bytes of versions that are analyzed for one question.
pub(super) const MAX_ANALYZED: usize = 10 << 20;
/// Most bytes of versions that are searched for a name; of what is more, analysis alone tells whether it has it.
const MAX_SEARCHED: u64 = 256 << 20;
/// Most commits that touch a name whose files are read; of what more touch, nothing is known.
const MAX_TOUCHES: usize = 2_000;
/// Fewest words of a commit of which some may have been left out.
const MANY_WORDS: usize = 200;
/// Lengths of the words of a commit that are known.
const KNOWN_WORDS: std::ops::RangeInclusive<usize> = 2..=64;

/// A name within a definition or a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Member {
    /// The qualified name of what has it, without a count; the whole file if absent.
    pub(super) holder: Option<String>,
    /// Its own name.
    pub(super) name: String,
    /// Whether only the parameters of a function are meant, and not all of its code.
    pub(super) is_parameter: bool,
}

/// What happened to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MemberFate {
    /// A commit added or removed it, as was asked.
    Changed {
        /// The commit.
        sha: String,
        /// When it was made.
        at: Timestamp,
    },
    /// It is there, so nothing removed it.
    There,
    /// It is not known.
    Unknown,
}

/// What a version of a file says of a member; what several definitions of one name say is the most of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    /// What should have it is not there.
    Nowhere,
    /// It is not known.
    Unknown,
    /// What should have it does not.
    Without,
    /// It is there.
    With,
}

/// A version of a file under a path, the end of which tells its language.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    path: RepoPath,
    /// Its content.
    id: Sha,
}

/// What the indexed head has of a file.
#[derive(Clone, Debug)]
enum Head {
    /// This version, perhaps under a later path.
    Has(Place),
    /// Nothing: a commit removed it.
    Lacks,
    /// It is not known.
    Unknown,
}

/// A commit that may have touched a name, and the file before and after it.
#[derive(Clone, Debug)]
struct Touch {
    sha: String,
    at: Timestamp,
    before: Option<Place>,
    after: Option<Place>,
}

/// What happened to members of one name that a file has, in their order. Of `left` as many bytes are taken as are analyzed; with
/// none left nothing is known.
pub(super) async fn find_members(
    resources: &Resources,
    file: &NodeId,
    members: Vec<Member>,
    direction: ChangeDirection,
    left: &mut usize,
) -> Result<Vec<MemberFate>> {
    let (NodeId::File { project, path }, Some(first)) = (file.clone(), members.first()) else { return Ok(Vec::new()) };
    let name = first.name.clone();
    let mut changes = changes_across_renames(resources, file).await?;
    changes.reverse();
    let mut asked = Vec::new();
    for member in members {
        let holder = member.holder.as_ref().map(|name| NodeId::entity(&project, &path, name));
        let introducing = introducing_commits(resources, holder.as_ref().unwrap_or(file)).await?;
        asked.push((member, introducing));
    }
    let head = match direction {
        ChangeDirection::Removed => Box::pin(find_head(resources, file)).await?,
        _ => Head::Unknown,
    };
    let room = *left;
    let (fates, rest) = resources
        .blocking(move |resources| {
            let mut touches = Vec::new();
            for change in &changes {
                let Some(record) = commit_record(resources, &project, &change.sha)? else { continue };
                touches.extend(touch_of(change, &record.commit, &name));
                if touches.len() > MAX_TOUCHES {
                    return Ok((vec![MemberFate::Unknown; asked.len()], room));
                }
            }
            let objects = open_objects(resources, &project)?;
            let mut versions = Versions::new(&objects, name, room);
            let fate = |(member, introducing): &(Member, BTreeSet<String>)| match direction {
                ChangeDirection::Removed => versions.find_removal(member, &touches, &head),
                _ => versions.find_addition(member, &touches, introducing),
            };
            let fates: Vec<MemberFate> = asked.iter().map(fate).collect();
            Ok((fates, versions.left))
        })
        .await?;
    *left = rest;
    Ok(fates)
}

/// What the indexed head has of a file, or of what that was renamed to.
async fn find_head(resources: &Resources, file: &NodeId) -> Result<Head> {
    if let Some(place) = place_at_head(resources, file).await? {
        return Ok(Head::Has(place));
    }
    let Some(Fate { last, removed_by, .. }) = fate_of(resources, file.clone()).await? else { return Ok(Head::Unknown) };
    match removed_by {
        Some(_) => Ok(Head::Lacks),
        None => Ok(place_at_head(resources, &last).await?.map_or(Head::Unknown, Head::Has)),
    }
}

/// What the indexed head has at a path; `None` if there is no file.
async fn place_at_head(resources: &Resources, file: &NodeId) -> Result<Option<Place>> {
    let file = file.clone();
    let item = resources.blocking(move |resources| item_of_node(resources, &file)).await?;
    let Some(Item::Repository(of)) = item else { return Ok(None) };
    let Record::File(file) = of.record else { return Ok(None) };
    Ok(Some(Place { path: file.path, id: file.blob }))
}

/// The commits with which a definition or file came.
async fn introducing_commits(resources: &Resources, node: &NodeId) -> Result<BTreeSet<String>> {
    let changes = changes_across_renames(resources, node).await?;
    let introduced = changes.into_iter().filter(|change| change.kind == EntityChangeKind::Introduced);
    Ok(introduced.map(|change| change.sha).collect())
}

/// The file before and after a commit; `None` if that does not touch the name or the file.
fn touch_of(row: &GraphChangeRow, commit: &Commit, name: &str) -> Option<Touch> {
    let NodeId::File { path, .. } = &row.name else { return None };
    let is_word = KNOWN_WORDS.contains(&name.len()) && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_touched = !is_word || commit.identifiers.iter().any(|word| word.name == name);
    if !is_touched && commit.identifiers.len() < MANY_WORDS {
        return None;
    }
    let change = commit.changes.iter().find(|change| change.path.as_str() == path.as_str())?;
    let old_path = change.old_path.as_ref().unwrap_or(&change.path);
    // A copy takes nothing from the file that it is one of.
    let old = change.old.filter(|_| change.status != ChangeStatus::Copied);
    let place = |path: &RepoPath, version: Option<FileVersion>| {
        let version = version.filter(|version| version.mode.is_file())?;
        Some(Place { path: path.clone(), id: version.id })
    };
    let (before, after) = (place(old_path, old), place(&change.path, change.new));
    Some(Touch { sha: row.sha.clone(), at: row.at, before, after })
}

/// A version of a source file, as it was analyzed.
struct AnalyzedVersion {
    source: String,
    /// Where its lines begin.
    line_starts: Vec<usize>,
    code: CodeAnalysis,
}

/// Reads what versions of a file say of a name, each at most once.
struct Versions<'a> {
    objects: &'a Objects,
    name: String,
    /// Bytes that may still be analyzed.
    left: usize,
    analyzer: IncrementalAnalyzer,
    /// `None` of what cannot be analyzed.
    analyzed: HashMap<Place, Option<Arc<AnalyzedVersion>>>,
    /// Bytes that may still be searched for the name.
    searchable: u64,
    /// Whether the name may occur in them.
    naming: HashMap<Sha, bool>,
    /// What they say of members.
    told: HashMap<(Place, Member), Said>,
}

impl<'a> Versions<'a> {
    fn new(objects: &'a Objects, name: String, left: usize) -> Self {
        Self {
            objects,
            name,
            left,
            analyzer: IncrementalAnalyzer::new(),
            analyzed: HashMap::new(),
            searchable: MAX_SEARCHED,
            naming: HashMap::new(),
            told: HashMap::new(),
        }
    }

    /// The commit before which the member was not there. Unknown if it always was, be it in another place from which it was
    /// moved, or if an earlier version may have had it.
    fn find_addition(&mut self, member: &Member, touches: &[Touch], introducing: &BTreeSet<String>) -> MemberFate {
        let may_have = touches.iter().find_map(|touch| {
            let said = self.search(member, touch.after.as_ref());
            matches!(said, Said::With | Said::Unknown).then_some((touch, said))
        });
        let Some((first, Said::With)) = may_have else { return MemberFate::Unknown };
        let is_addition = match self.said(member, first.before.as_ref()) {
            Said::Without => true,
            Said::Nowhere => introducing.contains(&first.sha),
            Said::Unknown | Said::With => false,
        };
        if is_addition { first.fate() } else { MemberFate::Unknown }
    }

    /// The last commit after which the member was not there any more; unknown if a later one may have removed it. A parameter
    /// that went with its function was not removed from it. Of branches that were merged a later commit may still have it, so the
    /// indexed head tells whether it is there; the last commit does if that tells nothing.
    fn find_removal(&mut self, member: &Member, touches: &[Touch], head: &Head) -> MemberFate {
        let now = match head {
            Head::Has(place) => Some(place),
            Head::Lacks => None,
            Head::Unknown => touches.last().and_then(|last| last.after.as_ref()),
        };
        match self.search(member, now) {
            Said::With => return MemberFate::There,
            Said::Unknown => return MemberFate::Unknown,
            Said::Nowhere | Said::Without => {}
        }
        for touch in touches.iter().rev() {
            let before = self.search(member, touch.before.as_ref());
            if matches!(before, Said::Nowhere | Said::Without) {
                continue;
            }
            match (before, self.said(member, touch.after.as_ref())) {
                (_, Said::With) => {}
                (_, Said::Nowhere) if member.is_parameter => {}
                (Said::With, Said::Nowhere | Said::Without) => return touch.fate(),
                _ => return MemberFate::Unknown,
            }
        }
        MemberFate::Unknown
    }

    /// What a version says of the member, if the name occurs in it: one in which it does not is not analyzed.
    fn search(&mut self, member: &Member, place: Option<&Place>) -> Said {
        let Some(place) = place else { return Said::Nowhere };
        let may_have = match self.naming.get(&place.id) {
            Some(known) => *known,
            None => {
                let found = self.may_name(place.id);
                self.naming.insert(place.id, found);
                found
            }
        };
        if may_have { self.said(member, Some(place)) } else { Said::Without }
    }

    /// Whether the name occurs in a version, as far as that may be searched.
    fn may_name(&mut self, id: Sha) -> bool {
        let Ok(bytes) = self.objects.blob(id, MAX_TEXT.min(self.searchable)) else { return true };
        self.searchable -= bytes.len() as u64;
        String::from_utf8_lossy(&bytes).contains(self.name.as_str())
    }

    fn said(&mut self, member: &Member, place: Option<&Place>) -> Said {
        let Some(place) = place else { return Said::Nowhere };
        let key = (place.clone(), member.clone());
        if let Some(known) = self.told.get(&key) {
            return *known;
        }
        let said = self.analyze(place).map_or(Said::Unknown, |version| version.said(member));
        self.told.insert(key, said);
        said
    }

    fn analyze(&mut self, place: &Place) -> Option<Arc<AnalyzedVersion>> {
        if let Some(known) = self.analyzed.get(place) {
            return known.clone();
        }
        let bytes = self.objects.blob(place.id, MAX_TEXT.min(self.left as u64)).ok();
        let analyzed = bytes.and_then(|bytes| {
            self.left -= bytes.len();
            let analysis = self.analyzer.analyze(place.path.as_str(), &bytes);
            let ContentAnalysis::Code(code) = analysis.content else { return None };
            Some(Arc::new(AnalyzedVersion::new(String::from_utf8_lossy(&bytes).into_owned(), code)))
        });
        self.analyzed.insert(place.clone(), analyzed.clone());
        analyzed
    }
}

impl Touch {
    fn fate(&self) -> MemberFate {
        MemberFate::Changed { sha: self.sha.clone(), at: self.at }
    }
}

impl AnalyzedVersion {
    fn new(source: String, code: CodeAnalysis) -> Self {
        let line_starts = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { source, line_starts, code }
    }

    fn said(&self, member: &Member) -> Said {
        let Some(holder) = &member.holder else {
            return Said::of(mentions(&without_texts(&self.source, self.code.language), &member.name));
        };
        let is_holder = |entity: &&Entity| name_without_count(&entity.qualified_name) == holder;
        let key_of = |entity: &&Entity| (entity.lines, entity.kind.is_type());
        // Very many may have one name. Of those that have the same lines, these are read once.
        let mut holders: Vec<&Entity> = self.code.entities.iter().filter(is_holder).collect();
        holders.sort_by_key(key_of);
        holders.dedup_by_key(|entity| key_of(entity));
        let (types, others): (Vec<&Entity>, Vec<&Entity>) = holders.into_iter().partition(|one| one.kind.is_type());
        let of_types = (!types.is_empty()).then(|| Said::of(self.is_part_of_types(&types, holder, &member.name)));
        others.into_iter().map(|one| self.said_of(one, member)).chain(of_types).max().unwrap_or(Said::Nowhere)
    }

    /// What is said of a member of one definition that is no type.
    fn said_of(&self, holder: &Entity, member: &Member) -> Said {
        let (name, code) = (&member.name, self.code_of(holder.lines));
        if !member.is_parameter {
            return Said::of(mentions(&code, name));
        }
        let parameters = parameters_of(&code, last_part_of_name(&holder.qualified_name));
        parameters.map_or(Said::Unknown, |found| Said::of(found.into_iter().any(|one| declares(one, name))))
    }

    /// Whether the types of one name have a part of another one: by a definition or a declaration in them, as a parameter of
    /// their constructor, or as what their functions read or write of themselves.
    fn is_part_of_types(&self, types: &[&Entity], own: &str, name: &str) -> bool {
        let separator = self.code.language.separator();
        let inner = self.code.entities.iter().filter_map(|entity| {
            let rest = name_without_count(&entity.qualified_name).strip_prefix(own)?;
            Some((entity, rest.strip_prefix(separator)?))
        });
        let inner: Vec<(&Entity, &str)> = inner.collect();
        inner.iter().any(|(_, part)| *part == name)
            || self.is_declared(types, &inner, name)
            || self.is_in_functions(&inner, own, name)
    }

    /// Whether the lines of types declare a name, without those of the functions and types in them.
    fn is_declared(&self, types: &[&Entity], inner: &[(&Entity, &str)], name: &str) -> bool {
        let inner = inner.iter().filter(|(entity, _)| entity.kind.is_callable() || entity.kind.is_type());
        let mut ranges: Vec<Lines> = inner.map(|(entity, _)| entity.lines).collect();
        ranges.sort_unstable();
        let mut apart: Vec<Lines> = Vec::new();
        for lines in ranges {
            match apart.last_mut() {
                Some(before) if lines.first <= before.last => before.last = before.last.max(lines.last),
                _ => apart.push(lines),
            }
        }
        let is_inner = |number: u32| {
            let begun = apart.partition_point(|lines| lines.first <= number);
            apart[..begun].last().is_some_and(|lines| lines.contains(number))
        };
        types.iter().any(|holder| {
            let code = self.code_of(holder.lines);
            let mut lines = (holder.lines.first..).zip(code.lines());
            lines.any(|(number, line)| mentions(line, name) && !is_inner(number))
        })
    }

    /// Whether functions of a type read or write a part of it, or its constructors take one of that name.
    fn is_in_functions(&self, inner: &[(&Entity, &str)], own: &str, name: &str) -> bool {
        let separator = self.code.language.separator();
        let mut functions: BTreeMap<Lines, BTreeSet<&str>> = BTreeMap::new();
        for (entity, part) in inner {
            if entity.kind.is_callable() && !part.contains(separator) {
                functions.entry(entity.lines).or_default().insert(*part);
            }
        }
        functions.into_iter().any(|(lines, parts)| {
            let code = self.code_of(lines);
            let takes_it = |part: &str| {
                let parameters = parameters_of(&code, part).unwrap_or_default();
                parameters.into_iter().any(|one| declares(one, name))
            };
            mentions_own(&code, name) || parts.into_iter().any(|part| is_constructor(part, own) && takes_it(part))
        })
    }

    /// Lines without what comments and strings say.
    fn code_of(&self, lines: Lines) -> String {
        let first = lines.first.saturating_sub(1) as usize;
        let start_of = |line: usize| self.line_starts.get(line).copied().unwrap_or(self.source.len());
        let text = &self.source[start_of(first)..start_of(first + lines.count() as usize)];
        without_texts(text, self.code.language)
    }
}

impl Said {
    fn of(is_there: bool) -> Self {
        if is_there { Self::With } else { Self::Without }
    }
}

/// Whether a function of a type makes one.
fn is_constructor(name: &str, of: &str) -> bool {
    let names = ["__init__", "__new__", "__construct", "constructor", "initialize", "new"];
    names.contains(&name) || name == last_part_of_name(of)
}

#[cfg(test)]
mod tests {
    use backstory_sources::code::analyze;

    use super::*;

    fn said(path: &str, source: &str, holder: &str, name: &str, is_parameter: bool) -> Said {
        let code = analyze(path, source.as_bytes()).code().unwrap().clone();
        let version = AnalyzedVersion::new(source.to_owned(), code);
        let holder = (!holder.is_empty()).then(|| holder.to_owned());
        version.said(&Member { holder, name: name.to_owned(), is_parameter })
    }

    #[test]
    fn a_type_has_what_it_declares_takes_or_says_of_itself() {
        use Said::{Nowhere, With, Without};
        let option = "class Option(Base):\n    \"\"\"Is hidden, if the input is.\"\"\"\n    shown: bool\n\n    \
                      def __init__(self, name, width=1):\n        self.names = [name]\n        colors = width\n\n    \
                      def show(self, fold):\n        return 'hidden'\n";
        for (name, expected) in [
            ("shown", With),
            ("width", With),
            ("names", With),
            ("show", With),
            ("hidden", Without),
            ("fold", Without),
            ("colors", Without),
        ] {
            assert_eq!(said("a.py", option, "Option", name, false), expected, "{name}");
        }
        assert_eq!(said("a.py", option, "Command", "name", false), Nowhere);
        let context = "typedef struct context {\n    int fd; /* timeout */\n} context;\n";
        assert_eq!(said("a.c", context, "context", "fd", false), With);
        assert_eq!(said("a.c", context, "context", "timeout", false), Without);
    }

    #[test]
    fn a_function_has_its_parameters_and_the_versions_of_it_are_one() {
        use Said::{With, Without};
        let edit = "def edit(text, *, editor=None):\n    return spell(text)\n\n\ndef edit(text):\n    return text\n";
        for (name, is_parameter, expected) in
            [("editor", true, With), ("spell", true, Without), ("spell", false, With), ("fold", false, Without)]
        {
            assert_eq!(said("a.py", edit, "edit", name, is_parameter), expected, "{name}");
        }
        assert_eq!(said("a.py", "LEFT = 1  # RIGHT\n", "", "LEFT", false), With);
        assert_eq!(said("a.py", "LEFT = 1  # RIGHT\n", "", "RIGHT", false), Without);
    }

    /// Each of them with each other one would take minutes here.
    #[test]
    fn what_very_many_definitions_of_a_name_have_is_read_once() {
        use Said::{With, Without};
        let same = "class Option:\n    def f(self): return 1\n".repeat(3_000);
        assert_eq!(said("a.py", &same, "Option", "hidden", true), Without);
        let line = format!("    {}\n", "f() { return 1 } ".repeat(10));
        let last = "    hidden = 1\n";
        let option = format!("class Option {{\n{}{last}}}\n", line.repeat(300));
        assert_eq!(said("a.js", &option, "Option", "hidden", false), With);
        assert_eq!(said("a.js", &option, "Option", "shown", false), Without);
    }
}
