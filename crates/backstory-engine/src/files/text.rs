//! Reads the text of a file at a revision.

use backstory_model::{
    code::{Entity, EntityKind, Lines},
    commit::{RepoPath, Sha},
    digest::sha256_hex,
    id::NodeId,
};
use backstory_sources::{
    code::{HighlightKind, analyze, highlight},
    git::objects::ObjectError,
};
use serde::{Deserialize, Serialize};

use super::{
    comments::comments_at,
    introductions::Introductions,
    lineage::{FileLineage, describe_lineage},
    tree::{TreeEntryKind, language_name},
};
use crate::{
    clones::{MAX_TEXT, clean_text},
    error::{Error, ErrorKind, Result},
    resources::Resources,
    trace::{
        Indexed, Revision, check_line_exists,
        target::{lineage_at, no_such_path, plain_lineage_at, resolve_place},
    },
    use_case::{UseCase, Weight},
};

/// Most lines of one answer.
pub const MAX_FILE_LINES: u32 = 20_000;
/// Most symbols of one answer.
pub const MAX_SYMBOLS: usize = 2_000;
/// Most symbols around a symbol that are counted.
const MAX_DEPTH: usize = 20;
/// Git takes a file for binary if there is a NUL in its first bytes, this many.
const BINARY_PREFIX: usize = 8_000;

/// Requests the text of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileRequest {
    /// Full path of the project; may be absent where there is only one repository.
    #[serde(default)]
    pub project: Option<String>,
    /// Path from the repository's root.
    pub path: String,
    /// Branch, tag or commit; the indexed head if absent.
    #[serde(default)]
    pub rev: Option<String>,
    /// First and last line, from 1; the first 20,000 if absent.
    #[serde(default)]
    pub lines: Option<(u32, u32)>,
    /// Whether to say where its lines come from.
    #[serde(default)]
    pub lineage: bool,
    /// Whether lines are followed through renames and white space alone, as `git blame -w` follows them, and not through
    /// moved and copied blocks and ignored commits.
    #[serde(default)]
    pub plain: bool,
    /// Whether to list the symbols that it defines.
    #[serde(default)]
    pub symbols: bool,
    /// Whether to say which parts of its lines are comments, keywords and the like.
    #[serde(default)]
    pub highlight: bool,
}

impl UseCase for FileRequest {
    const NAME: &'static str = "file";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = FileText;

    async fn run(self, resources: &Resources) -> Result<FileText> {
        resources.blocking(move |resources| read_file(resources, &self)).await
    }
}

/// A file at a revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileText {
    /// The file as a node.
    pub id: NodeId,
    /// Full path of the project.
    pub project: String,
    /// Path from the repository's root.
    pub path: String,
    /// The commit at which it is like this.
    pub rev: Sha,
    /// How fresh the index is.
    pub indexed: Indexed,
    /// What it is.
    pub kind: TreeEntryKind,
    /// Object name of its content.
    pub blob: Sha,
    /// Bytes of its content.
    pub bytes: u64,
    /// Name of its programming language; null for what is no code.
    pub language: Option<String>,
    /// How many lines it has; null if it is no text that can be shown.
    pub line_count: Option<u32>,
    /// First and last line of `text`; null without any.
    pub lines: Option<(u32, u32)>,
    /// Its lines, joined with line feeds, without the secrets in them; null if they are left out.
    pub text: Option<String>,
    /// SHA-256 of the whole text as it is shown, in hex.
    pub text_hash: Option<String>,
    /// Why its text is left out.
    pub left_out: Option<TextLeftOut>,
    /// Where the lines of `text` come from, if that was asked for.
    pub lineage: Option<FileLineage>,
    /// What it defines, if that was asked for: the first 2,000 symbols, in the order of their lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<FileSymbol>,
    /// What the parts of its lines are, if that was asked for and it is code that can be parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highlight: Option<Highlight>,
}

