//! Access: who asks, which projects they see, and what they may do. Reading tokens and refusing requests belongs to the
//! engine and the server.

use std::{collections::BTreeSet, fmt, str::FromStr, sync::Arc};

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use serde::{Deserialize, Serialize};

use crate::{id::is_project_path, text::truncate_echo, visibility::Visibility};

/// The word that grants confidential items, where scopes are written.
pub const CONFIDENTIAL: &str = "confidential";
/// Most patterns of one grant.
pub const MAX_PATTERNS: usize = 100;
/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 512;
/// Longest time after which a token can be told to end, in days.
const MAX_DAYS: u32 = 3_650;
/// The word for a token that does not end.
const NEVER: &str = "never";

/// What somebody may do. Each scope includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Ask.
    Read,
    /// Start work that brings nothing but what is there already up to date: syncs, vectors.
    Sync,
    /// Add, change and delete.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Read, Self::Sync, Self::Admin];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Sync => "sync",
            Self::Admin => "admin",
        }
    }
}

/// The scopes of a token or a caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// Every scope.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Whether they permit what needs a scope.
    pub fn permit(&self, scope: Scope) -> bool {
        self.0.last().is_some_and(|most| *most >= scope)
    }

    /// Whether they permit all that others permit.
    pub fn cover(&self, others: &Self) -> bool {
        others.0.last().is_none_or(|most| self.permit(*most))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl fmt::Display for Scopes {
    /// As an argument: `read,sync`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(","))
    }
}

/// Projects by their full paths: `acme/shop` is one, `acme/*` those directly in a group, `acme/**` also those in its
/// subgroups, `**` all. `*` stands for any part of a name, `**` for any number of names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct ProjectPattern(String);

impl ProjectPattern {
    /// The pattern of all projects.
    pub fn all() -> Self {
        Self("**".to_owned())
    }

    /// Whether it is a path and no pattern.
    fn is_path(&self) -> bool {
        !self.0.contains('*')
    }

    /// Whether it matches every project.
    fn is_all(&self) -> bool {
        self.0 == "**"
    }

    /// Whether it matches the full path of a project. Takes time in proportion to the product of both lengths at most.
    ///
    /// ```
    /// use backstory_model::access::ProjectPattern;
    ///
    /// let of = |text: &str| text.parse::<ProjectPattern>().expect("a pattern");
    /// assert!(of("acme/*").matches("acme/shop") && !of("acme/*").matches("acme/tools/api"));
    /// assert!(of("acme/**").matches("acme/tools/api") && !of("acme/**").matches("acme-old/shop"));
    /// assert!(of("acme/shop-*").matches("acme/shop-admin") && !of("acme/shop-*").matches("acme/shop"));
    /// ```
    pub fn matches(&self, project: &str) -> bool {
        let names: Vec<&str> = project.split('/').collect();
        let patterns: Vec<&str> = self.0.split('/').collect();
        matches_sequence(
            &patterns,
            &names,
            |pattern| *pattern == "**",
            |pattern, name| {
                let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
                matches_sequence(&pattern, &name, |c| *c == '*', |a, b| a == b)
            },
        )
    }
}

/// Whether a sequence matches a pattern, in which what `is_any` tells stands for any number of elements. It goes back to
/// the last of these only, so it takes time in proportion to the product of both lengths at most.
fn matches_sequence<P, T>(
    pattern: &[P],
    sequence: &[T],
    is_any: impl Fn(&P) -> bool,
    equals: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut done) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while done < sequence.len() {
        if at < pattern.len() && is_any(&pattern[at]) {
            retry = Some((at + 1, done));
            at += 1;
        } else if at < pattern.len() && equals(&pattern[at], &sequence[done]) {
            (at, done) = (at + 1, done + 1);
        } else if let Some((after, from)) = retry {
            retry = Some((after, from + 1));
            (at, done) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(is_any)
}

impl FromStr for ProjectPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // What a star can stand for is a part of a name.
        let names: Vec<String> = text.split('/').map(|name| name.replace('*', "x")).collect();
        if text.len() <= MAX_PATTERN && is_project_path(&names.join("/")) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "'{}' is not a pattern of projects; write group/project, group/* for a group, group/** for its subgroups too, or \
             ** for all",
            truncate_echo(text)
        ))
    }
}

impl TryFrom<String> for ProjectPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ProjectPattern> for String {
    fn from(pattern: ProjectPattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for ProjectPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// When a token ends, as people and programs write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Expiry {
    /// At this instant: `2027-01-31T12:00:00Z`, or with the day `2027-01-31` in UTC.
    At(Timestamp),
    /// So many hours after it is made: `12h`, `90d`.
    After(u32),
    /// Never: `never`.
    Never,
}

impl Expiry {
    /// When a token ends that is made at a time; `None` for never.
    pub fn end(self, made_at: Timestamp) -> Option<Timestamp> {
        match self {
            Self::At(instant) => Some(instant),
            Self::After(hours) => Some(made_at + SignedDuration::from_hours(hours.into())),
            Self::Never => None,
        }
    }
}

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == NEVER {
            return Ok(Self::Never);
        }
        let found = parse_hours(text).map(Self::After).or_else(|| parse_end(text).map(Self::At));
        found.ok_or_else(|| {
            format!(
                "'{}' is not the end of a token; write 90d or 12h (at most {MAX_DAYS}d), its last day like 2027-01-31, an \
                 instant like 2027-01-31T12:00:00Z, or {NEVER}",
                truncate_echo(text)
            )
        })
    }
}

