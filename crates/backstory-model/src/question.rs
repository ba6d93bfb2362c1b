//! Parses a question: its kind, and the words that an answer must be about.

mod sources;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::text::{has_stem, stem};

pub use sources::SourceQuestion;

/// Content words of a question that count, the first ones.
pub const MAX_TERMS: usize = 24;

/// What a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// A reason.
    Why,
    /// A way to do something.
    How,
    /// A person.
    Who,
    /// A time.
    When,
    /// Anything else.
    What,
}

/// A content word of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// As it is written.
    pub word: String,
    /// The beginning that its forms share, lower case.
    pub stem: String,
    /// Whether it names one thing: an identifier, a product, a standard.
    pub named: bool,
}

/// A question, understood as far as words go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What it asks for.
    pub kind: QuestionKind,
    /// Its content words in order, each stem once, at most [`MAX_TERMS`].
    pub terms: Vec<Term>,
}

/// Words that say nothing of what a question is about.
const EMPTY: &str = "a about above after again against all already also although am an and another any anyone anything \
    are aren as at away back be became because become been before behind being below between both but by came can cannot \
    come comes could couldn did didn do does doesn doing don done down during each either else end ended ends even ever \
    every everything exactly few first for from further gave get gets getting give given gives go goes going gone got had \
    hadn has hasn have haven having he her here hers him his how however i if in instead into is isn it its itself just \
    keep keeps kept know known last later least less let like long look made make makes making many may me might mine \
    more most much must my need needed needs neither never new next no nobody none nor not nothing now of off often on \
    once one only onto or other others our ours out over own people per perhaps please put quite rather reason really \
    said same say says see seem seems seen shall she should shouldn since so some somebody someone something still such \
    take taken takes tell than that the their theirs them then there these they thing things think this those though \
    through thus to together too took toward towards under until up upon us use used uses using very via want wanted \
    wants was wasn way ways we well went were weren what whatever when whenever where whether which while who whom whose \
    why will with within without won would wouldn yes yet you your yours";

impl Question {
    /// Reads a question.
    pub fn parse(text: &str) -> Self {
        let tokens: Vec<Token<'_>> = tokens(text);
        // In a title every word begins with a capital.
        let capitals = tokens.iter().filter(|token| token.is_capitalized()).count();
        let is_title = capitals * 2 > tokens.len();
        let mut seen = BTreeSet::new();
        let mut terms = Vec::new();
        for token in &tokens {
            let lower = token.text.to_lowercase();
            let named = token.looks_named(is_title);
            if lower.chars().count() < 2 || (!named && is_stop_word(&lower)) {
                continue;
            }
            let stem = stem(&lower);
            if seen.insert(stem.clone()) && terms.len() < MAX_TERMS {
                terms.push(Term { word: token.text.to_owned(), stem, named });
            }
        }
        Self { kind: kind(text), terms }
    }

    /// Which of its terms a text with these stems has, in their order.
    pub fn found_in(&self, stems: &BTreeSet<String>) -> Vec<bool> {
        self.terms.iter().map(|term| has_stem(stems, &term.stem)).collect()
    }

    /// Whether it says by itself what it is about: it has two content words, and no pronoun that stands for what was talked
    /// about before. One that begins with `and` must have no pronoun at all.
    pub fn is_self_contained(text: &str) -> bool {
        const POINTING: [&str; 10] = ["it", "its", "that", "this", "these", "those", "they", "them", "he", "she"];
        const JOINING: [&str; 4] = ["and", "so", "but", "then"];
        let words: Vec<String> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
        let joins = words.first().is_some_and(|word| JOINING.contains(&word.as_str()));
        let looked_at = if joins { words.len() } else { 1 };
        let points = words.iter().take(looked_at).any(|word| POINTING.contains(&word.as_str()));
        // `How long does it take to sync?` is about one thing.
        let takes =
            |three: &[String]| three[0] == "it" && matches!(three[1].as_str(), "take" | "takes") && three[2] == "to";
        let least = if words.windows(3).any(takes) { 1 } else { 2 };
        !points && !refers_back(&words) && Self::parse(text).terms.len() >= least
    }

    /// What it asks of the sources of what was talked about, if it asks nothing else: `and who wrote it?`, `which commit?`,
    /// `where was that discussed?`, `which files did it change?`
    pub fn asked_of_sources(text: &str) -> Option<SourceQuestion> {
        SourceQuestion::parse(text)
    }
}

/// Whether a pronoun among the words of a question, in lower case, stands for something that these do not name before it.
/// Few words before a pronoun at the end are rather what is asked about it.
fn refers_back(words: &[String]) -> bool {
    const FEW: usize = 3;
    let says = |word: &&String| !is_stop_word(word) && !SourceQuestion::is_about_sources(word);
    let is_pronoun = |at: &usize| {
        let next = words.get(at + 1).map_or("", String::as_str);
        match words[*at].as_str() {
            "its" => true,
            "it" => !is_impersonal(&words[at + 1..]),
            // Others belong to a noun, or begin a clause.
            "this" | "that" | "these" | "those" => next.is_empty() || is_stop_word(next),
            _ => false,
        }
    };
    let Some(at) = (0..words.len()).find(is_pronoun) else { return false };
    let before = words[..at].iter().filter(says).count();
    let is_last = !words[at + 1..].iter().any(|word| says(&word));
    before < if is_last { FEW } else { 1 }
}

