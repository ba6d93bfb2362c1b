//! Parses commit and tag objects as git stores them. libgit2 is stricter and rejects names and dates that old tools
//! wrote.

use backstory_model::{
    commit::{Sha, Signature},
    time::saturate_seconds,
};
use encoding_rs::Encoding;

/// Longest message that is kept, in bytes.
pub(super) const MAX_MESSAGE: usize = 1 << 20;
/// Most parents of a commit that are kept.
const MAX_PARENTS: usize = 4096;

/// What a commit object says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommitObject {
    pub(super) tree: Sha,
    pub(super) parents: Vec<Sha>,
    pub(super) author: Signature,
    pub(super) committer: Signature,
    pub(super) message: String,
}

/// What a tag object says, without what it stands on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TagObject {
    pub(super) tagger: Option<Signature>,
    pub(super) message: String,
}

/// What hangs a commit into history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommitLinks {
    pub(super) tree: Sha,
    pub(super) parents: Vec<Sha>,
    /// When it was made, in seconds since the epoch; 0 if it does not say.
    pub(super) at: i64,
}

/// Reads what hangs a commit into history; `None` if it names no tree. People and dates may be written in any way.
pub(super) fn parse_links(object: &[u8]) -> Option<CommitLinks> {
    let (header, _) = split(object);
    let mut links =
        CommitLinks { tree: Sha::from_hex(header.strip_prefix(b"tree ")?.get(..40)?)?, parents: vec![], at: 0 };
    for line in header.split(|b| *b == b'\n').skip(1) {
        if let Some(hex) = line.strip_prefix(b"parent ") {
            links.parents.extend(Sha::from_hex(hex).filter(|_| links.parents.len() < MAX_PARENTS));
        } else if let Some(rest) = line.strip_prefix(b"committer ") {
            links.at = date(rest).split_ascii_whitespace().next().map_or(0, seconds);
            break;
        }
    }
    Some(links)
}

/// Reads a commit; `None` if it names no tree. Anything else that is missing is taken for empty, as git takes it.
pub(super) fn parse_commit(object: &[u8]) -> Option<CommitObject> {
    let (header, message) = split(object);
    let encoding = encoding(header);
    let mut tree = None;
    let mut parents = Vec::new();
    let (mut author, mut committer) = (None, None);
    for line in header.split(|b| *b == b'\n') {
        if let Some(hex) = line.strip_prefix(b"tree ") {
            tree = tree.or(Sha::from_hex(hex));
        } else if let Some(hex) = line.strip_prefix(b"parent ") {
            parents.extend(Sha::from_hex(hex).filter(|_| parents.len() < MAX_PARENTS));
        } else if let Some(rest) = line.strip_prefix(b"author ") {
            author.get_or_insert_with(|| signature(rest, encoding));
        } else if let Some(rest) = line.strip_prefix(b"committer ") {
            committer.get_or_insert_with(|| signature(rest, encoding));
        }
    }
    let nobody = || signature(b"", None);
    Some(CommitObject {
        tree: tree?,
        parents,
        author: author.unwrap_or_else(nobody),
        committer: committer.unwrap_or_else(nobody),
        message: text(&message[..message.len().min(MAX_MESSAGE)], encoding),
    })
}

/// Reads an annotated tag.
pub(super) fn parse_tag(object: &[u8]) -> TagObject {
    let (header, message) = split(object);
    let encoding = encoding(header);
    let tagger = header.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(b"tagger "));
    TagObject {
        tagger: tagger.map(|line| signature(line, encoding)),
        message: text(&message[..message.len().min(MAX_MESSAGE)], encoding),
    }
}

/// Header and message, which the first empty line separates.
fn split(object: &[u8]) -> (&[u8], &[u8]) {
    if object.starts_with(b"\n") {
        return (b"", &object[1..]);
    }
    match object.windows(2).position(|pair| pair == b"\n\n") {
        Some(at) => (&object[..at], &object[at + 2..]),
        None => (object, b""),
    }
}