/// The hours of `90d` or `12h`.
fn parse_hours(text: &str) -> Option<u32> {
    let (count, hours) = match text.strip_suffix('d') {
        Some(days) => (days, 24),
        None => (text.strip_suffix('h')?, 1),
    };
    let hours = count.parse::<u32>().ok()?.checked_mul(hours)?;
    (1..=MAX_DAYS * 24).contains(&hours).then_some(hours)
}

/// An instant, or the end of a day in UTC.
fn parse_end(text: &str) -> Option<Timestamp> {
    if let Ok(instant) = text.parse() {
        return Some(instant);
    }
    let day: Date = text.parse().ok()?;
    Some(day.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

impl TryFrom<String> for Expiry {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Expiry> for String {
    fn from(expiry: Expiry) -> Self {
        match expiry {
            Expiry::At(instant) => instant.to_string(),
            Expiry::After(hours) if hours.is_multiple_of(24) => format!("{}d", hours / 24),
            Expiry::After(hours) => format!("{hours}h"),
            Expiry::Never => NEVER.to_owned(),
        }
    }
}

/// What a token grants. Without patterns it shows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Grant {
    /// Which projects it shows.
    pub projects: Vec<ProjectPattern>,
    /// Whether it shows their confidential items.
    pub confidential: bool,
    /// What it permits.
    pub scopes: Scopes,
    /// When it ends; null for never.
    pub expires: Option<Timestamp>,
}

impl Grant {
    /// All projects with their confidential items, and everything that can be done.
    pub fn everything() -> Self {
        Self { projects: vec![ProjectPattern::all()], confidential: true, scopes: Scopes::all(), expires: None }
    }

    /// Whether it has ended.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Whether its patterns can only be understood with the projects that there are.
    pub fn needs_known_projects(&self) -> bool {
        !self.projects.iter().any(ProjectPattern::is_all) && !self.projects.iter().all(ProjectPattern::is_path)
    }

    /// What it shows of the projects that there are.
    pub fn visibility<'a>(&self, known: impl IntoIterator<Item = &'a str>) -> Visibility {
        let visibility = if self.projects.iter().any(ProjectPattern::is_all) {
            Visibility::public()
        } else {
            // One that is named is shown from its first item on.
            let named = self.projects.iter().filter(|pattern| pattern.is_path()).map(|pattern| pattern.0.clone());
            let matching = known.into_iter().filter(|known| self.projects.iter().any(|pattern| pattern.matches(known)));
            Visibility::of_projects(named.chain(matching.map(str::to_owned)))
        };
        if self.confidential { visibility.with_confidential() } else { visibility }
    }

    /// Reads scopes as people write them: `read`, `sync`, `admin`, and `confidential` for confidential items. No
    /// scope at all means `read`.
    ///
    /// # Errors
    /// One of them is none.
    pub fn parse_scopes<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<(Scopes, bool), String> {
        let (mut scopes, mut confidential) = (BTreeSet::new(), false);
        for word in words {
            match Scope::ALL.into_iter().find(|scope| scope.as_str() == word) {
                Some(scope) => {
                    scopes.insert(scope);
                }
                None if word == CONFIDENTIAL => confidential = true,
                None => {
                    return Err(format!(
                        "'{}' is not a scope; scopes are read, sync, admin and confidential",
                        truncate_echo(word)
                    ));
                }
            }
        }
        if scopes.is_empty() {
            scopes.insert(Scope::Read);
        }
        Ok((Scopes(scopes), confidential))
    }
}

/// Who asks, as the audit log names them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A user who can read the data directory: the commands of its owner.
    Owner,
    /// Somebody at this machine, while no token is needed.
    Local,
    /// A caller with a token.
    Token {
        /// What it is known by; never its secret.
        id: Arc<str>,
        /// What people call it.
        name: Arc<str>,
    },
    /// Somebody who has shown nothing yet.
    Nobody,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("owner"),
            Self::Local => f.write_str("local"),
            Self::Token { id, name } if id == name => write!(f, "token {name}"),
            Self::Token { id, name } => write!(f, "token {name} ({id})"),
            Self::Nobody => f.write_str("nobody"),
        }
    }
}

/// Who sends a request, what they see and what they may do. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who they are.
    pub who: Actor,
    /// What they see.
    pub visibility: Visibility,
    /// What they may do.
    pub scopes: Scopes,
    /// When that ends; `None` for never.
    pub expires: Option<Timestamp>,
}

impl Caller {
    /// A user who can read the data directory sees and may do everything.
    pub fn owner() -> Self {
        Self { who: Actor::Owner, visibility: Visibility::everything(), scopes: Scopes::all(), expires: None }
    }

