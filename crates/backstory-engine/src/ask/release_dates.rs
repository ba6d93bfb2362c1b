//! Questions when a release came, and who tagged it: its tag tells that, or it is said that there is none, with those that are
//! like it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use backstory_model::{
    answer::{Answer, Citation, Method, Statement},
    entity::{Item, ItemKind},
    filter::Filter,
    id::NodeId,
    repository::Record,
    time::utc_date,
};
use regex::Regex;

use super::{
    AskEvidence,
    release_names::{ReleaseNames, number_of_tag, read_releases, without_mark},
};
use crate::{
    citations::cited_document,
    error::Result,
    read::item_of_node,
    releases::{Release, find_release, is_dated},
    resources::Resources,
};

/// Most releases that an answer tells: several projects, or several parts of one, may have one of a number.
const MAX_TOLD: usize = 3;
/// Most releases that are named as those that may be meant.
const MAX_NEAREST: usize = 3;

/// `When was 8.1.0 released?`, `Who tagged v8.1.0?`
static ASKS_FOR_RELEASE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)^\s*(?:(?:when|on\s+(?:what|which)\s+(?:day|date))\s+(?:was|were|did)\s+(?P<released>.+?)",
        r"\s+(?:(?:first|officially|finally)\s+)?(?:released|tagged|published|shipped|come\s+out|appear)",
        r"|who\s+(?:has\s+)?(?:released|tagged|published|shipped)\s+(?P<tagged>.+?)",
        r"|what\s+(?:is|was)\s+the\s+release\s+date\s+of\s+(?P<dated>.+?))[\s?!.]*$",
    ))
    .expect("the pattern is constant")
});

/// What is known of a release that a question asks for.
enum ReleaseFacts {
    /// What its tag says.
    Told(Vec<Statement>, Vec<Citation>),
    /// That there is none, or nothing of it.
    Absent(String),
}

/// Answers when a release came; `None` if a question asks for something else, of some documents alone, or there is no such
/// release, which is the reason of its refusal then.
///
/// # Errors
/// The ledger cannot be read.
pub(super) async fn answer_release(
    resources: &Resources,
    filter: &Filter,
    found: &mut AskEvidence,
) -> Result<Option<Answer>> {
    let Some((words, number)) = release_asked(&found.question).filter(|_| filter.is_of_projects_alone()) else {
        return Ok(None);
    };
    let mut releases = read_releases(resources, filter).await?;
    releases.retain(|names| words.iter().all(|word| names.is_leading(word)));
    if releases.is_empty() {
        return Ok(None);
    }
    let number = number.to_owned();
    let facts = resources.blocking(move |resources| find_facts(resources, &releases, &number)).await?;
    match facts {
        ReleaseFacts::Told(statements, citations) => Ok(Some(Answer {
            question: found.question.clone(),
            answered: true,
            confidence: 1.0,
            method: Method::Facts,
            statements,
            citations,
            warnings: found.search_warnings.clone(),
            ..Answer::default()
        })),
        ReleaseFacts::Absent(why) => {
            // What texts say is about other releases.
            found.scored.clear();
            found.warnings.clone_from(&found.search_warnings);
            found.verdict.answerable = false;
            found.verdict.missing = vec![why];
            Ok(None)
        }
    }
}

/// The number of the release that a question asks for, and the words beside it, which must say that it is one or name the
/// project; `None` if it asks for none.
fn release_asked(question: &str) -> Option<(Vec<&str>, &str)> {
    let found = ASKS_FOR_RELEASE.captures(question)?;
    let named = ["released", "tagged", "dated"].iter().find_map(|group| found.name(group))?.as_str();
    let is_mark = |c: char| matches!(c, '`' | '"' | '\'' | '“' | '”' | ',');
    let words = named.split_whitespace().map(|word| word.trim_matches(is_mark));
    let is_said =
        |word: &&str| !word.is_empty() && !["the", "a"].iter().any(|article| word.eq_ignore_ascii_case(article));
    let (numbers, others): (Vec<&str>, Vec<&str>) = words.filter(is_said).partition(|word| is_version(word));
    let [number] = numbers.as_slice() else { return None };
    // `When was 8 released?` may ask for the eighth of anything.
    let is_sure = number.contains('.') || number.starts_with(['v', 'V']) || !others.is_empty();
    is_sure.then_some((others, without_mark(number)))
}

