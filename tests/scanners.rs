//! Whatever reads text takes time linear in it, whatever stands there: twice as much takes at most 2.5 times as long.

use std::{collections::BTreeMap, hint::black_box, sync::LazyLock, time::Duration};

use backstory_engine::{
    model::{
        alias::{Aliases, PersonNames},
        chunk, classify, document,
        entity::{Issue, State, Thread},
        id::ThreadId,
        message, pack,
        people::Mailmap,
        question,
        redaction::count_markers,
        reference::{Forge, ReferenceContext, extract},
        security::security_flags,
        sentence, terms, text,
        tracker::{Tracker, Trackers},
    },
    sources::{code, redact::redact},
};
use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Bytes of a short text.
const SHORT: usize = 8 << 10;
/// Bytes of a long one. What is linear but does not fit into a cache any more, beside other work, must not look quadratic;
/// so the two are far apart.
const LONG: usize = 128 << 10;
/// How much longer twice as much may take.
const MOST: f64 = 2.5;
/// What takes less for the long text is linear, or fast enough.
const NOTHING: Duration = Duration::from_millis(20);
/// How often a text is read at most; the fastest time counts.
const ROUNDS: usize = 6;

/// What reads texts.
type Scanner = (&'static str, fn(&str) -> usize);

const SCANNERS: [Scanner; 25] = [
    ("redaction", |text| redact(text).1.total() as usize),
    ("markers", |text| count_markers([text]).len()),
    ("references on GitLab", |text| extract(text, place(Forge::GitLab)).len()),
    ("references on GitHub", |text| extract(text, place(Forge::GitHub)).len()),
    ("messages on GitLab", |text| message::parse_references(text, place(Forge::GitLab)).mentions.len()),
    ("messages on GitHub", |text| message::parse_references(text, place(Forge::GitHub)).mentions.len()),
    ("trailers", |text| message::Message::parse(&format!("subject\n\nRefs: #1\nPart-of: {text}")).trailers.len()),
    ("carriers", |text| {
        message::parse_references(&format!("subject\n\nRefs: #1\nPart-of: {text}"), place(Forge::GitHub))
            .introduced_by
            .len()
    }),
    ("design notes", |text| message::design_notes(text).len()),
    ("closed by a description", |text| message::closed_by_description(text, place(Forge::GitLab)).len()),
    ("terms", |text| terms::TermExtractor::default().distinct(text).len()),
    ("terms of a query", |text| {
        terms::QueryTerms::of(text).found_in(text, &mut terms::TermExtractor::default()).count_ones() as usize
    }),
    ("sentences", |text| sentence::split_sentences(text).len()),
    ("stems", |text| sentence::stems(text).len() + sentence::exact_words(text).len()),
    ("questions", |text| question::Question::parse(text).terms.len()),
    ("snippets", |text| text::snippet(text, "why is the password of a token", 200).len()),
    ("chunks", |text| {
        let documents = document::issue_documents(&issue(text), &[]);
        let limits = chunk::ChunkLimits { window: 250, document: chunk::MAX_DOCUMENT_TOKENS };
        chunk::split_into_chunks(&documents[0], limits, tokens).texts.len()
    }),
    ("pieces", |text| pack::chunk::split_text(text).len() + pack::clip(text, 300, &tokens).len()),
    ("documents", |text| {
        ["a.md", "a.adoc", "a.rst"]
            .into_iter()
            .map(|path| code::analyze(path, text.as_bytes()).line_count as usize)
            .sum()
    }),
    ("tickets", |text| trackers().in_plain_text(text).len()),
    ("tickets in Markdown", |text| trackers().in_markdown(text).len()),
    ("security", |text| security_flags(text).len()),
    ("mailmap", |text| Mailmap::parse(text).resolve("alice", "alice@example.com").0.len()),
    ("types of changes", |text| classify::classify(text, &[]).secondary.len()),
    ("aliases", |text| {
        let person = PersonNames { id: "alice".into(), addresses: vec!["alice@example.com".into()], names: vec![] };
        let hashes = person.hashes(b"key").into_iter().map(|hash| (hash, "forgotten-1".to_owned()));
        Aliases::new(b"key".to_vec(), BTreeMap::from_iter(hashes)).replace_message(text).map_or(0, |text| text.len())
    }),
];

/// What is repeated until a text is long enough. `{}` stands for a number that is another one each time.
const REPEATED: [&str; 57] = [
    "glpat-",
    "glpat-x",
    "eyJaaaaaaaa-",
    "eyJaaaaaaaa.",
    "password=",
    "password = \"",
    "api_key: a",
    "https://a:b",
    "://a:",
    "AKIA",
    "a",
    "-----BEGIN PRIVATE KEY-----\n",
    "private key ABCDABCDABCDABCDABCDABCDABCDABCDABCDABCDABCD\n",
    "kind: secret\nabc: aaaaaaaaa",
    "curl -u ",
    "machine a login b ",
    "[redacted:jwt:4] ",
    "&#45;",
    "&#",
    "\u{200b}",
    "\u{ff47}\u{ff4c}",
    "é1234abc.",
    "1234abc.",
    "a.",
    "a/",
    "#1 ",
    "#{} ",
    "!{}, ",
    "@",
    "@a-",
    "alice@example.com ",
    "fixes #{} ",
    "fixes ",
    "reverts {}234abcd, ",
    "fixup! ",
    "Refs: #{}\n",
    " ",
    "\n",
    "\r\n",
    "[",
    "![",
    "[a](",
    "](",
    "<!--",
    "<a ",
    "`",
    "```\n",
    "*a_",
    "> ",
    "- ",
    "|a",
    "A. ",
    "fixes SHOP-{}, ",
    "`SHOP-{}` ",
    "CVE-2024-10{} ",
    "Alice <alice@example.com> Al <{}@example.com>\n",
    "<a@b> ",
];

/// One, whose tickets are written like `SHOP-12`.
fn trackers() -> &'static Trackers {
    static TRACKERS: LazyLock<Trackers> = LazyLock::new(|| {
        let tracker = Tracker::new("[A-Z][A-Z0-9]+-[0-9]+", "https://tracker.example.com/browse/{key}").unwrap();
        Trackers::new(vec![tracker]).unwrap()
    });
    &TRACKERS
}

