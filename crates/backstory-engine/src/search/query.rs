//! Parses a query: references, people, paths and times besides its words. No model is needed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use backstory_model::{
    document_type::DocumentType,
    file_role::{FileRole, roles_asked_for},
    filter::{DocumentKind, Filter},
    id::NodeId,
    reference::{self, ReferenceContext},
    terms::QueryTerms,
    time::{parse_instant, utc_date},
};
use backstory_store::index::DocumentFacts;
use jiff::{Span, Timestamp, ToSpan as _, tz::TimeZone};
use regex::Regex;

use super::code::worth_of_role;

/// Most things that are taken for named by a query.
const MAX_NAMED: usize = 20;
/// The first year that a query can name: nothing that is indexed is older.
const FIRST_YEAR: i16 = 1970;
/// Fewest words of a query that can be told apart by how many of them a text has.
const SOME_WORDS: u32 = 3;

/// A query as it is understood.
#[derive(Clone, Debug, Default)]
pub(super) struct ParsedQuery {
    /// What it is about.
    pub(super) terms: QueryTerms,
    /// What the search by words looks for.
    pub(super) words: String,
    /// Issues, merge requests, commits and files that it names; they need not exist.
    pub(super) named: Vec<NodeId>,
    /// Definitions of the code that it is the name of or asks for the place of, and how surely each is meant, 0 to 1: one in a
    /// test is not, if there is another.
    pub(super) definitions: BTreeMap<String, f32>,
    /// The files that these are in.
    pub(super) defining: BTreeMap<String, f32>,
    /// User names that it names with `@`.
    pub(super) people: Vec<String>,
    /// Whether it is nothing but the name of code, or looks like one.
    pub(super) is_name: bool,
    /// Whether nothing but code is searched for.
    pub(super) only_code: bool,
    /// The files besides sources that it asks for.
    pub(super) roles: Vec<FileRole>,
    /// Whether it asks for a place in the code rather than for a reason.
    pub(super) asks_for_code: bool,
    /// Whether it asks how something is run, installed, deployed or configured.
    pub(super) asks_how_to_use: bool,
    /// The time after which and before which things are wanted, if it says so in words, and how that was understood.
    after: Option<(Timestamp, String)>,
    before: Option<(Timestamp, String)>,
    /// How it was understood, for people.
    pub(super) notes: Vec<String>,
}