/// The encoding that the header names if it is a known one and not UTF-8.
fn encoding(header: &[u8]) -> Option<&'static Encoding> {
    let label = header.split(|b| *b == b'\n').find_map(|line| line.strip_prefix(b"encoding "))?;
    Encoding::for_label(label).filter(|encoding| *encoding != encoding_rs::UTF_8)
}

/// Decodes by the named encoding, or UTF-8; what is wrong becomes U+FFFD. UTF-8 wins where the bytes are UTF-8 and not
/// ASCII: some tools name an encoding that they do not use.
fn text(bytes: &[u8], encoding: Option<&'static Encoding>) -> String {
    match (std::str::from_utf8(bytes), encoding) {
        (Err(_), Some(encoding)) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
        (Ok(text), Some(encoding)) if encoding == encoding_rs::ISO_2022_JP => {
            encoding.decode_without_bom_handling(text.as_bytes()).0.into_owned()
        }
        (Ok(text), _) => text.to_owned(),
        (Err(_), None) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Reads `Name <email> seconds +hhmm`, as leniently as git does.
fn signature(line: &[u8], encoding: Option<&'static Encoding>) -> Signature {
    let open = line.iter().position(|b| *b == b'<');
    let (name, rest) = match open {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &b""[..]),
    };
    let close = rest.iter().position(|b| *b == b'>').unwrap_or(rest.len());
    let email = &rest[..close];
    let mut words = date(rest).split_ascii_whitespace();
    let at = saturate_seconds(words.next().map_or(0, seconds));
    let offset_minutes = words.next().and_then(offset).unwrap_or_default();
    Signature { name: text(name.trim_ascii(), encoding), email: text(email.trim_ascii(), encoding), at, offset_minutes }
}

/// What stands behind the address of a signature.
fn date(line: &[u8]) -> &str {
    let after = line.iter().rposition(|b| *b == b'>').map_or(&b""[..], |at| &line[at + 1..]);
    std::str::from_utf8(after).unwrap_or_default()
}

/// Seconds since the epoch as a signature has them, the largest or smallest number if they are beyond it; 0 if they are no
/// number.
fn seconds(word: &str) -> i64 {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    match word.parse() {
        Ok(seconds) => seconds,
        Err(_) if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) => 0,
        Err(_) if word.starts_with('-') => i64::MIN,
        Err(_) => i64::MAX,
    }
}