/// Whether an `it` before these words stands for nothing: `is it possible to`, `was it decided that`, `does it take long`.
fn is_impersonal(words: &[String]) -> bool {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let second = word(1);
    match word(0) {
        "that" | "possible" | "necessary" | "better" | "decided" | "agreed" | "matter" | "matters" => true,
        // `does it make requests` is about a thing.
        "make" | "makes" => words.iter().any(|word| matches!(word.as_str(), "sense" | "difference")),
        "take" | "takes" => matches!(
            second,
            "to" | "for" | "until" | "till" | "before" | "so" | "that" | "long" | "too" | "more" | "much" | "forever"
        ),
        _ => false,
    }
}

/// Whether a word, in lower case, says nothing of what a text is about.
pub fn is_stop_word(word: &str) -> bool {
    static WORDS: std::sync::LazyLock<BTreeSet<&str>> = std::sync::LazyLock::new(|| EMPTY.split_whitespace().collect());
    WORDS.contains(word)
}

fn kind(text: &str) -> QuestionKind {
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let first = crate::text::words(&lower).into_iter().find_map(|word| {
        Some(match word.as_str() {
            "why" => QuestionKind::Why,
            "who" | "whom" | "whose" => QuestionKind::Who,
            "when" => QuestionKind::When,
            "how" => QuestionKind::How,
            "what" | "which" | "where" => QuestionKind::What,
            _ => return None,
        })
    });
    match first {
        Some(QuestionKind::How) if has(&["how come"]) => QuestionKind::Why,
        Some(QuestionKind::How) if has(&["how long", "how often"]) => QuestionKind::When,
        Some(QuestionKind::What) if has(&["reason", "rationale", "what for"]) => QuestionKind::Why,
        Some(QuestionKind::What) if has(&["what date", "which year", "what year", "which day"]) => QuestionKind::When,
        Some(QuestionKind::What)
            if has(&["which maintainer", "which person", "which developer", "which contributor", "which author"]) =>
        {
            QuestionKind::Who
        }
        Some(kind) => kind,
        None => QuestionKind::What,
    }
}

/// A word of the text and whether a sentence begins with it.
struct Token<'a> {
    text: &'a str,
    begins: bool,
    quoted: bool,
}

