//! Secrets in texts are replaced before anything is stored: what is not stored cannot leak.
//!
//! `[redacted:<rule>:<length>]` stands where a secret of that many characters stood.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::LazyLock};

use regex::{Captures, Regex, RegexSet};
use serde_json::Value;

/// Rounds until nothing is found. One that finds something may uncover another, by what it leaves at its edges.
const MAX_ROUNDS: usize = 8;

/// A kind of secret and how it is recognised. A group named `secret` is replaced alone, else the whole match is.
struct Rule {
    name: &'static str,
    pattern: &'static str,
}

/// In the order in which they are applied: blocks before what they may hold.
const RULES: [Rule; 9] = [
    Rule {
        name: "private-key",
        pattern: r"(?x)
            -----BEGIN\ (?:[A-Z0-9]+\ )*PRIVATE\ KEY(?:\ BLOCK)?-----
            (?: (?s:.*?) -----END\ (?:[A-Z0-9]+\ )*PRIVATE\ KEY(?:\ BLOCK)?-----
              | (?: [\s>|\\nr]* (?: [A-Za-z-]+:[^\n]* | [A-Za-z0-9+/=]{16,} ) )+ )",
    },
    Rule {
        name: "slack-webhook",
        pattern: r"(?-u:\b)https://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/+_-]{20,}",
    },
    Rule {
        name: "gitlab-token",
        pattern: r"(?x) (?-u:\b) (?:
            (?: glpat|gloas|gldt|glrtr?|glcbt|glptt|glft|glimt|glagent|glwt|glsoat|glffct )
              - [A-Za-z0-9_-]{20,} (?: \.[0-9a-z]{2}\.?[0-9a-z]{7,9}(?-u:\b) )?
            | GR1348941[A-Za-z0-9_-]{20,} )",
    },
    Rule { name: "github-token", pattern: r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9_]{36,}|github_pat_[A-Za-z0-9_]{22,})" },
    Rule {
        name: "slack-token",
        pattern: r"(?-u:\b)(?:xox(?:e\.xox[bp]|[abcdeoprs])-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,})",
    },
    Rule { name: "jwt", pattern: r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*" },
    Rule { name: "aws-access-key", pattern: r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?-u:\b)" },
    Rule {
        name: "aws-secret-key",
        pattern: r#"(?xi)
            (?: aws[_\ -]?secret[_\ -]?(?:access[_\ -]?)?(?:key)? | secret[_\ -]?access[_\ -]?key )
            ["'`]? \s* (?: => | := | [:=,] | \s ) \s* ["'`]?
            (?P<secret> [A-Za-z0-9/+]{40} ) (?: [^A-Za-z0-9/+=] | $ )"#,
    },
    Rule {
        name: "url-password",
        pattern: r#"(?xi) (?-u:\b) [a-z][a-z0-9+.-]*://[^\s/?\#:@"<>`]*:(?P<secret>[^\s/?\#"<>`]+)@[^\s/?\#@"<>`]"#,
    },
];

static SET: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(RULES.iter().map(|rule| rule.pattern)).expect("the patterns are constant"));
static EXPRESSIONS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| RULES.iter().map(|rule| Regex::new(rule.pattern).expect("the patterns are constant")).collect());
/// What stands for a password without being one.
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\[redacted:[a-z-]+:[0-9]+\]|\$\{?[A-Z_][A-Z0-9_]*\}?|\{\{.*\}\}|\*+|\.+|x+|X+|%s)$")
        .expect("the pattern is constant")
});

/// What was replaced: how many secrets of which kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redactions {
    counts: BTreeMap<&'static str, u64>,
}

impl Redactions {
    /// Whether nothing was replaced.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many secrets were replaced.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// How many of each kind, by its name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counts.iter().map(|(rule, count)| (*rule, *count))
    }

    /// Adds what was replaced elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (rule, count) in other.iter() {
            *self.counts.entry(rule).or_default() += count;
        }
    }
}

impl fmt::Display for Redactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (at, (rule, count)) in self.iter().enumerate() {
            write!(f, "{}{count} {rule}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Replaces the secrets in a text. Doing it again changes nothing.
pub fn redact(text: &str) -> (Cow<'_, str>, Redactions) {
    let mut redactions = Redactions::default();
    let mut current = Cow::Borrowed(text);
    for _ in 0..MAX_ROUNDS {
        match round(&current, &mut redactions) {
            Some(next) => current = Cow::Owned(next),
            None => break,
        }
    }
    (current, redactions)
}

/// Replaces the secrets in every string of a value, however deep; keys stay.
pub fn redact_json(value: &mut Value) -> Redactions {
    let mut redactions = Redactions::default();
    redact_value(value, &mut redactions);
    redactions
}

fn redact_value(value: &mut Value, redactions: &mut Redactions) {
    match value {
        Value::String(text) => {
            if let (Cow::Owned(clean), found) = redact(text) {
                *text = clean;
                redactions.merge(&found);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_value(item, redactions)),
        Value::Object(map) => map.values_mut().for_each(|item| redact_value(item, redactions)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Applies every rule that matches, once; `None` if that changes nothing.
fn round(text: &str, redactions: &mut Redactions) -> Option<String> {
    let matching = SET.matches(text);
    let mut current: Option<String> = None;
    for index in matching.iter() {
        let name = RULES[index].name;
        let replaced = EXPRESSIONS[index].replace_all(current.as_deref().unwrap_or(text), |found: &Captures<'_>| {
            let whole = found.get(0).expect("group 0 always matches");
            let secret = found.name("secret").unwrap_or(whole);
            if PLACEHOLDER.is_match(secret.as_str()) {
                return whole.as_str().to_owned();
            }
            *redactions.counts.entry(name).or_default() += 1;
            let (start, end) = (secret.start() - whole.start(), secret.end() - whole.start());
            let length = secret.as_str().chars().count();
            format!("{}[redacted:{name}:{length}]{}", &whole.as_str()[..start], &whole.as_str()[end..])
        });
        if let Cow::Owned(replaced) = replaced {
            current = Some(replaced);
        }
    }
    current.filter(|current| current != text)
}

#[cfg(test)]
mod tests;
