//! Analyzes source files: what they define, what that refers to, which comments explain, which sections a document has.
//!
//! Everything here is a function of a path and bytes: no file is opened, and equal input gives equal output. Time and
//! memory are bounded for any bytes: sizes, depths and counts have limits, and where one cuts something off the result
//! says so. Colors alone depend on the clock too, as they are only shown.

mod bind;
mod calls;
mod candidates;
mod comments;
mod decision;
mod define;
mod detect;
mod explain;
mod facts;
mod hash;
mod heading;
mod heritage;
mod highlight;
mod imports;
mod keyword_macros;
mod languages;
mod passages;
mod prose;
mod resolve;
mod rows;
mod select;
mod signature;
mod testing;
mod versions;
mod walk;

use std::{borrow::Cow, cell::RefCell, collections::HashMap, ops::ControlFlow};

use backstory_model::code::{CodeAnalysis, ContentAnalysis, EntityKind, FileAnalysis, FileKind, Language};
use tree_sitter::{ParseOptions, Parser, Tree};

pub use self::{
    calls::{EXPRESSION, MAX_QUALIFIER},
    comments::MAX_DOC,
    define::MAX_ENTITY_NAME_CHARS,
    detect::detect,
    explain::{MAX_EXPLANATION, MAX_EXPLANATIONS},
    facts::{FactsError, MAX_FACT_TEXT, SyntaxFact, SyntaxFacts, grammar_version, syntax_facts},
    highlight::{HighlightKind, MAX_HIGHLIGHTED, highlight},
    passages::{PassageLimits, PassageSize, passages},
    prose::MAX_SECTIONS,
    resolve::{Link, LinkKind, ResolvedReferences, resolve},
    select::{Limits, left_out_by_path, select},
    signature::MAX_SIGNATURE,
    walk::{MAX_CALLS, MAX_COMMENTS, MAX_ENTITIES, MAX_IMPORTS},
};

/// Largest file that is parsed, in bytes; a larger one has lines and no more.
pub const MAX_PARSED: usize = 4 << 20;
/// Steps of the parser, in hundreds, that any file may take.
const FREE_STEPS: usize = 2_000;
/// Bytes for which it may take a hundred steps more.
const BYTES_PER_STEP: usize = 16;

/// What a file contains. Call it for files that [`select`] includes; others give a result too, but one of little use.
pub fn analyze(path: &str, bytes: &[u8]) -> FileAnalysis {
    analyze_as(detect(path, bytes), path, bytes)
}

/// What a file of that kind contains.
pub fn analyze_as(kind: FileKind, path: &str, bytes: &[u8]) -> FileAnalysis {
    read(kind, path, bytes, &mut None)
}

/// Reads versions of a file one after the other, which takes a fraction of the time: what did not change since the
/// version before is not parsed again. The results are those of [`analyze`], in whatever order versions come.
#[derive(Default)]
pub struct IncrementalAnalyzer {
    last: Option<versions::Version>,
}

impl IncrementalAnalyzer {
    /// A reader that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// What a version contains. It is read fastest right after another version of the same file.
    pub fn analyze(&mut self, path: &str, bytes: &[u8]) -> FileAnalysis {
        let mut last = Some(self.last.take());
        let analysis = read(detect(path, bytes), path, bytes, &mut last);
        self.last = last.flatten();
        analysis
    }
}

/// Reads a file. `last` is `None` if no version should be kept; else it holds the last one if there is one, and this one
/// afterwards.
fn read(kind: FileKind, path: &str, bytes: &[u8], last: &mut Option<Option<versions::Version>>) -> FileAnalysis {
    // A byte that is not UTF-8 becomes a character of its own, so lines stay what they are.
    let source: Cow<'_, str> = String::from_utf8_lossy(bytes);
    let line_count = line_count(bytes);
    let content = match kind {
        FileKind::Code(language) => ContentAnalysis::Code(read_code(language, path, &source, last)),
        FileKind::Doc(format) => ContentAnalysis::Doc(prose::analyze(path, format, &source, line_count)),
        FileKind::Text => ContentAnalysis::Text,
    };
    FileAnalysis { line_count, content }
}

