//! A set of words in ten bits each, from which words can be looked up but not read: a Bloom filter. It has every word that
//! was put in, and of a hundred others it seems to have one. How words begin and end is put in too, for texts that begin or
//! end inside of a word.

use std::collections::HashSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Bits for each word.
const BITS_PER_WORD: usize = 10;
/// Bits that each word sets.
const PROBES: u64 = 4;
/// Shortest and longest word, in bytes. Shorter ones are everywhere, longer ones are data.
const WORD: std::ops::RangeInclusive<usize> = 2..=32;
/// Length of beginnings and ends of words, in bytes. Shorter words have none.
const EDGE: usize = 4;
/// Most different words, beginnings and ends. A set of more is not kept.
pub const MAX_WORDS: usize = 50_000;

/// A set of words.
#[derive(Clone, PartialEq, Eq)]
pub struct WordFilter(Vec<u8>);

/// A word, or how one begins or ends, as filters know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WordHash(u64);

/// Collects the words of a text that comes in parts.
#[derive(Clone, Debug, Default)]
pub struct WordCollector {
    words: HashSet<WordHash>,
    /// The beginning of a word that the next part may continue.
    begun: Vec<u8>,
    /// The last bytes of that word.
    tail: Vec<u8>,
    is_too_much: bool,
}

impl WordHash {
    fn of(word: &[u8]) -> Self {
        Self::hash(word.iter())
    }

    /// A beginning that words share; none of a text that is shorter.
    fn of_beginning(text: &[u8]) -> Option<Self> {
        text.get(..EDGE).map(|edge| Self::hash(b"^".iter().chain(edge)))
    }

    /// An end that words share; none of a text that is shorter.
    fn of_end(text: &[u8]) -> Option<Self> {
        text.last_chunk::<EDGE>().map(|edge| Self::hash(edge.iter().chain(b"$")))
    }

    /// FNV-1a, which is the same in every version and on every machine.
    fn hash<'a>(bytes: impl Iterator<Item = &'a u8>) -> Self {
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        // Its lower bits alone differ too little between short words.
        Self((hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn bits(self, size: usize) -> impl Iterator<Item = usize> {
        let (first, step) = (self.0, (self.0 >> 32) | 1);
        (0..PROBES).map(move |probe| (first.wrapping_add(probe.wrapping_mul(step)) % size as u64) as usize)
    }
}

impl WordFilter {
    fn of(words: &HashSet<WordHash>) -> Self {
        let mut bytes = vec![0; (words.len() * BITS_PER_WORD).div_ceil(8)];
        for word in words {
            for bit in word.bits(bytes.len() * 8) {
                bytes[bit / 8] |= 1 << (bit % 8);
            }
        }
        Self(bytes)
    }

    /// A filter from its bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it may have all of some words. `false` is certain.
    pub fn may_have_all(&self, words: &[WordHash]) -> bool {
        let size = self.0.len() * 8;
        let has = |bit: usize| self.0[bit / 8] & (1 << (bit % 8)) != 0;
        words.iter().all(|word| size > 0 && word.bits(size).all(has))
    }
}

impl std::fmt::Debug for WordFilter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "WordFilter({} bytes)", self.0.len())
    }
}

impl Serialize for WordFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for WordFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        hex::decode(String::deserialize(deserializer)?).map(Self).map_err(D::Error::custom)
    }
}

impl WordCollector {
    /// Takes a part of the text.
    pub fn take(&mut self, part: &[u8]) {
        if self.is_too_much {
            return;
        }
        let mut pieces = part.split(|byte| !is_part(*byte)).peekable();
        while let Some(piece) = pieces.next() {
            // As much as makes it too long is enough.
            let room = (WORD.end() + 1).saturating_sub(self.begun.len());
            self.begun.extend_from_slice(&piece[..piece.len().min(room)]);
            self.tail.extend_from_slice(&piece[piece.len().saturating_sub(EDGE)..]);
            self.tail.drain(..self.tail.len().saturating_sub(EDGE));
            if pieces.peek().is_some() {
                self.end_word();
            }
        }
    }

    /// Ends the word that was begun, as a line end does.
    pub fn end_word(&mut self) {
        let whole = WORD.contains(&self.begun.len()).then(|| WordHash::of(&self.begun));
        let edges = [WordHash::of_beginning(&self.begun), WordHash::of_end(&self.tail)];
        self.words.extend(edges.into_iter().chain([whole]).flatten());
        self.begun.clear();
        self.tail.clear();
        if self.words.len() > MAX_WORDS {
            self.give_up();
        }
    }

