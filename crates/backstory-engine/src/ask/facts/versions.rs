//! Finds when a name came to what declares it, or went from there, by what the versions of a file say of it: those before and
//! after the commits that touch the name. Its first declaration as a field, its type or a default may come long after it.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use backstory_model::{
    change_question::ChangeDirection,
    code::{CodeAnalysis, ContentAnalysis, Entity, Lines, last_part_of_name, name_without_count},
    commit::{ChangeStatus, Commit, FileVersion, RepoPath, Sha},
    id::NodeId,
    repository::EntityChangeKind,
};
use backstory_sources::{code::IncrementalAnalyzer, git::objects::Objects};
use jiff::Timestamp;

use super::declared::{declares, mentions, mentions_own, parameters_of, without_texts};
use crate::{
    clones::{MAX_TEXT, open_objects},
    error::Result,
    history::{GraphChangeRow, changes_across_renames},
    records::commit_record,
    resources::Resources,
};

/// Most bytes of versions that are analyzed for one question.
pub(super) const MAX_ANALYZED: usize = 10 << 20;
/// Most commits that touch a name whose files are read; of what more touch, nothing is known.
const MAX_TOUCHES: usize = 2_000;
/// Fewest words of a commit of which some may have been left out.
const MANY_WORDS: usize = 200;
/// Lengths of the words of a commit that are known.
const KNOWN_WORDS: std::ops::RangeInclusive<usize> = 2..=64;

/// A name within a definition or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// A version of a file under a path.
#[derive(Clone, Debug)]
struct Place {
    path: RepoPath,
    version: FileVersion,
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
                ChangeDirection::Removed => versions.find_removal(member, &touches),
                _ => versions.find_addition(member, &touches, introducing),
            };
            let fates: Vec<MemberFate> = asked.iter().map(fate).collect();
            Ok((fates, versions.left))
        })
        .await?;
    *left = rest;
    Ok(fates)
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
        Some(Place { path: path.clone(), version })
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
    analyzed: HashMap<Sha, Option<Arc<AnalyzedVersion>>>,
    /// Whether the name occurs in them.
    naming: HashMap<Sha, bool>,
}

impl<'a> Versions<'a> {
    fn new(objects: &'a Objects, name: String, left: usize) -> Self {
        let (analyzed, naming) = (HashMap::new(), HashMap::new());
        Self { objects, name, left, analyzer: IncrementalAnalyzer::new(), analyzed, naming }
    }

    /// The commit before which the member was not there. Unknown if it always was, be it in another place from which it was
    /// moved.
    fn find_addition(&mut self, member: &Member, touches: &[Touch], introducing: &BTreeSet<String>) -> MemberFate {
        let Some(first) = touches.iter().find(|touch| self.has(member, touch.after.as_ref())) else {
            return MemberFate::Unknown;
        };
        let is_addition = match self.said(member, first.before.as_ref()) {
            Said::Without => true,
            Said::Nowhere => introducing.contains(&first.sha),
            Said::Unknown | Said::With => false,
        };
        if is_addition { first.fate() } else { MemberFate::Unknown }
    }

    /// The last commit after which the member was not there any more. A parameter that went with its function was not removed
    /// from it.
    fn find_removal(&mut self, member: &Member, touches: &[Touch]) -> MemberFate {
        if touches.last().is_some_and(|last| self.has(member, last.after.as_ref())) {
            return MemberFate::There;
        }
        for touch in touches.iter().rev() {
            if !self.has(member, touch.before.as_ref()) {
                continue;
            }
            match self.said(member, touch.after.as_ref()) {
                Said::Without => return touch.fate(),
                Said::Nowhere if !member.is_parameter => return touch.fate(),
                Said::Nowhere | Said::Unknown | Said::With => {}
            }
        }
        MemberFate::Unknown
    }

    /// Whether a version has the member. One in which the name does not occur is not analyzed.
    fn has(&mut self, member: &Member, place: Option<&Place>) -> bool {
        let Some(place) = place else { return false };
        let (objects, name, id) = (self.objects, &self.name, place.version.id);
        let names_it = *self.naming.entry(id).or_insert_with(|| {
            objects.blob(id, MAX_TEXT).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(name.as_str()))
        });
        names_it && self.said(member, Some(place)) == Said::With
    }

    fn said(&mut self, member: &Member, place: Option<&Place>) -> Said {
        let Some(place) = place else { return Said::Nowhere };
        self.analyze(place).map_or(Said::Unknown, |version| version.said(member))
    }

    fn analyze(&mut self, place: &Place) -> Option<Arc<AnalyzedVersion>> {
        let id = place.version.id;
        if let Some(known) = self.analyzed.get(&id) {
            return known.clone();
        }
        let bytes = self.objects.blob(id, MAX_TEXT).ok().filter(|bytes| bytes.len() <= self.left);
        let analyzed = bytes.and_then(|bytes| {
            self.left -= bytes.len();
            let analysis = self.analyzer.analyze(place.path.as_str(), &bytes);
            let ContentAnalysis::Code(code) = analysis.content else { return None };
            Some(Arc::new(AnalyzedVersion::new(String::from_utf8_lossy(&bytes).into_owned(), code)))
        });
        self.analyzed.insert(id, analyzed.clone());
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
        let holders = self.code.entities.iter().filter(is_holder);
        holders.map(|entity| self.said_of(entity, member)).max().unwrap_or(Said::Nowhere)
    }

    /// What is said of a member of one definition.
    fn said_of(&self, holder: &Entity, member: &Member) -> Said {
        let name = &member.name;
        let code = self.code_of(holder.lines);
        if holder.kind.is_type() {
            return Said::of(self.is_part_of_type(holder, &code, name));
        }
        if !member.is_parameter {
            return Said::of(mentions(&code, name));
        }
        let parameters = parameters_of(&code, last_part_of_name(&holder.qualified_name));
        parameters.map_or(Said::Unknown, |found| Said::of(found.into_iter().any(|one| declares(one, name))))
    }

    /// Whether a type has a part of this name: by a definition or a declaration in it, as a parameter of its constructor, or
    /// as what its functions read or write of themselves.
    fn is_part_of_type(&self, holder: &Entity, code: &str, name: &str) -> bool {
        let own = name_without_count(&holder.qualified_name);
        let separator = self.code.language.separator();
        let part_of = |entity: &Entity| {
            let rest = name_without_count(&entity.qualified_name).strip_prefix(own)?.strip_prefix(separator)?;
            Some(rest.to_owned())
        };
        let inner: Vec<(&Entity, String)> =
            self.code.entities.iter().filter_map(|entity| Some((entity, part_of(entity)?))).collect();
        let is_in_function = |(entity, part): &(&Entity, String)| {
            if !entity.kind.is_callable() || part.contains(separator) {
                return false;
            }
            let code = self.code_of(entity.lines);
            let takes_it = || {
                let parameters = parameters_of(&code, part).unwrap_or_default();
                is_constructor(part, own) && parameters.into_iter().any(|one| declares(one, name))
            };
            mentions_own(&code, name) || takes_it()
        };
        // The rest of its lines declares what it has.
        let is_declared = |(number, line): (u32, &str)| {
            let is_inner = |(entity, _): &(&Entity, String)| {
                (entity.kind.is_callable() || entity.kind.is_type()) && entity.lines.contains(number)
            };
            mentions(line, name) && !inner.iter().any(is_inner)
        };
        inner.iter().any(|(_, part)| part == name)
            || (holder.lines.first..).zip(code.lines()).any(is_declared)
            || inner.iter().any(is_in_function)
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
}
