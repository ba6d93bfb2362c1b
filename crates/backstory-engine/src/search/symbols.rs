//! Tells the names of code from the words of a query.

use std::sync::LazyLock;

use backstory_model::{code::EntityKind, terms::QueryTerms};
use regex::Regex;

/// Names of a text that are looked up.
const MAX_NAMES: usize = 3;
/// Longest name, in bytes.
const MAX_NAME: usize = 200;

const NAME_PATTERN: &str = r"`?[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|#|->)[A-Za-z_$~][A-Za-z0-9_$]*)*(?:\(\))?`?";
static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(NAME_PATTERN).expect("the pattern is constant"));

/// Names of a text that look like those of code, without what marks them: `load_session`, `Server.start`, `parse()`.
pub(crate) fn symbols(text: &str) -> Vec<&str> {
    let looks_like_code = |name: &&str| {
        let has_inner_capital =
            name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
        name.starts_with('`') || name.contains(['_', '#', ':', '.', '>', '(']) || has_inner_capital
    };
    let found = NAME.find_iter(text).map(|found| found.as_str()).filter(looks_like_code).map(bare);
    found.filter(|name| (2..=MAX_NAME).contains(&name.len())).take(MAX_NAMES).collect()
}

/// What a text is if it is nothing but a name, perhaps as it is used: `&cobra.Command{`, `cmd.Execute(args)`,
/// `Sender<T>`.
static USE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"^[&*]*(?P<name>{NAME_PATTERN})(?:<[^()]*>)?(?:\([^()]*\)?)?\s*[{{\[;]?$"))
        .expect("the pattern is constant")
});

/// What a text is if it is nothing but the beginning of a definition: `class Raft`, `type Raft struct {`,
/// `func (r *Raft) Start() error {`.
static DECLARATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x) ^\s*
        (?: (?: pub (?:\([a-z]+\))? | export | public | private | protected | static | abstract | final | async | default | unsafe
          | const ) \s+ )*
        (?: (?P<code> struct | enum | trait | impl (?:<[^>]*>)? | typedef | def | fn | func | macro_rules! | \#define )
          | (?P<word> class | union | interface | type | module | function | method | macro | const | static | let | var ) )
        \s+ (?: \([^()]*\) \s* )? `? (?P<name> [A-Za-z_$][A-Za-z0-9_$]* ) `?
        (?P<mark> \s* (?: [({\[:<=;] | (?: struct | interface | enum | extends | implements )\b ) .* )? \s*$",
    )
    .expect("the pattern is constant")
});

/// `Server class`, `unbounded function`.
static KIND_BEHIND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        r"^\s*(?P<name>{NAME_PATTERN})\s+(?P<kind>class|struct|enum|trait|interface|type|function|method|macro|module|constant)\s*$"
    ))
    .expect("the pattern is constant")
});

/// `Where is Session defined?`, `where's the function total declared`, with nothing behind it that tells more.
static WHERE_DEFINED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) ^\s* where (?: 's | \s+ (?: is | are | was | were ) ) \s+ (?: the \s+ )?
        (?: (?P<kind> function | method | class | struct | enum | trait | interface | type | macro | constant | variable ) \s+ )?
        `? (?P<name> [a-z_$][a-z0-9_$]* (?: (?: \. | :: | \# | -> ) [a-z_$~][a-z0-9_$]* )* ) (?: \(\) )? `?
        (?: \s+ (?P<kind_behind> function | method | class | struct | enum | trait | interface | type | macro | constant | variable ) )?
        \s+ (?: defined | declared | (?P<implemented> implemented ) ) (?: \s+ in \s+ the \s+ (?: code | sources? | project | repository ) )?
        [\s?.!]* $",
    )
    .expect("the pattern is constant")
});
/// What stands for a thing that was named before.
const PRONOUNS: [&str; 6] = ["it", "this", "that", "they", "these", "those"];

/// The name that a question asks the definition of, be it a plain word: `where is escape defined`. It is one if something
/// is defined by it.
pub(crate) fn name_defined(text: &str) -> Option<&str> {
    let found = WHERE_DEFINED.captures(text)?;
    let name = found.name("name")?.as_str();
    let is_of_code = found.name("kind").or_else(|| found.name("kind_behind")).is_some() || has_mark_of_code(name);
    // Of `where is logging implemented` some variable of that name is no answer.
    if found.name("implemented").is_some() && !is_of_code && symbols(text).is_empty() {
        return None;
    }
    let is_pronoun = PRONOUNS.iter().any(|pronoun| name.eq_ignore_ascii_case(pronoun));
    Some(name).filter(|name| !is_pronoun && (2..=MAX_NAME).contains(&name.len()))
}