/// Minutes of `+hhmm`; `None` if it is something else or more than a day.
fn offset(word: &str) -> Option<i16> {
    let (sign, digits) = word.split_at_checked(1)?;
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: i16 = digits.parse().ok()?;
    let minutes = number / 100 * 60 + number % 100;
    match sign {
        _ if minutes > 24 * 60 => None,
        "+" => Some(minutes),
        "-" => Some(-minutes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    fn commit(rest: &[u8]) -> CommitObject {
        parse_commit(&[format!("tree {TREE}\n").as_bytes(), rest].concat()).unwrap()
    }

    #[test]
    fn people_are_read_as_git_reads_them() {
        let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        for (line, name, email, seconds, offset) in [
            ("Ada L <ada@x.org> 1700000000 +0530", "Ada L", "ada@x.org", 1_700_000_000, 330),
            ("A <a@x> -100 -0800", "A", "a@x", -100, -480),
            ("<a@x> 5 +0000", "", "a@x", 5, 0),
            ("A <> 5 +0000", "A", "", 5, 0),
            ("A <a@x>", "A", "a@x", 0, 0),
            ("A <a@x> b> 7 +0100", "A", "a@x", 7, 60),
            ("A <a@x> 253402300800 +0000", "A", "a@x", last, 0),
            ("A <a@x> 99999999999999999 +9999", "A", "a@x", last, 0),
            ("A <a@x> 99999999999999999999999 +0000", "A", "a@x", last, 0),
            ("A <a@x> -99999999999999999 +0000", "A", "a@x", first, 0),
            ("A <a@x> -99999999999999999999999 +0000", "A", "a@x", first, 0),
            ("A <a@x> 99999999999999999999999x +0000", "A", "a@x", 0, 0),
            ("A <a@x> - +0000", "A", "a@x", 0, 0),
            ("A <a@x> soon +x", "A", "a@x", 0, 0),
            ("A", "A", "", 0, 0),
        ] {
            let read = signature(line.as_bytes(), None);
            assert_eq!(
                (read.name.as_str(), read.email.as_str(), read.at.as_second(), read.offset_minutes),
                (name, email, seconds, offset),
                "{line}"
            );
        }
    }

    #[test]
    fn links_are_read_whatever_people_are_called() {
        let parent = Sha::from_hex(b"4101de3daf91c6d35b92395a72bf84132ef48f7c").unwrap();
        for (people, at) in [
            ("author A <a@x> 1 +0000\ncommitter B <b@x> 2 +0000\n", 2),
            ("author A\ncommitter B\n", 0),
            (
                "author A <a@x> 99999999999999999999999 +0000\ncommitter B <b@x> 99999999999999999999999 +0000\n",
                i64::MAX,
            ),
            ("author A <a@x> 1 +0000\ncommitter B <b@x> soon +0000\n", 0),
            ("", 0),
        ] {
            let object = format!("tree {TREE}\nparent {parent}\n{people}\nMessage\nparent {TREE}\n");
            let links = CommitLinks { tree: TREE.parse().unwrap(), parents: vec![parent], at };
            assert_eq!(parse_links(object.as_bytes()), Some(links), "{people}");
        }
        assert_eq!(parse_links(b"parent 4101de3daf91c6d35b92395a72bf84132ef48f7c\n\n"), None);
    }

    #[test]
    fn signatures_of_keys_and_extra_headers_are_passed_over() {
        let object =
            b"parent 4101de3daf91c6d35b92395a72bf84132ef48f7c\nauthor A <a@x> 1 +0000\ncommitter B <b@x> 2 +0000\n\
            gpgsig -----BEGIN\n author Evil <e@x> 9 +0000\n -----END\nmergetag object\n tree 1\n\nTitle\n\nBody\n\n";
        let read = commit(object);
        assert_eq!((read.author.name.as_str(), read.committer.name.as_str()), ("A", "B"));
        assert_eq!(read.message, "Title\n\nBody\n\n");
        assert_eq!(read.parents.len(), 1);
        assert_eq!(commit(b"author A <a@x> 1 +0000\n\n").message, "");
        assert_eq!(parse_commit(b"author A <a@x> 1 +0000\n\nx"), None);
    }

    #[test]
    fn the_named_encoding_counts_unless_the_bytes_are_utf8() {
        let latin = commit(b"author J\xfcrgen <j@x> 1 +0000\nencoding ISO-8859-1\n\ngr\xfc\xdfe");
        assert_eq!((latin.author.name.as_str(), latin.message.as_str()), ("J\u{fc}rgen", "gr\u{fc}\u{df}e"));
        let japanese = commit(b"author A <a@x> 1 +0000\nencoding Shift_JIS\n\n\x93\xfa\x96{");
        assert_eq!(japanese.message, "\u{65e5}\u{672c}");
        assert_eq!(commit("encoding ISO-8859-1\n\ngr\u{fc}n".as_bytes()).message, "gr\u{fc}n");
        assert_eq!(commit(b"encoding klingon\n\ngr\xfcn").message, "gr\u{fffd}n");
        assert_eq!(commit(b"author A <a@x> 1 +0000\n\ngr\xfcn").message, "gr\u{fffd}n");
    }

    proptest! {
        #[test]
        fn nothing_panics(object in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_commit(&object);
            let _ = parse_commit(&[b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor ", &object[..]].concat());
            let _ = parse_tag(&object);
            let _ = parse_links(&object);
        }
    }
}