/// Whether a word is a number of a release: `8.1.0`, `v2`, `1.2.0-rc1`.
fn is_version(word: &str) -> bool {
    let number = without_mark(word);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(is_part)
}

fn find_facts(resources: &Resources, releases: &[ReleaseNames], number: &str) -> Result<ReleaseFacts> {
    let mut tags: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for names in releases {
        let own = tags.entry(&names.project).or_default();
        for kind in [ItemKind::Tag, ItemKind::Release] {
            own.extend(resources.ledger().keys(&names.project, kind)?);
        }
    }
    let (mut statements, mut citations) = (Vec::new(), Vec::new());
    let mut has_it = false;
    // The first release of `8` may be `8.0.0`.
    for zeros in ["", ".0", ".0.0"] {
        let wanted = format!("{number}{zeros}");
        for (project, tag) in tags.iter().flat_map(|(project, tags)| tags.iter().map(move |tag| (*project, tag))) {
            if statements.len() == MAX_TOLD || !is_tag_of(tag, &wanted) {
                continue;
            }
            has_it = true;
            let Some(release) = find_release(resources, project, tag)? else { continue };
            let Some((text, citation)) = describe(resources, project, &release)? else { continue };
            let at = u32::try_from(citations.len() + 1).unwrap_or(u32::MAX);
            citations.push(Citation { number: at, ..citation });
            statements.push(Statement { text, citations: vec![at] });
        }
        if has_it {
            break;
        }
    }
    if !statements.is_empty() {
        return Ok(ReleaseFacts::Told(statements, citations));
    }
    if has_it {
        return Ok(ReleaseFacts::Absent(format!("it is not known when release {number} came")));
    }
    let tags: Vec<&str> = tags.values().flatten().map(String::as_str).collect();
    Ok(ReleaseFacts::Absent(describe_absence(&tags, number)))
}

/// Says that none of the tags is that of a number, and which are like it.
fn describe_absence(tags: &[&str], number: &str) -> String {
    let nearest = nearest_tags(tags.iter().copied(), number);
    let like_it = match (tags.is_empty(), nearest.is_empty()) {
        (true, _) => ": none is indexed".to_owned(),
        (false, true) => format!("; the first of {} is {}", tags.len(), tags[0]),
        (false, false) => format!("; the nearest are {}", nearest.join(", ")),
    };
    format!("no tag or release is called {number}{like_it}")
}

/// Says when a release came and who tagged it, or what its commit tells of it, with that; `None` if that is not known.
fn describe(resources: &Resources, project: &str, release: &Release) -> Result<Option<(String, Citation)>> {
    let (Some(at), Some(commit)) = (release.at, release.commit) else { return Ok(None) };
    let Some(document) = cited_document(resources, &NodeId::commit(project, &commit.to_string()), None)? else {
        return Ok(None);
    };
    let shown = document.cite(0, 0..document.text.lines().next().map_or(0, str::len));
    let (tag, date) = (&release.tag, utc_date(at));
    if !is_dated(resources, project, tag)? {
        let commit = format!("its commit is of {date}: {}", shown.location());
        return Ok(Some((format!("{tag} does not say when it was tagged, or by whom; {commit}."), shown)));
    }
    let tagger = match tagger_of(resources, &release.id)? {
        Some(name) => format!(", tagged by {name}"),
        None => String::new(),
    };
    let text = format!("{tag} was released on {date}{tagger}; it is {}.", shown.location());
    Ok(Some((text, shown)))
}