    /// Somebody at this machine, while no token is needed: they see what is not confidential and may do everything.
    pub fn local() -> Self {
        Self { who: Actor::Local, visibility: Visibility::public(), scopes: Scopes::all(), expires: None }
    }

    /// Somebody who has shown nothing yet: they see nothing and may do nothing.
    pub fn nobody() -> Self {
        let visibility = Visibility::of_projects::<String>([]);
        Self { who: Actor::Nobody, visibility, scopes: Scopes::default(), expires: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> ProjectPattern {
        text.parse().expect("a pattern")
    }

    #[test]
    fn a_pattern_matches_whole_names() {
        for (text, matching, others) in [
            ("acme/shop", vec!["acme/shop"], vec!["acme/shop-admin", "acme", "x/acme/shop", "acme/shop/x"]),
            ("acme/*", vec!["acme/shop", "acme/web"], vec!["acme", "acme/tools/api", "acme-old/shop"]),
            ("acme/**", vec!["acme/shop", "acme/tools/api"], vec!["acme-old/shop", "tools/acme"]),
            ("**/api", vec!["acme/tools/api", "tools/api", "api"], vec!["tools/apis"]),
            ("*/s*p", vec!["acme/shop", "a/sp"], vec!["acme/shops", "acme/x/shop"]),
            ("**", vec!["a", "acme/shop", "a/b/c/d"], vec![]),
        ] {
            for project in matching {
                assert!(pattern(text).matches(project), "{text} {project}");
            }
            for project in others {
                assert!(!pattern(text).matches(project), "{text} {project}");
            }
        }
        for text in ["", "/", "acme/", "/acme", "acme shop", "a//b", "acme/[ab]", "acme/../x", &"a/".repeat(400)] {
            assert!(text.parse::<ProjectPattern>().is_err(), "{text}");
        }
        // Nobody can write a pattern that takes long.
        assert!(!pattern(&format!("{}b", "a*".repeat(200))).matches(&"a".repeat(500)));
    }

    #[test]
    fn a_grant_shows_what_its_patterns_match() {
        let known = ["acme/shop", "acme/web", "tools/api"];
        let of = |patterns: &[&str]| Grant {
            projects: patterns.iter().map(|text| pattern(text)).collect(),
            ..Grant::default()
        };
        assert_eq!(of(&[]).visibility(known), Visibility::of_projects::<String>([]));
        assert_eq!(of(&["acme/*"]).visibility(known), Visibility::of_projects(["acme/shop", "acme/web"]));
        assert_eq!(of(&["acme/new", "tools/*"]).visibility(known), Visibility::of_projects(["acme/new", "tools/api"]));
        assert_eq!(of(&["acme/*", "**"]).visibility(known), Visibility::public());
        assert_eq!(Grant::everything().visibility(known), Visibility::everything());
        assert!(of(&["acme/*"]).needs_known_projects() && !of(&["acme/shop"]).needs_known_projects());
        assert!(!of(&["acme/*", "**"]).needs_known_projects());
    }

    #[test]
    fn an_expiry_is_a_time_a_day_an_instant_or_never() {
        let made_at: Timestamp = "2026-12-31T12:00:00Z".parse().expect("an instant");
        for (text, end, written) in [
            ("never", None, "never"),
            ("2027-01-31T12:00:00+01:00", Some("2027-01-31T11:00:00Z"), "2027-01-31T11:00:00Z"),
            ("2027-01-31", Some("2027-02-01T00:00:00Z"), "2027-02-01T00:00:00Z"),
            ("12h", Some("2027-01-01T00:00:00Z"), "12h"),
            ("48h", Some("2027-01-02T12:00:00Z"), "2d"),
            ("90d", Some("2027-03-31T12:00:00Z"), "90d"),
        ] {
            let expiry: Expiry = text.parse().expect("an expiry");
            assert_eq!(expiry.end(made_at).map(|end| end.to_string()).as_deref(), end, "{text}");
            assert_eq!(String::from(expiry), written, "{text}");
        }
        for text in ["", "Never", "90", "0d", "-1d", "3651d", "9999999999h", "90 days", "2027-02-31", "soon"] {
            assert!(text.parse::<Expiry>().is_err_and(|wrong| wrong.contains("write 90d")), "{text}");
        }
    }

    #[test]
    fn scopes_are_words() {
        let parse = |words: &[&str]| Grant::parse_scopes(words.iter().copied());
        let (scopes, confidential) = parse(&["sync", "confidential"]).expect("scopes");
        assert!(
            confidential && scopes.permit(Scope::Read) && scopes.permit(Scope::Sync) && !scopes.permit(Scope::Admin)
        );
        let (scopes, confidential) = parse(&[]).expect("scopes");
        assert_eq!((scopes.to_string().as_str(), confidential), ("read", false));
        assert!(Scopes::all().cover(&scopes) && !scopes.cover(&Scopes::all()) && scopes.cover(&Scopes::default()));
        assert_eq!(
            parse(&["write"]),
            Err("'write' is not a scope; scopes are read, sync, admin and confidential".to_owned())
        );
        assert!(!Caller::nobody().scopes.permit(Scope::Read));
    }
}
