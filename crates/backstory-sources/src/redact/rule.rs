//! The rules, as `rules.toml` has them, and the expressions that are made from them.

use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

/// Largest size of one compiled expression, in bytes.
const MAX_EXPRESSION: usize = 8 << 20;
/// Least bits a character, unless a rule says otherwise.
const ENTROPY: f32 = 2.8;
/// Where a token may begin: where a word does, or after what a line break, a space or a color looks like when escaped.
const TOKEN_START: &str = r"(?:\b|\\[nrt]|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m|(?:^|[^A-Za-z0-9])_)";
/// What stands between the name of a value and the value.
const ASSIGNMENT: &str = r#"
    [\\"'`\])}]{0,4} [\ \t]{0,6}
    (?: :\ ? [&'\w<>\[\].]{1,30} (?:\ \w{1,20})? \ ?= | \[\] \ ?= | => | -> | :=\ | \?= | \|\|= | [:=]{1,2} | >
      | ,? \s{1,20} ["']? [Vv]alue ["']? \ ?[:=] )
    [\ \t]{0,6}"#;
/// Other ways to give a quoted value to a name: `#define NAME "value"`, `name("value")`, `put("name", "value")`.
const GIVEN: &str = r#"[\\"'`\]]{0,2} (?: [\ \t]{1,6} | \ ?\(\ ? | ,\ ? | \ ?[!=]==?\ ? )"#;

/// Every rule, in the order in which they count.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("rules.toml")).expect("the rules are constant");
    file.rule.into_iter().map(Rule::new).collect()
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule: Vec<Entry>,
}

/// A rule as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    id: String,
    description: String,
    keywords: Vec<String>,
    token: Option<String>,
    start: Option<String>,
    pattern: Option<String>,
    names: Option<String>,
    value: Option<String>,
    context: Option<String>,
    unless: Option<String>,
    #[serde(default)]
    judge: SecretTest,
    entropy: Option<f32>,
    #[serde(default)]
    span: ContextSpan,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for a test"))]
    must: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for a test"))]
    must_not: Vec<String>,
}

/// What is asked of a match besides that it matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SecretTest {
    /// No placeholder, and enough entropy.
    #[default]
    Token,
    /// A password that somebody chose.
    Password,
    /// Something random.
    Key,
    /// A password in an address or on a command line: what is no placeholder.
    Url,
    /// `name:password` in base64.
    Basic,
    /// Something in base64.
    Base64,
    /// Nothing.
    Block,
}

/// How much of the text around a keyword is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ContextSpan {
    /// The line and the next one.
    #[default]
    Line,
    /// From the line to the end of the text.
    Block,
    /// Some kilobytes before and after.
    Around,
}

/// One kind of secret and how it is recognized.
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) description: String,
    pub(super) keywords: Vec<String>,
    pub(super) judge: SecretTest,
    pub(super) entropy: f32,
    pub(super) span: ContextSpan,
    pub(super) is_named: bool,
    pattern: Expression,
    context: Option<Expression>,
    unless: Option<Expression>,
    #[cfg(test)]
    pub(super) must: Vec<String>,
    #[cfg(test)]
    pub(super) must_not: Vec<String>,
}

/// Compiled when it is first needed: most texts need few of them.
struct Expression {
    text: String,
    compiled: OnceLock<Regex>,
}

impl Expression {
    fn new(text: String) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    fn get(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            let mut builder = RegexBuilder::new(&self.text);
            builder.unicode(false).ignore_whitespace(true).size_limit(MAX_EXPRESSION);
            builder.build().unwrap_or_else(|error| panic!("the rules are constant: {error}"))
        })
    }
}

impl Rule {
    fn new(entry: Entry) -> Self {
        let pattern = match (&entry.token, &entry.pattern, &entry.names, &entry.value) {
            (Some(token), ..) => {
                let start = entry.start.as_deref().unwrap_or(TOKEN_START);
                format!("{start}(?P<secret>{token})")
            }
            (None, Some(pattern), ..) => pattern.clone(),
            (None, None, Some(names), Some(value)) => assigned(names, value, entry.judge),
            _ => panic!("the rule {} has no expression", entry.id),
        };
        Self {
            is_named: entry.names.is_some(),
            id: entry.id,
            description: entry.description,
            keywords: entry.keywords.iter().flat_map(|word| spelled(word)).collect(),
            judge: entry.judge,
            entropy: entry.entropy.unwrap_or(ENTROPY),
            span: entry.span,
            pattern: Expression::new(pattern),
            context: entry.context.map(Expression::new),
            unless: entry.unless.map(Expression::new),
            #[cfg(test)]
            must: entry.must,
            #[cfg(test)]
            must_not: entry.must_not,
        }
    }

    pub(super) fn pattern(&self) -> &Regex {
        self.pattern.get()
    }

    pub(super) fn context(&self) -> Option<&Regex> {
        self.context.as_ref().map(Expression::get)
    }

    /// Names that are no secret's.
    pub(super) fn unless(&self) -> Option<&Regex> {
        self.unless.as_ref().map(Expression::get)
    }
}

/// A keyword with every sign that joins its words.
fn spelled(keyword: &str) -> Vec<String> {
    match keyword.contains('?') {
        true => ["", "_", "-", ".", " "].iter().map(|joint| keyword.replace('?', joint)).collect(),
        false => vec![keyword.to_owned()],
    }
}

/// The expression of a name to which a value is assigned, in quotes or bare.
fn assigned(names: &str, value: &str, judge: SecretTest) -> String {
    let name = format!(r"(?P<dashes>--)? (?P<name>(?i: [\w.-]{{0,40}}? (?:{names}) [\w.-]{{0,30}}))");
    match judge {
        SecretTest::Password | SecretTest::Key => format!(
            r#"{name} (?: (?:{ASSIGNMENT} | {GIVEN}) [@brfL]? \\{{0,3}}["'`]{{1,3}} (?P<secret>[^"'`\s\\]{{6,512}}) \\{{0,3}}["'`]
              | (?:{ASSIGNMENT} | (?P<blank>\ )) (?P<bare>[^\s"'`,;<>(){{}}\[\]|&\\]{{8,512}}) (?:[\s"'`,;<)}}\]&|\\]|$) )"#
        ),
        _ => format!(
            r#"{name} (?:{ASSIGNMENT} | {GIVEN}) \\{{0,3}}["'`]{{0,3}} (?P<secret>{value}) (?:[^A-Za-z0-9/+=_-]|$)"#
        ),
    }
}