/// How many lines there are; what follows the last line feed is one if it is not empty.
fn line_count(bytes: &[u8]) -> u32 {
    let feeds = prose::count_lines(bytes);
    if bytes.last().is_none_or(|last| *last == b'\n') { feeds } else { feeds.saturating_add(1) }
}

thread_local! {
    /// One parser per language and thread: a new one would allocate its stacks again for every file.
    static PARSERS: RefCell<[Option<Parser>; Language::ALL.len()]> = const { RefCell::new([const { None }; Language::ALL.len()]) };
}

fn read_code(
    language: Language,
    path: &str,
    source: &str,
    last: &mut Option<Option<versions::Version>>,
) -> CodeAnalysis {
    let spec = languages::spec(language);
    let parsed = match language {
        Language::C | Language::Cpp => keyword_macros::blank_keyword_macros(source),
        _ => Cow::Borrowed(source),
    };
    let before = last.as_mut().and_then(Option::take);
    let tree = PARSERS.with_borrow_mut(|parsers| {
        let slot = &mut parsers[languages::position(language)];
        let parser = match slot {
            Some(parser) => parser,
            None => {
                let mut parser = Parser::new();
                parser.set_language(&spec.grammar).ok()?;
                slot.insert(parser)
            }
        };
        let again = before.and_then(|before| versions::reparse(parser, language, before, &parsed));
        again.or_else(|| parse(parser, &parsed, None))
    });
    let Some(tree) = tree else {
        let mut nothing = walk::empty(language);
        nothing.truncated = true;
        return nothing;
    };
    let mut walk = walk::Walk::new(spec, path, source, &tree);
    walk.run();
    walk.explain();
    walk.out.syntax_errors = tree.root_node().has_error();
    walk.out.doc = file_doc(language, source, &walk, &tree);
    adopt(&mut walk);
    testing::mark_containers(&mut walk.out.entities);
    let out = walk.into_analysis();
    if let Some(last) = last {
        *last = versions::Version::keep_for_reparse(language, &parsed, tree);
    }
    out
}

/// Parses within a number of steps that depends on the length alone, so that the result never depends on the machine.
fn parse(parser: &mut Parser, source: &str, old: Option<&Tree>) -> Option<Tree> {
    if source.len() > MAX_PARSED {
        return None;
    }
    let mut left = FREE_STEPS + source.len() / BYTES_PER_STEP;
    let mut within = |_: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut within);
    let bytes = source.as_bytes();
    let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), old, Some(options));
    if tree.is_none() {
        parser.reset();
    }
    tree
}

/// What the file says about itself at its top.
fn file_doc(language: Language, source: &str, walk: &walk::Walk<'_, '_>, tree: &Tree) -> Option<String> {
    if language == Language::Python {
        return comments::doc_string(tree.root_node(), source);
    }
    comments::file_doc(&walk.comments, source)
}

/// Gives entities that name what they belong to instead of standing in it their parents.
fn adopt(walk: &mut walk::Walk<'_, '_>) {
    let mut types: HashMap<&str, u32> = HashMap::new();
    for (entity, at) in walk.out.entities.iter().zip(0u32..) {
        if entity.kind.is_type() || matches!(entity.kind, EntityKind::Module | EntityKind::Namespace) {
            types.entry(&entity.qualified_name).or_insert(at);
        }
    }
    let separator = walk.spec.language.separator();
    let mut parents: Vec<(usize, u32)> = Vec::new();
    for (at, entity) in walk.out.entities.iter().enumerate() {
        let Some((prefix, _)) = entity.qualified_name.rsplit_once(separator) else { continue };
        if let Some(parent) = types.get(prefix)
            && entity.parent != Some(*parent)
            && *parent as usize != at
        {
            parents.push((at, *parent));
        }
    }
    let subjects: Vec<Option<u32>> = walk
        .out
        .heritage
        .iter()
        .map(|heritage| heritage.entity.or_else(|| types.get(heritage.subject.as_str()).copied()))
        .collect();
    for (heritage, entity) in walk.out.heritage.iter_mut().zip(subjects) {
        heritage.entity = entity;
    }
    for (at, parent) in parents {
        walk.out.entities[at].parent = Some(parent);
    }
}

#[cfg(test)]
mod tests;