fn place(forge: Forge) -> ReferenceContext<'static> {
    ReferenceContext { forge, project: "acme/shop", forge_url: "https://git.example.com" }
}

/// About as many tokens as models count.
fn tokens(text: &str) -> usize {
    text.split_whitespace().map(|word| word.len().div_ceil(4)).sum()
}

fn issue(description: &str) -> Issue {
    let at = Timestamp::UNIX_EPOCH;
    let thread = Thread {
        forge: Forge::GitLab,
        title: "A title".into(),
        description: description.into(),
        state: State::Opened,
        author: None,
        labels: vec![],
        milestone: None,
        assignees: vec![],
        created_at: at,
        updated_at: at,
        closed_at: None,
        closed_by: None,
        web_url: String::new(),
        notes_count: 0,
        confidential: false,
    };
    let id = ThreadId::issue("acme/shop", 1);
    Issue { id, thread, related: vec![], closed_by_requests: vec![], links: vec![] }
}

/// At least so many bytes.
fn long(repeated: &str, length: usize) -> String {
    let mut text = String::with_capacity(length + repeated.len());
    for number in 10.. {
        if text.len() >= length {
            break;
        }
        text.push_str(&repeated.replace("{}", &number.to_string()));
    }
    text
}

/// Processor time that reading a text takes; what else the machine does has no part in it.
fn time(scan: fn(&str) -> usize, text: &str) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let started = now();
    black_box(scan(black_box(text)));
    now() - started
}

/// How long a scanner needs for a long text.
///
/// # Errors
/// It takes more than [`MOST`] times as long for twice as much; both times.
fn check(scan: fn(&str) -> usize, repeated: &str) -> Result<Duration, [Duration; 2]> {
    compare(scan, &[long(repeated, SHORT), long(repeated, LONG)])
}

/// How long a scanner needs for the longer of two texts.
///
/// # Errors
/// It takes more than [`MOST`] times as long for twice as much; both times.
fn compare(scan: fn(&str) -> usize, texts: &[String; 2]) -> Result<Duration, [Duration; 2]> {
    let mut fastest = [Duration::MAX; 2];
    let doubled = (texts[1].len() as f64 / texts[0].len() as f64).log2();
    for _ in 0..ROUNDS {
        for (text, fastest) in texts.iter().zip(&mut fastest) {
            *fastest = time(scan, text).min(*fastest);
        }
        if fastest[1] < NOTHING || fastest[1].as_secs_f64() <= MOST.powf(doubled) * fastest[0].as_secs_f64() {
            return Ok(fastest[1]);
        }
    }
    Err(fastest)
}

#[test]
#[allow(clippy::print_stdout, reason = "how long each takes is worth seeing")]
fn twice_the_text_takes_every_scanner_at_most_two_and_a_half_times_as_long() {
    let (mut wrong, mut told) = (String::new(), String::new());
    for (name, scan) in SCANNERS {
        // Expressions are compiled when they are first needed.
        scan("glpat- password #1 @a fixes #1");
        let mut slowest = (Duration::ZERO, "");
        for repeated in REPEATED {
            match check(scan, repeated) {
                Ok(time) => slowest = slowest.max((time, repeated)),
                Err(times) => wrong.push_str(&format!("{name} of {repeated:?}: {times:?}\n")),
            }
        }
        told.push_str(&format!("{name}: at most {:?} for {} KiB, of {:?}\n", slowest.0, LONG >> 10, slowest.1));
    }
    println!("{told}");
    assert!(wrong.is_empty(), "{wrong}\n{told}");
}

#[test]
fn twice_as_many_names_that_are_defined_twice_take_at_most_two_and_a_half_times_as_long() {
    let twice = |names: usize| -> String {
        (0..2).flat_map(|_| 0..names).map(|name| format!("def part_{name}(): return {name}\n")).collect()
    };
    let texts = [twice(1_000), twice(10_000)];
    let scan = |text: &str| code::analyze("src/parts.py", text.as_bytes()).code().map_or(0, |code| code.entities.len());
    let compared = compare(scan, &texts);
    assert!(compared.is_ok(), "{compared:?}");
}