    /// Not all words can be known.
    pub fn give_up(&mut self) {
        *self = Self { is_too_much: true, ..Self::default() };
    }

    /// The words since this was last asked; `None` if there were too many or not all are known.
    pub fn finish(&mut self) -> Option<WordFilter> {
        self.end_word();
        let collected = std::mem::take(self);
        (!collected.is_too_much).then(|| WordFilter::of(&collected.words))
    }
}

/// What every line with a text in it has, however it goes on before and behind the text: the words that the text has whole,
/// how the word ends that the text begins in, and how the one begins that it ends in. A text of several lines has none: it is
/// also taken out by what is put between them.
pub fn certain_words(text: &str) -> Vec<WordHash> {
    if text.contains('\n') {
        return Vec::new();
    }
    let pieces: Vec<&[u8]> = text.as_bytes().split(|byte| !is_part(*byte)).collect();
    // A text without anything between words may be the inside of one.
    let [first, inner @ .., last] = &pieces[..] else { return Vec::new() };
    let whole = inner.iter().filter(|word| WORD.contains(&word.len())).map(|word| WordHash::of(word));
    whole.chain(WordHash::of_end(first)).chain(WordHash::of_beginning(last)).collect()
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter(parts: &[&str]) -> Option<WordFilter> {
        let mut words = WordCollector::default();
        parts.iter().for_each(|part| words.take(part.as_bytes()));
        words.finish()
    }

    fn has(filter: &WordFilter, line: &str) -> bool {
        filter.may_have_all(&certain_words(&format!(" {line} ")))
    }

    #[test]
    fn words_that_come_in_parts_are_whole() {
        let filter = filter(&["let time", "out_ms = 30", ";"]).unwrap();
        assert!(has(&filter, "timeout_ms = 30"));
        assert!(!has(&filter, "time"));
        assert!(!has(&filter, "out_ms"));
    }

    #[test]
    fn what_touches_the_ends_of_a_text_is_no_whole_word() {
        assert_eq!(certain_words("out = 30; // ms"), certain_words(" 30 "));
        assert_eq!(certain_words("timeout"), []);
        assert_eq!(certain_words(""), []);
        assert_eq!(certain_words("(timeout)"), [WordHash::of(b"timeout")]);
        assert_eq!(certain_words("a one b\nc two d"), []);
    }

    #[test]
    fn words_that_a_text_begins_or_ends_in_are_known_by_their_edges() {
        let filter =
            filter(&["let timeout_", "ms = configuration_of_something_that_is_very_long_indeed(", ")"]).unwrap();
        let may_have = |text: &str| filter.may_have_all(&certain_words(text));
        assert!(may_have("meout_ms = config"));
        assert!(may_have("very_long_indeed("));
        assert!(!may_have("my_out = config"));
        assert!(!may_have("out_ms = command"), "both ends count");
        assert!(may_have("ms = co"), "what is too short is not known");
    }

    #[test]
    fn few_words_that_were_not_put_in_seem_to_be_there() {
        let text: String = (0..5_000).map(|number| format!("{number} ")).collect();
        let filter = filter(&[&text]).unwrap();
        let wrong = (0..10_000).filter(|number| has(&filter, &format!("other{number}"))).count();
        assert!(wrong < 250, "{wrong} of 10,000");
    }

    #[test]
    fn an_empty_filter_has_no_word_and_too_many_words_are_no_filter() {
        assert!(!has(&filter(&["+-*/"]).unwrap(), "word"));
        let text: String = (0..=MAX_WORDS).map(|number| format!("word{number} ")).collect();
        assert_eq!(filter(&[&text]), None);
        let mut words = WordCollector::default();
        words.give_up();
        words.take(b"word ");
        assert_eq!(words.finish(), None);
        assert!(words.finish().is_some(), "the next one begins anew");
    }

    proptest! {
        #[test]
        fn a_line_has_the_certain_words_of_every_text_in_it(
            line in "[ -~é]{0,80}",
            cuts in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        ) {
            let places: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
            let (mut from, mut to) = (*cuts.0.get(&places), *cuts.1.get(&places));
            if from > to {
                std::mem::swap(&mut from, &mut to);
            }
            let middle = *cuts.2.get(&places);
            let filter = filter(&[&line[..middle], &line[middle..]]).unwrap();
            prop_assert!(filter.may_have_all(&certain_words(&line[from..to])));
            let again: WordFilter = serde_json::from_str(&serde_json::to_string(&filter).unwrap()).unwrap();
            prop_assert_eq!(again, filter);
        }
    }
}