static NAMED_AS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:class|struct|enum|trait|interface|type|function|method|macro|constant|def|fn|func)\s+`?(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)",
    )
    .expect("the pattern is constant")
});

/// Names of a question about code: those that look like it, those after a word like `class`, the one that it asks the place
/// of, and the only word.
pub(super) fn names_asked_for(text: &str) -> Vec<&str> {
    let mut names = symbols(text);
    let says_something = |name: &&str| !QueryTerms::of(name).terms.is_empty();
    let named = NAMED_AS.captures_iter(text).filter_map(|found| Some(found.name("name")?.as_str()));
    for name in named.filter(says_something).chain(name_defined(text)).chain(only_name(text)) {
        if !names.contains(&name) && (2..=MAX_NAME).contains(&name.len()) {
            names.push(name);
        }
    }
    names.truncate(MAX_NAMES);
    names
}

/// The name if a text is nothing but one that looks like code, or the beginning of its definition.
pub(crate) fn only_symbol(text: &str) -> Option<CodeName<'_>> {
    let name = || only_name(text).filter(|name| text.trim().len() > name.len() || !symbols(text).is_empty());
    declared_name(text).or_else(|| name().map(CodeName::from))
}

/// The name if a text is nothing but one that a type could have, as `Server`.
pub(super) fn only_proper_name(text: &str) -> Option<&str> {
    only_name(text).filter(|name| has_mark_of_code(name))
}

/// The name of a text like `Server class`. A plain word, as in `base class`, is one of just that kind.
pub(super) fn name_before_kind(text: &str) -> Option<CodeName<'_>> {
    let found = KIND_BEHIND.captures(text)?;
    let name = bare(found.name("name")?.as_str());
    let asked = CodeName { name, kind: NamedKind::of_word(&found["kind"]), is_strict: !has_mark_of_code(name) };
    Some(asked).filter(|_| (2..=MAX_NAME).contains(&name.len()))
}

/// A name that code is looked for by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeName<'a> {
    /// The name.
    pub(crate) name: &'a str,
    /// What is meant of all that has it.
    pub(crate) kind: NamedKind,
    /// Whether nothing else of that name is meant.
    pub(crate) is_strict: bool,
}

impl<'a> From<&'a str> for CodeName<'a> {
    fn from(name: &'a str) -> Self {
        Self { name, kind: NamedKind::Any, is_strict: false }
    }
}

/// What a word such as `function` behind a name says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedKind {
    /// Nothing.
    Any,
    /// It is a macro.
    Macro,
    /// It can be called.
    Callable,
    /// It is a type.
    Type,
    /// It is a module or a namespace.
    Module,
    /// It is a constant or a variable.
    Value,
}

impl NamedKind {
    /// What a word before or behind a name says of it, or how a definition begins.
    fn of_word(word: &str) -> Self {
        match word {
            "macro" | "macro_rules!" | "#define" => Self::Macro,
            "function" | "method" | "def" | "fn" | "func" => Self::Callable,
            "class" | "struct" | "enum" | "trait" | "interface" | "type" | "typedef" | "union" => Self::Type,
            "module" => Self::Module,
            "const" | "static" | "let" | "var" | "constant" | "variable" => Self::Value,
            _ => Self::Any,
        }
    }

    /// Whether code of a kind may be meant.
    pub(crate) fn has(self, kind: EntityKind) -> bool {
        match self {
            Self::Any => true,
            Self::Macro => kind == EntityKind::Macro,
            Self::Callable => kind.is_callable(),
            Self::Type => kind.is_type(),
            Self::Module => matches!(kind, EntityKind::Module | EntityKind::Namespace),
            Self::Value => matches!(kind, EntityKind::Constant | EntityKind::Variable),
        }
    }
}

/// The name if a text asks for nothing but what has it: it is only the name, the beginning of its definition or the name
/// with its kind, or asks where it is defined.
pub(crate) fn name_asked_alone(text: &str) -> Option<CodeName<'_>> {
    let plain = || only_name(text).or_else(|| name_defined(text)).map(CodeName::from);
    only_symbol(text).or_else(plain).or_else(|| name_before_kind(text))
}

/// Whether a name is spelled as that of code is: `load_session`, `Server`.
pub(super) fn has_mark_of_code(name: &str) -> bool {
    name.contains(|letter: char| letter == '_' || letter.is_uppercase())
}

/// The name if a text is nothing but the beginning of its definition. `type inference` and `function call` are words.
fn declared_name(text: &str) -> Option<CodeName<'_>> {
    let found = DECLARATION.captures(text)?;
    let name = found.name("name")?.as_str();
    let code = found.name("code");
    let word = code.or_else(|| found.name("word")).map_or("", |word| word.as_str());
    let mark = found.name("mark").map_or("", |mark| mark.as_str().trim_start());
    // `let users (admins) export` and `static files: headers` are words.
    let is_english = matches!(word, "let" | "static" | "const" | "var");
    let is_marked = if is_english { mark.starts_with(['=', ';']) } else { !mark.is_empty() };
    let is_code = code.is_some() || is_marked || has_mark_of_code(name);
    let asked = CodeName { name, kind: NamedKind::of_word(word), is_strict: false };
    Some(asked).filter(|_| is_code && (2..=MAX_NAME).contains(&name.len()))
}

/// The name if a text is nothing but one that code could have.
pub(crate) fn only_name(text: &str) -> Option<&str> {
    let name = USE.captures(text.trim())?.name("name")?.as_str();
    Some(bare(name)).filter(|name| (2..=MAX_NAME).contains(&name.len()))
}

fn bare(name: &str) -> &str {
    name.trim_matches('`').trim_end_matches("()")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_are_told_from_words() {
        assert_eq!(symbols("where is load_session implemented, and Server.start?"), ["load_session", "Server.start"]);
        assert_eq!(symbols("what does `total` do, parse() or getUser"), ["total", "parse", "getUser"]);
        assert!(symbols("Why did we choose Redis over memcached?").is_empty());
        for (text, name) in [
            (" secp256k1_ecmult ", "secp256k1_ecmult"),
            ("std::mem::take()", "std::mem::take"),
            ("&cobra.Command{", "cobra.Command"),
            ("cmd.Execute(args, 1)", "cmd.Execute"),
        ] {
            assert_eq!(only_symbol(text), Some(name.into()));
        }
        assert_eq!(names_asked_for("where is environment defined?"), ["environment"]);
        assert_eq!((only_symbol("redis"), only_symbol("load_session fails")), (None, None));
    }

    #[test]
    fn what_it_is_asked_where_it_is_defined_is_a_name() {
        for (text, name) in [
            ("where is Environment defined?", "Environment"),
            ("Where is the escape function implemented", "escape"),
            ("where's the class Session declared?", "Session"),
            ("where is `parse()` defined in the code?", "parse"),
            ("Where are Session.start defined", "Session.start"),
            ("where is src/auth defined", ""),
            ("where is it defined?", ""),
            ("where is logging implemented?", ""),
            ("where is escape defined in the old parser?", ""),
            ("Where is the token checked?", ""),
            ("why is Environment defined?", ""),
        ] {
            assert_eq!(name_defined(text), Some(name).filter(|name| !name.is_empty()), "{text}");
        }
        assert_eq!(names_asked_for("where is escape defined?"), ["escape"]);
    }

    #[test]
    fn the_beginning_of_a_definition_names_it() {
        for text in [
            "class Raft",
            "type Raft struct {",
            "  pub fn Raft(",
            "export default class Raft extends Base {",
            "interface Raft",
            "def Raft(self, other):",
            "func (s *Server) Raft() error {",
            "pub(crate) struct Raft;",
            "fn Raft",
            "pub const fn Raft() {",
            "const Raft: u32 = 1;",
            "static Raft: AtomicBool",
            "impl<T> Raft<T> {",
            "struct Raft<T>",
            "macro_rules! Raft {",
            "#define Raft(x) x",
        ] {
            assert_eq!(declared_name(text).map(|asked| asked.name), Some("Raft"), "{text}");
        }
        for text in [
            "Raft",
            "class of its own",
            "type Raft is slow",
            "which class Raft",
            "type inference",
            "static files: headers",
        ] {
            assert_eq!(declared_name(text), None, "{text}");
        }
    }

    #[test]
    fn a_kind_behind_a_name_says_what_it_is() {
        for (text, expected) in [
            ("Raft class", Some(("Raft", NamedKind::Type, false))),
            ("Server.start method", Some(("Server.start", NamedKind::Callable, false))),
            ("unbounded function", Some(("unbounded", NamedKind::Callable, true))),
            ("base class", Some(("base", NamedKind::Type, true))),
            ("the base class", None),
            ("class", None),
        ] {
            let found = name_before_kind(text).map(|asked| (asked.name, asked.kind, asked.is_strict));
            assert_eq!(found, expected, "{text}");
        }
        let kind = |text: &str| only_symbol(text).map(|asked| asked.kind);
        assert_eq!(kind("macro_rules! select {"), Some(NamedKind::Macro));
        assert_eq!(kind("impl Raft"), Some(NamedKind::Any));
        assert_eq!(kind("type Raft struct {"), Some(NamedKind::Type));
        for (text, expected) in [
            ("where is Session defined?", Some("Session")),
            ("unbounded function", Some("unbounded")),
            ("Sender<T>", Some("Sender")),
            ("macro_rules! select {", Some("select")),
            ("redis", Some("redis")),
            ("why is Session slow?", None),
        ] {
            assert_eq!(name_asked_alone(text).map(|asked| asked.name), expected, "{text}");
        }
    }
}