impl Token<'_> {
    fn is_capitalized(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }

    fn looks_named(&self, is_title: bool) -> bool {
        let has = |class: fn(char) -> bool| self.text.chars().any(class);
        let letters = has(char::is_alphabetic);
        let inner_capital = self.text.chars().skip(1).any(char::is_uppercase);
        letters
            && (self.text.contains('_')
                || inner_capital
                || has(|c| c.is_ascii_digit())
                || self.quoted
                || (self.is_capitalized() && !self.begins && !is_title && !is_stop_word(&self.text.to_lowercase())))
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut begins = true;
    let mut at = 0;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    while at < text.len() {
        let rest = &text[at..];
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if length == 0 {
            let c = rest.chars().next().map_or(1, char::len_utf8);
            begins |= matches!(&rest[..c], "." | "?" | "!");
            at += c;
            continue;
        }
        let word = &rest[..length];
        let quoted = text[..at].ends_with('`') && rest[length..].starts_with('`');
        if word.chars().any(|c| c != '_') {
            tokens.push(Token { text: word, begins, quoted });
        }
        begins = false;
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let shown = |term: Term| if term.named { format!("{}!", term.word) } else { term.word };
        Question::parse(text).terms.into_iter().map(shown).collect()
    }

    #[test]
    fn terms_are_what_the_question_is_about() {
        assert_eq!(terms("Why did we choose Redis over memcached?"), ["choose", "Redis!", "memcached"]);
        assert_eq!(terms("What does load_session return on IPv6?"), ["load_session!", "return", "IPv6!"]);
        assert_eq!(terms("How do I sign with a PKCS#11 token?"), ["sign", "PKCS!", "11", "token"]);
        assert_eq!(terms("Sessions are kept where?"), ["Sessions"]);
        assert_eq!(terms("Move The Order Tables To Postgres"), ["Move", "Order", "Tables", "Postgres"]);
        assert_eq!(terms("what is `login`?"), ["login!"]);
        assert!(terms("").is_empty() && terms("??? … 🦀").is_empty());
    }

    #[test]
    fn kind_is_told_by_the_word_that_asks() {
        for (text, kind) in [
            ("Why is it so?", QuestionKind::Why),
            ("What was the reason for it?", QuestionKind::Why),
            ("How come nobody uses it?", QuestionKind::Why),
            ("How do I build it?", QuestionKind::How),
            ("How long did it take, and when did it end?", QuestionKind::When),
            ("Which maintainer resigned?", QuestionKind::Who),
            ("In the cache, who wrote it?", QuestionKind::Who),
            ("undefined reference in tests", QuestionKind::What),
        ] {
            assert_eq!(Question::parse(text).kind, kind, "{text}");
        }
    }

    #[test]
    fn follow_up_does_not_stand_alone() {
        for text in ["and who wrote it?", "It was removed when?", "why?", "Who decided?"] {
            assert!(!Question::is_self_contained(text), "{text}");
        }
        assert!(Question::is_self_contained("Why did we choose Redis over memcached?"));
        assert!(Question::is_self_contained("and how is the cache warmed at night?"));
        assert!(!Question::is_self_contained("and how is it warmed at night?"));
    }

    #[test]
    fn a_pronoun_stands_for_what_the_question_names_or_for_what_was_talked_about() {
        for text in [
            "which files did it change?",
            "which tests cover it?",
            "what did the team think about that?",
            "is this still the case for tags?",
            "does it make requests at night?",
            "does it take the arguments of a shell?",
            "how long does it take?",
            "when was it decided?",
        ] {
            assert!(!Question::is_self_contained(text), "{text}");
        }
        for text in [
            "Why does the cart lock its rows?",
            "Why does the parser fail when it meets a comma?",
            "Who noticed that Redis loses sessions?",
            "Why is it that sessions expire at night?",
            "Is it possible to disable colors?",
            "Why was it decided to drop Redis?",
            "When was it agreed that Redis goes?",
            "Does it make sense to cache sessions?",
            "Is it necessary to lock the cart?",
            "Does it matter which parser reads the file?",
            "How long does it take to sync?",
            "why do these tests of the mailer fail?",
            "does the importer read dates in local time, and who wrote it?",
        ] {
            assert!(Question::is_self_contained(text), "{text}");
        }
    }

    #[test]
    fn authorship_alone_is_told_from_what_has_words_of_its_own() {
        for text in ["and who wrote it?", "who said so?", "When was that written?", "Who decided?", "when?"] {
            assert_eq!(Question::asked_of_sources(text), Some(SourceQuestion::Writer), "{text}");
        }
        for text in ["who wrote the parser?", "and why?", "and who tested it?", "what was added?"] {
            assert_eq!(Question::asked_of_sources(text), None, "{text}");
        }
    }

    #[test]
    fn what_it_belongs_to_is_told_from_what_it_says() {
        for (text, asked) in [
            ("which commit?", SourceQuestion::Commit),
            ("and in which commit was that changed?", SourceQuestion::Commit),
            ("which merge commit was it?", SourceQuestion::Commit),
            ("What was the commit?", SourceQuestion::Commit),
            ("which change was that?", SourceQuestion::Commit),
            ("which merge request was that?", SourceQuestion::MergeRequest),
            ("In which pull request was it merged?", SourceQuestion::MergeRequest),
            ("what MR?", SourceQuestion::MergeRequest),
            ("which PR was it?", SourceQuestion::MergeRequest),
            ("which issue?", SourceQuestion::Issue),
            ("where was this discussed?", SourceQuestion::Discussion),
            ("where was that decided?", SourceQuestion::Discussion),
            ("which thread?", SourceQuestion::Discussion),
            ("in which release was it shipped?", SourceQuestion::Release),
            ("what version was that?", SourceQuestion::Release),
            ("has it shipped?", SourceQuestion::Release),
            ("which files did it change?", SourceQuestion::Files),
            ("and what files were touched?", SourceQuestion::Files),
            ("what did it change?", SourceQuestion::Files),
            ("what did that commit modify?", SourceQuestion::Files),
            ("show me the code", SourceQuestion::Code),
            ("can I see the diff?", SourceQuestion::Code),
            ("what does the code look like?", SourceQuestion::Code),
            ("who reviewed it?", SourceQuestion::Reviewer),
            ("and who approved that?", SourceQuestion::Reviewer),
            ("who merged it?", SourceQuestion::Reviewer),
            ("is it still so?", SourceQuestion::State),
            ("was that merged?", SourceQuestion::State),
            ("is this still the case?", SourceQuestion::State),
            ("what is its status?", SourceQuestion::State),
        ] {
            assert_eq!(Question::asked_of_sources(text), Some(asked), "{text}");
        }
        for text in [
            "which commit added the parser?",
            "what was decided?",
            "what was discussed?",
            "what shipped?",
            "what is a commit?",
            "what is the issue?",
            "where is the release kept?",
            "where is it?",
            "which?",
            "how was it released?",
            "why this commit?",
            "which files does the importer read?",
            "what did the rewrite change?",
            "show me the importer",
            "who reviewed the importer?",
            "is it fast?",
            "is the cache still warm?",
        ] {
            assert_eq!(Question::asked_of_sources(text), None, "{text}");
        }
    }
}