/// What the parts of lines are, as the grammar of their language says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Highlight {
    /// Names of kinds, at their numbers.
    pub kinds: Vec<String>,
    /// For each line of `text` the start, length and kind of a part, then those of the next, in UTF-16 units.
    pub lines: Vec<Vec<u32>>,
}

/// A symbol that a file defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSymbol {
    /// The symbol as a node.
    pub id: NodeId,
    /// Its name as written.
    pub name: String,
    /// What it is.
    pub kind: EntityKind,
    /// First and last line of its definition.
    pub lines: (u32, u32),
    /// In how many other symbols of the list it stands.
    pub depth: u32,
}

/// Why the text of a file is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TextLeftOut {
    /// It is not text.
    Binary,
    /// It has more than 4 MiB.
    TooLarge,
    /// It is a symbolic link.
    SymbolicLink,
}

/// Reads a file at a revision.
///
/// # Errors
/// There is no such file, revision or line, or a store cannot be read.
fn read_file(resources: &Resources, request: &FileRequest) -> Result<FileText> {
    let place = resolve_place(resources, request.project.as_deref(), request.rev.as_deref())?;
    let path = request.path.as_str();
    let (mut file, _) = read_whole(resources, &place, path)?;
    let (Some(text), Some(count)) = (file.text.take(), file.line_count) else { return Ok(file) };
    let Some(lines) = check_lines(path, request.lines, count)? else {
        file.text = Some(String::new());
        return Ok(file);
    };
    let shown: Vec<&str> = text.lines().skip(lines.first as usize - 1).take(lines.count() as usize).collect();
    file.text = Some(shown.join("\n"));
    file.lines = Some((lines.first, lines.last));
    if request.symbols {
        file.symbols = symbols_of(place.project(), path, &text);
    }
    if request.highlight {
        file.highlight = highlight_lines(path, &text, lines);
    }
    if request.lineage {
        let follow = if request.plain { plain_lineage_at } else { lineage_at };
        let lineage = follow(resources, &place, path)?;
        let introductions = Introductions::find(resources, place.project(), &lineage)?;
        let found = comments_at(resources, &place, path, file.blob, &lineage, &introductions)?;
        let mut described = describe_lineage(resources, &place, &lineage, lines, &introductions, &found.comments)?;
        described.left_out.extend(found.left_out);
        file.lineage = Some(described);
    }
    Ok(file)
}