/// Who made an annotated tag.
fn tagger_of(resources: &Resources, tag: &NodeId) -> Result<Option<String>> {
    let Some(Item::Repository(item)) = item_of_node(resources, tag)? else { return Ok(None) };
    let Record::Tag(tag) = item.record else { return Ok(None) };
    Ok(tag.annotation.and_then(|annotation| annotation.tagger).map(|tagger| tagger.name))
}

/// Whether a tag is that of a number, be it with a mark or a name before it: `v8.1.0`, `click-8.1.0`. What stands behind the
/// number makes it another release: `8.1.0-rc1`.
fn is_tag_of(tag: &str, number: &str) -> bool {
    without_mark(tag) == number || (number_of_tag(tag) == Some(number) && tag.ends_with(number))
}

/// The tags whose numbers are most like another.
fn nearest_tags<'a>(tags: impl Iterator<Item = &'a str>, number: &str) -> Vec<&'a str> {
    let parts = |number: &str| number.split('.').map_while(|part| part.parse::<u64>().ok()).collect::<Vec<_>>();
    let wanted = parts(number);
    let distance = |tag: &str| {
        let own = parts(number_of_tag(tag)?);
        let same = own.iter().zip(&wanted).take_while(|(one, other)| one == other).count();
        let part = |parts: &[u64]| parts.get(same).copied().unwrap_or_default();
        Some((Reverse(same), part(&own).abs_diff(part(&wanted)), own))
    };
    let mut near: Vec<_> = tags.filter_map(|tag| Some((distance(tag)?, tag))).collect();
    near.sort();
    near.dedup_by(|one, other| one.1 == other.1);
    near.into_iter().map(|(_, tag)| tag).take(MAX_NEAREST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_that_is_asked_for_is_known_by_its_number() {
        for (question, asked) in [
            ("when was 8.1.0 released?", Some((vec![], "8.1.0"))),
            ("When was hiredis v1.2.0 first released", Some((vec!["hiredis"], "1.2.0"))),
            ("when did the release 8 come out?", Some((vec!["release"], "8"))),
            ("Who tagged `1.2.0-rc1`?", Some((vec![], "1.2.0-rc1"))),
            ("What is the release date of version 2.0?", Some((vec!["version"], "2.0"))),
            ("when was 8 released?", None),
            ("when was the parser released?", None),
            ("when was the parser of 8.1 and 8.2 released?", None),
            ("why was 8.1.0 released?", None),
            ("when was 8.1.0 released on PyPI?", None),
        ] {
            assert_eq!(release_asked(question), asked, "{question}");
        }
    }

    #[test]
    fn the_nearest_releases_have_most_parts_of_the_number() {
        let tags = ["v7.9.0", "8.0.0", "8.1.0", "8.1.7", "8.1.8", "9.0", "stable"];
        assert_eq!(nearest_tags(tags.into_iter(), "8.1.9"), ["8.1.8", "8.1.7", "8.1.0"]);
        assert_eq!(nearest_tags(["stable"].into_iter(), "8.1.9"), Vec::<&str>::new());
        assert!(is_tag_of("click-8.1.0", "8.1.0") && is_tag_of("v1.0rc1", "1.0rc1") && !is_tag_of("18.1.0", "8.1.0"));
        assert!(is_tag_of("v8.1.0-rc1", "8.1.0-rc1") && !is_tag_of("v8.1.0-rc1", "8.1.0"));
        let cases: [(&[&str], &str); 3] = [
            (&["v8.1.0-rc1", "stable"], "; the nearest are v8.1.0-rc1"),
            (&["nightly", "stable"], "; the first of 2 is nightly"),
            (&[], ": none is indexed"),
        ];
        for (tags, like_it) in cases {
            assert_eq!(describe_absence(tags, "8.1.0"), format!("no tag or release is called 8.1.0{like_it}"));
        }
    }
}
