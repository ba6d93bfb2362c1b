//! Finds design notes: the paragraphs of a body that say why a change was made. It prefers to miss one over a wrong
//! one.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{Message, is_blank, normalized};

/// Most notes of a message.
pub const MAX_NOTES: usize = 20;
/// Longest paragraph that is a note, in bytes; longer ones are generated text.
const MAX_NOTE: usize = 4000;
/// Fewest words of a paragraph, and of an item of a list, that explain anything.
const MIN_WORDS: (usize, usize) = (8, 12);
/// Least weight of the cues for which a paragraph is a note.
const ENOUGH: u32 = 2;

/// A paragraph that says why.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignNote {
    /// Its text as it stands in the message.
    pub text: String,
    /// Number of its first line in the message, from 1.
    pub first_line: u32,
    /// Number of its last line.
    pub last_line: u32,
    /// The turns of phrase that say so.
    pub cues: Vec<&'static str>,
    /// How sure it is, 0 to 1.
    pub confidence: f32,
}

/// Turns of phrase that give reasons: name, pattern, weight. One of weight 2 is enough.
const CUES: [(&str, &str, u32); 33] = [
    ("because", r"\bbecause\b", 2),
    ("so that", r"\bso that\b", 2),
    ("in order to", r"\bin order (?:to|for|not)\b", 2),
    (
        "otherwise",
        r"\bor otherwise\b|(?:^|[.;,:] )otherwise\b|\bwould otherwise\b|\botherwise[, ](?:we|it|the|they|you|this|there)\b",
        2,
    ),
    ("instead of", r"\binstead of\b", 2),
    ("rather than", r"\brather than\b", 2),
    ("rationale", r"\brationale\b|\bmotivation\b", 2),
    ("trade-off", r"\btrade-?\s?offs?\b", 2),
    ("decided", r"\b(?:we|i|was|were|been|have|has) decided\b|\bdesign decision\b|\bdecision (?:to|was|is)\b", 2),
    ("on purpose", r"\bon purpose\b|\b(?:un)?intentional(?:ly)?\b|\bdeliberate(?:ly)?\b|\bby design\b", 2),
    ("workaround", r"\bwork-?\s?arounds?\b|\bworks? around\b|\bworking around\b", 2),
    ("must not", r"\bmust (?:not|never)\b|\bmustn't\b|\bnever\b.{0,40}\bmust\b", 2),
    (
        "reason",
        r"\b(?:the|this|that|one|main|another) reasons?\b|\breasons? (?:is|are|for|why|being)\b|\bfor (?:this|that) reason\b",
        2,
    ),
    ("to avoid", r"\b(?:to|and|thus|thereby) (?:avoid|prevent)(?:s|ing)?\b|\bavoid having to\b", 2),
    ("we chose", r"\b(?:we|i) (?:chose|choose|opted|opt for|prefer|went with|settled on)\b", 2),
    ("turned out", r"\bturn(?:s|ed) out\b", 2),
    (
        "root cause",
        r"\broot cause\b|\b(?:was|is|are|were) caused by\b|\bthe (?:problem|issue|bug|culprit) (?:is|was|here|lies)\b",
        2,
    ),
    ("which means", r"\b(?:which|this|that) means(?: that)?\b", 1),
    (
        "since",
        r"(?:^|[.,;] )(?:but |and )?since\b|\bsince (?:it|we|the|this|that|they|there|these|those|you|its?)\b",
        1,
    ),
    ("as", r", as (?:it|we|the|this|that|they|there|these|those|you)\b", 1),
    ("due to", r"\bdue to\b", 1),
    ("therefore", r"\btherefore\b|\bhence\b|\bthus\b|\bconsequently\b|\bthat's why\b|\bthis is why\b", 1),
    (
        "would",
        r"\bwould (?:have|be|not|break|fail|cause|lead|result|mean|require|need|make|never|still|lose|also)\b",
        1,
    ),
    ("avoid", r"\bavoid(?:s|ing)?\b|\bprevent(?:s|ing)?\b", 1),
    ("however", r"\bhowever\b|\bunfortunately\b", 1),
    ("allows", r"\b(?:this|that|which|it) (?:allows?|lets?|enables?|ensures?|makes?)\b", 1),
    ("cannot", r"\bcan(?:not|'t)\b|\bshould(?: not|n't)\b|\bno way to\b|\bnot possible\b", 1),
    ("needed", r"\b(?:is|are|was|be) (?:needed|necessary|required)\b|\bneeds? to\b|\bhave to\b", 1),
    ("alternative", r"\balternatives?\b|\balternatively\b|\bconsidered\b", 1),
    ("compatible", r"\bbackwards?[- ]compatib\w+|\bfor compatibility\b", 1),
    ("even though", r"\beven (?:though|if)\b|\balthough\b|\bwhile\b.{0,80}\bstill\b", 1),
    ("no longer", r"\bno longer\b|\bused to\b|\bpreviously\b", 1),
    (
        "better",
        r"\b(?:simpler|cleaner|safer|faster|cheaper|better|easier) (?:to|than|and|for|if)\b|\bmakes? sense\b",
        1,
    ),
];

static CUE_SET: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(CUES.map(|(_, pattern, _)| pattern)).expect("the patterns are constant"));