/// Refuses a line beyond the end of a file at the indexed head. Lines of what is not there, or is no text, are not counted.
///
/// # Errors
/// The file has no such line, or it cannot be read.
pub(crate) fn check_file_has_line(resources: &Resources, project: &str, path: &str, line: u32) -> Result<()> {
    let read = resolve_place(resources, Some(project), None).and_then(|place| read_whole(resources, &place, path));
    let file = match read {
        Ok((file, _)) => file,
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let Some(count) = file.line_count else { return Ok(()) };
    check_line_exists(path, line, count)
        .map_err(|error| error.with_hint(format!("lines are those of {}, the indexed commit", file.rev.short())))
}

/// A file with its whole text, and its bytes; none of those that are left out.
pub(super) fn read_whole(resources: &Resources, place: &Revision, path: &str) -> Result<(FileText, Vec<u8>)> {
    let mut file = describe_file(resources, place, path)?;
    if file.kind == TreeEntryKind::SymbolicLink {
        file.left_out = Some(TextLeftOut::SymbolicLink);
        return Ok((file, Vec::new()));
    }
    let bytes = match place.objects.blob(file.blob, MAX_TEXT) {
        Ok(bytes) => bytes,
        Err(ObjectError::TooLarge { size, .. }) => {
            (file.bytes, file.left_out) = (size, Some(TextLeftOut::TooLarge));
            return Ok((file, Vec::new()));
        }
        Err(error) => return Err(error.into()),
    };
    file.bytes = bytes.len() as u64;
    if bytes[..bytes.len().min(BINARY_PREFIX)].contains(&0) {
        file.left_out = Some(TextLeftOut::Binary);
        return Ok((file, bytes));
    }
    file.language = language_name(path, &bytes);
    let text = clean_text(resources, &bytes);
    file.text_hash = Some(sha256_hex(&text));
    file.line_count = Some(u32::try_from(text.lines().count()).unwrap_or(u32::MAX));
    file.text = Some(text);
    Ok((file, bytes))
}

/// What is known of a file without reading it.
fn describe_file(resources: &Resources, place: &Revision, path: &str) -> Result<FileText> {
    if resources.redact_name(path) != path {
        return Err(Error::invalid(format!("{path} is left out, as its path holds what looks like a secret"))
            .with_hint("rename it, or allow that text under [redact]"));
    }
    let entry = match place.objects.entry(place.commit, &RepoPath::from_escaped(path)) {
        Ok(entry) => entry,
        Err(ObjectError::NoSuchPath { .. }) => return Err(no_such_path(resources, place, path)?),
        Err(error) => return Err(error.into()),
    };
    let kind = TreeEntryKind::from_mode(entry.mode);
    if matches!(kind, TreeEntryKind::Directory | TreeEntryKind::Submodule) {
        return Err(no_such_path(resources, place, path)?);
    }
    Ok(FileText {
        id: NodeId::file(place.project(), path),
        project: place.project().to_owned(),
        path: path.to_owned(),
        rev: place.commit,
        indexed: place.indexed(),
        kind,
        blob: entry.id,
        bytes: 0,
        language: None,
        line_count: None,
        lines: None,
        text: None,
        text_hash: None,
        left_out: None,
        lineage: None,
        symbols: Vec::new(),
        highlight: None,
    })
}

/// What the parts of some lines of a text are; `None` of what is no code.
fn highlight_lines(path: &str, text: &str, lines: Lines) -> Option<Highlight> {
    let all = highlight(path, text)?.into_iter();
    let shown = all.skip(lines.first as usize - 1).take(lines.count() as usize).collect();
    Some(Highlight { kinds: HighlightKind::ALL.map(|kind| kind.name().to_owned()).into(), lines: shown })
}

/// What a text of source code defines.
fn symbols_of(project: &str, path: &str, text: &str) -> Vec<FileSymbol> {
    let analysis = analyze(path, text.as_bytes());
    let Some(code) = analysis.code() else { return Vec::new() };
    let depth = |entity: &Entity| {
        let parent = |entity: &Entity| code.entities.get(entity.parent? as usize);
        let outer = std::iter::successors(parent(entity), |outer| parent(outer)).take(MAX_DEPTH).count();
        u32::try_from(outer).unwrap_or(u32::MAX)
    };
    let symbol = |entity: &Entity| FileSymbol {
        id: NodeId::entity(project, path, entity.qualified_name.as_str()),
        name: entity.name.clone(),
        kind: entity.kind,
        lines: (entity.lines.first, entity.lines.last),
        depth: depth(entity),
    };
    let mut symbols: Vec<FileSymbol> = code.entities.iter().take(MAX_SYMBOLS).map(symbol).collect();
    symbols.sort_by_key(|symbol| (symbol.lines.0, symbol.depth));
    symbols
}

/// The lines that are shown of those that are there; `None` of an empty file.
fn check_lines(path: &str, lines: Option<(u32, u32)>, count: u32) -> Result<Option<Lines>> {
    let Some((first, last)) = lines else {
        return Ok((count > 0).then(|| Lines::new(1, count.min(MAX_FILE_LINES))));
    };
    if first == 0 || last < first {
        let message = format!("{first}-{last} is not a range of lines; lines count from 1, the first one first");
        return Err(Error::invalid(message));
    }
    check_line_exists(path, first, count)?;
    if last - first >= MAX_FILE_LINES {
        let message = format!("{first}-{last} are more than {MAX_FILE_LINES} lines");
        return Err(Error::invalid(message).with_hint("ask for fewer"));
    }
    Ok(Some(Lines::new(first, last.min(count))))
}