static PLACE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[\w.-]+(?:/[\w.-]+)+\b|\b[\w-]+\.[a-z]{1,5}\b"));
static ASKS_FOR_CODE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\s*(?:where\b|which (?:function|file|class|method|type|module)|in which file|show (?:me )?the (?:code|function|implementation))",
    )
});
static ASKS_HOW_TO_USE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?ix)
        \bhow\s+(?:do|can|could|should|would|to|is|are|does)\b .* \b(?:run|start|install|deploy|configure|set\s?up|build|compile|launch|docker)
        | ^\s*(?:please\s+)?(?:run(?:ning)?|install(?:ing|ation)?|deploy(?:ing|ment)?|configur(?:e|ing|ation)|set(?:ting)?\s?up
            |docker|getting\s+started|quick\s?start|usage)\b(?:\W+\w+){0,5}\W*$",
    )
});
static AGO: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:in the |within the |during the )?(?:last|past) (?:(?P<count>[0-9]{1,3}) )?(?P<unit>day|week|month|year)s?\b",
    )
});
static BOUND: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?P<side>since|before|until)\s+(?P<date>[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?)\b"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

impl ParsedQuery {
    /// Reads a query. `project` is what its short references are relative to, if that is known.
    pub(super) fn of(query: &str, project: Option<ReferenceContext<'_>>, now: Timestamp) -> Self {
        let mut understood = Self::default();
        let rest = understood.extract_time_range(query, now);
        understood.terms = QueryTerms::of(&rest);
        understood.words = QueryTerms::words(&rest);
        understood.roles = roles_asked_for(query);
        understood.asks_for_code = ASKS_FOR_CODE.is_match(query);
        understood.asks_how_to_use = !understood.asks_for_code && ASKS_HOW_TO_USE.is_match(query);
        if let Some(context) = project {
            understood.extract_references(query, context);
        }
        understood
    }

    /// Whether one of these passages, of each the terms that it has, has all terms of a query of some words.
    pub(super) fn has_every_term(&self, mut passages: impl Iterator<Item = u64>) -> bool {
        let terms = self.terms.terms.iter().enumerate().filter(|(_, term)| !term.part);
        let all = terms.fold(0u64, |all, (at, _)| all | 1 << at);
        all.count_ones() >= SOME_WORDS && passages.any(|found| found & all == all)
    }

    /// Whether it has more than one word, be it one of several parts.
    pub(super) fn has_several_words(&self) -> bool {
        self.terms.terms.iter().filter(|term| !term.part).count() > 1
    }

    /// Whether it is nothing but the name of code that is defined nowhere.
    pub(super) fn is_unknown_name(&self) -> bool {
        self.is_name && self.definitions.is_empty()
    }

    /// Takes conditions on time out of the query.
    fn extract_time_range(&mut self, query: &str, now: Timestamp) -> String {
        let mut rest = query.to_owned();
        if let Some(found) = AGO.captures(query) {
            let count = found.name("count").and_then(|count| count.as_str().parse().ok()).unwrap_or(1i64);
            let span: Span = match found["unit"].to_lowercase().as_str() {
                "day" => count.days(),
                "week" => count.weeks(),
                "month" => count.months(),
                _ => count.years(),
            };
            if let Ok(after) = now.to_zoned(TimeZone::UTC).checked_sub(span) {
                let note = format!("'{}': only since {}", found[0].trim(), utc_date(after.timestamp()));
                self.after = Some((after.timestamp(), note));
                rest = rest.replace(&found[0], " ");
            }
        }
        for found in BOUND.captures_iter(query) {
            let Ok(at) = parse_instant(&found["date"]) else { continue };
            // "until 1024 bytes arrive" names no year.
            let is_year = |year: i16| (FIRST_YEAR..=now.to_zoned(TimeZone::UTC).year() + 1).contains(&year);
            if !is_year(at.to_zoned(TimeZone::UTC).year()) {
                continue;
            }
            let since = found["side"].eq_ignore_ascii_case("since");
            let (bound, side) = if since { (&mut self.after, "since") } else { (&mut self.before, "before") };
            *bound = Some((at, format!("'{}': only {side} {}", &found[0], utc_date(at))));
            rest = rest.replace(&found[0], " ");
        }
        // A query of nothing else is searched for as it is.
        if QueryTerms::of(&rest).terms.is_empty() { query.to_owned() } else { rest }
    }

    fn extract_references(&mut self, query: &str, context: ReferenceContext<'_>) {
        let mut named: BTreeSet<NodeId> = BTreeSet::new();
        for id in reference::extract(query, context) {
            match id {
                NodeId::Person(name) => self.people.push(name),
                id => drop(named.insert(id)),
            }
        }
        for place in PLACE.find_iter(query) {
            named.insert(NodeId::file(context.project, place.as_str().trim_start_matches("./")));
        }
        self.named = named.into_iter().take(MAX_NAMED).collect();
    }

    /// How surely a document is what the query names or whose definition it asks for, 0 to 1.
    pub(super) fn share_meant(&self, id: &str) -> f32 {
        if self.named.iter().any(|named| named.to_string() == id) {
            return 1.0;
        }
        self.definitions.get(id).or_else(|| self.defining.get(id)).copied().unwrap_or(0.0)
    }

    /// Adds the conditions of the query to the filter of the request, which wins, and notes them.
    pub(super) fn narrow(&mut self, filter: &mut Filter) {
        for (bound, said) in [(&mut filter.after, self.after.take()), (&mut filter.before, self.before.take())] {
            if let (None, Some((at, note))) = (*bound, said) {
                *bound = Some(at);
                self.notes.push(note);
            }
        }
    }

    /// How much a document counts as an answer: a question about code is seldom answered by code, and how something is
    /// used is said by the README and other documentation first.
    pub(super) fn prior(&self, facts: &DocumentFacts) -> f32 {
        if self.only_code {
            return worth_of_role(&self.roles, facts);
        }
        let is_file = matches!(facts.kind, DocumentKind::File | DocumentKind::Section);
        if self.asks_how_to_use && is_file && facts.document_type != DocumentType::Code {
            return if facts.paths().any(is_readme) { README } else { GUIDE };
        }
        if self.asks_how_to_use && facts.kind == DocumentKind::Commit {
            return COMMIT_ABOUT_USE;
        }
        match facts.kind {
            DocumentKind::Issue | DocumentKind::MergeRequest | DocumentKind::Discussion => 1.0,
            DocumentKind::Commit => COMMIT,
            DocumentKind::File | DocumentKind::Code | DocumentKind::Section if self.asks_for_code => CODE_ASKED_FOR,
            DocumentKind::File | DocumentKind::Code => CODE,
            DocumentKind::Section => SECTION,
        }
    }

    /// The most that any document counts as an answer.
    pub(super) fn largest_prior(&self) -> f32 {
        match self {
            Self { only_code: true, .. } => 1.0,
            Self { asks_how_to_use: true, .. } => README,
            Self { asks_for_code: true, .. } => CODE_ASKED_FOR,
            _ => 1.0,
        }
    }
}

/// A commit's message is often the summary of its merge request, which says more.
const COMMIT: f32 = 0.85;
const CODE: f32 = 0.7;
const CODE_ASKED_FOR: f32 = 1.1;
const SECTION: f32 = 0.8;
/// Where it is asked how something is used.
const README: f32 = 1.6;
const GUIDE: f32 = 1.3;
const COMMIT_ABOUT_USE: f32 = 0.5;

/// Whether a file says by its name that it introduces to what is in its directory.
fn is_readme(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name).to_ascii_lowercase();
    ["readme", "install", "getting-started", "getting_started", "quickstart"]
        .iter()
        .any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backstory_model::reference::Forge;

    fn at(forge: Forge) -> ReferenceContext<'static> {
        ReferenceContext { forge, project: "acme/shop", forge_url: "https://git.example.com" }
    }

    fn of(query: &str) -> ParsedQuery {
        ParsedQuery::of(query, Some(at(Forge::GitLab)), "2024-05-20T12:00:00Z".parse().unwrap())
    }

    #[test]
    fn references_paths_and_people_are_named() {
        let understood = of("what did @alice say about !7 and #12 in src/auth.rs after 1a2b3c4d?");
        let named: Vec<String> = understood.named.iter().map(ToString::to_string).collect();
        assert_eq!(named, ["acme/shop#12", "acme/shop!7", "acme/shop@1a2b3c4d", "acme/shop:src/auth.rs"]);
        assert_eq!(understood.people, ["alice"]);
    }

    #[test]
    fn references_follow_the_forge_of_the_project() {
        let query = "did GH-7 or #12 break https://git.example.com/acme/web/pull/3 and !9?";
        let understood = ParsedQuery::of(query, Some(at(Forge::GitHub)), "2024-05-20T12:00:00Z".parse().unwrap());
        let named: Vec<String> = understood.named.iter().map(ToString::to_string).collect();
        assert_eq!(named[..3], ["acme/shop#7", "acme/shop#12", "acme/web!3"]);
    }

    #[test]
    fn time_in_words_is_a_condition() {
        let bounds = |understood: &mut ParsedQuery, mut filter: Filter| {
            understood.narrow(&mut filter);
            [filter.after, filter.before].map(|at| at.map(|at| utc_date(at).to_string()))
        };
        let day = |text: &str| Some(text.to_owned());
        let mut understood = of("what changed in the parser in the last 2 months");
        assert_eq!(understood.words, "changed parser");
        assert_eq!(bounds(&mut understood, Filter::default()), [day("2024-03-20"), None]);
        let mut understood = of("releases since 2020-01 before 2021");
        assert_eq!(understood.words, "releases");
        assert_eq!(bounds(&mut understood, Filter::default()), [day("2020-01-01"), day("2021-01-01")]);
        assert_eq!(of("the last month").words, "last month");
        // What the request says wins, and only what is applied is noted.
        let request = Filter { before: Some("2022-05-01T00:00:00Z".parse().unwrap()), ..Filter::default() };
        let mut understood = of("releases since 2020-01 before 2021");
        assert_eq!(bounds(&mut understood, request), [day("2020-01-01"), day("2022-05-01")]);
        assert_eq!(understood.notes, ["'since 2020-01': only since 2020-01-01"]);
    }

    #[test]
    fn a_number_is_no_year() {
        for query in ["why does the reader block until 1024 bytes arrive", "what uses pages since 4096"] {
            let mut understood = of(query);
            let mut filter = Filter::default();
            understood.narrow(&mut filter);
            assert_eq!(filter, Filter::default(), "{query}");
            assert!(understood.words.contains("1024") || understood.words.contains("4096"), "{query}");
        }
    }

    #[test]
    fn questions_for_a_place_are_told_from_questions_for_a_reason() {
        assert!(of("Where is the token checked?").asks_for_code);
        assert!(of("which function parses dates").asks_for_code);
        assert!(!of("Why is the token checked where it is?").asks_for_code);
    }

    #[test]
    fn questions_for_the_use_of_something_are_told_from_others() {
        for query in ["how do I run it with docker", "install", "How to configure the cache?", "Docker compose setup"] {
            assert!(of(query).asks_how_to_use, "{query}");
        }
        for query in ["why does the deploy job fail on Mondays when the cache is cold and nobody looks", "token expiry"]
        {
            assert!(!of(query).asks_how_to_use, "{query}");
        }
    }
}