/// Texts that templates and robots write.
static BOILERPLATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) \bdependabot\b | \brenovate\b | \bbumps?\ \[ | \bsourced\ from\b | \brelease\ notes\b | \bby\ submitting\b
        | \bi\ (?:have\ read|confirm|agree|certify)\b | \bplease\ (?:describe|make\ sure|ensure|read|delete|note\ that\ this\ pr)\b
        | \bgenerated\ (?:with|by)\b | \bcontributing\.md\b | \bpull\ request\ template\b | \bthis\ pr\ (?:contains|was)\b
        | ^\s*merge\ (?:branch|remote|pull\ request|tag)\b | ^\s*ACKs?\ for\ | \brevert\w*\ (?:commit\ )?[0-9a-f]{7,40}\b | \bback-?merge\b",
    )
    .expect("the pattern is constant")
});

/// Lines of logs, traces, diffs and shells.
static LOG_LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) ^\s* (?: \[? [0-9]{4}-[0-9]{2}-[0-9]{2} | [0-9]{2}:[0-9]{2}:[0-9]{2} | \[\s*[0-9]+\.[0-9]+\] | at\ \S+[(:]
        | File\ " | \#[0-9]+\s | Traceback | \$\ | >>>\ | \+\+\+\ | ---\ | @@\ | diff\ --git | \w*Error: | \w*Exception: | panic:
        | (?:error|warning|note|fatal|FAIL|ERROR|WARN|INFO|DEBUG)(?:\[\w+\])?: | \S+:[0-9]+(?::[0-9]+)?:\s | [0-9a-f]{7,40}\s | [|+=*-]{3,} ) "#,
    )
    .expect("the pattern is constant")
});

static ITEM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s{0,8}(?:[-*+•]|[0-9]{1,3}[.)])\s+").expect("the pattern is constant"));

/// The paragraphs of a message's body that say why, in order; items of lists count as paragraphs. Quotations, code,
/// logs, trailers, template texts and lists of changes are not paragraphs.
pub fn design_notes(message: &str) -> Vec<DesignNote> {
    let message = Message::parse(&normalized(message));
    paragraphs(&message.body).into_iter().filter_map(|p| note(&p, message.body_line)).take(MAX_NOTES).collect()
}

/// Lines of a body that belong together.
struct Paragraph<'a> {
    /// Index of the first line in the body.
    start: usize,
    lines: Vec<&'a str>,
    item: bool,
}

fn paragraphs(body: &str) -> Vec<Paragraph<'_>> {
    let mut found: Vec<Paragraph<'_>> = Vec::new();
    let (mut open, mut fenced, mut comment) = (false, false, false);
    for (at, line) in body.lines().enumerate() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            (fenced, open) = (!fenced, false);
            continue;
        }
        if trimmed.starts_with("<!--") {
            comment = true;
        }
        let indented = line.starts_with("    ") || line.starts_with('\t');
        let skipped = fenced
            || comment
            || is_blank(line)
            || trimmed.starts_with(['>', '#', '|'])
            || (indented && !open)
            || trimmed.starts_with('[') && trimmed.contains("]: http");
        if comment && trimmed.contains("-->") {
            comment = false;
        }
        if skipped {
            open = false;
        } else if ITEM.is_match(line) {
            found.push(Paragraph { start: at, lines: vec![line], item: true });
            open = true;
        } else if let (true, Some(last)) = (open, found.last_mut()) {
            last.lines.push(line);
        } else {
            found.push(Paragraph { start: at, lines: vec![line], item: false });
            open = true;
        }
    }
    found
}

fn note(paragraph: &Paragraph<'_>, body_line: u32) -> Option<DesignNote> {
    let text = paragraph.lines.join("\n");
    let words = text.split_whitespace().count();
    let least = if paragraph.item { MIN_WORDS.1 } else { MIN_WORDS.0 };
    if words < least || text.len() > MAX_NOTE || !is_prose(&text) || BOILERPLATE.is_match(&text) {
        return None;
    }
    let logged = paragraph.lines.iter().filter(|line| LOG_LINE.is_match(line)).count();
    let checkbox = ITEM.find(paragraph.lines[0]).is_some_and(|item| {
        let rest = &paragraph.lines[0][item.end()..];
        ["[ ]", "[x]", "[X]"].iter().any(|mark| rest.starts_with(mark))
    });
    if logged * 3 > paragraph.lines.len() || checkbox {
        return None;
    }
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let matches: Vec<_> = CUE_SET.matches(&flat).into_iter().map(|at| CUES[at]).collect();
    let weight: u32 = matches.iter().map(|(_, _, weight)| weight).sum();
    if weight < ENOUGH {
        return None;
    }
    let sure = [0.7, 0.8, 0.9][(weight.min(4) - ENOUGH) as usize];
    let first_line = body_line + u32::try_from(paragraph.start).unwrap_or(u32::MAX - body_line);
    Some(DesignNote {
        first_line,
        last_line: first_line + u32::try_from(paragraph.lines.len() - 1).unwrap_or(0),
        cues: matches.iter().map(|(name, _, _)| *name).collect(),
        confidence: if paragraph.item { sure - 0.1 } else { sure },
        text,
    })
}

/// Whether it is mostly letters, as prose is and tables, listings and addresses are not.
fn is_prose(text: &str) -> bool {
    let visible = text.chars().filter(|c| !c.is_whitespace()).count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    letters * 100 >= visible * 75
}
