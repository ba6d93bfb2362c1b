//! Rejects what matches a rule and is no secret: placeholders, names, references, hashes, identifiers.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use regex::bytes::Captures;

use super::rule::{Rule, SecretTest};

/// How much of a secret is looked at to tell that it is one, in bytes from its beginning. Of what is base64 all is.
pub(super) const MAX_JUDGED_BYTES: usize = 1024;
/// Parts of words that stand for a secret without being one.
const PLACEHOLDERS: [&str; 30] = [
    "example",
    "sample",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "your-",
    "your_",
    "yourpass",
    "yourkey",
    "yourtoken",
    "yoursecret",
    "yourapi",
    "dummy",
    "redacted",
    "insert",
    "replace",
    "xxxx",
    "****",
    "....",
    "-here",
    "_here",
    "foobar",
    "notreal",
    "not-a-real",
    "fake",
    "${",
    "{{",
    "$(",
    "%(",
];
static PLACEHOLDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).build(PLACEHOLDERS).expect("the words are constant")
});
/// How a reference to a value begins.
const REFERENCES: [&str; 22] = [
    "$",
    "<",
    "{",
    "%",
    "#{",
    "@@",
    "env:",
    "env.",
    "vault:",
    "process.env",
    "os.environ",
    "os.getenv",
    "secrets.",
    "ref+",
    "op://",
    "arn:",
    "http://",
    "https://",
    "file:",
    "/",
    "./",
    "self.",
];
/// What documents and local set-ups have as a password.
const USUAL: [&str; 32] = [
    "password",
    "passwd",
    "pass",
    "secret",
    "token",
    "postgres",
    "mysql",
    "root",
    "admin",
    "guest",
    "user",
    "username",
    "test",
    "pw",
    "pwd",
    "mypassword",
    "mypass",
    "foo",
    "bar",
    "baz",
    "changeit",
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "string",
    "x-oauth-basic",
    "x-token-auth",
    "oauth2",
    "redis",
];
/// Values that languages have words for.
const LITERALS: [&str; 8] = ["true", "false", "none", "null", "nil", "undefined", "self", "this"];
/// An early part of the payload of the token that every text about JWTs shows.
const SHOWN_JWT: &str = "eyJzdWIiOiIxMjM0NTY3ODkw";
/// Least bits a character of a password, and of a random value.
const PASSWORD_ENTROPY: f32 = 2.5;
const KEY_ENTROPY: f32 = 3.2;
/// Shortest random value.
const KEY_LENGTH: usize = 16;
/// Names with which 64 hexadecimal digits are a credential rather than a key or hash of a test.
const CREDENTIALS: [&str; 9] =
    ["api", "access", "auth", "client", "app", "webhook", "token", "secret_key_base", "password"];

/// Whether what a rule found is a secret.
pub(super) fn is_secret(rule: &Rule, found: &Captures<'_>, secret: &[u8]) -> bool {
    let name = found.name("name").map_or(&b""[..], |name| name.as_bytes());
    if rule.unless().is_some_and(|unless| unless.is_match(name)) {
        return false;
    }
    let bare = found.name("bare").is_some();
    // A value that only a space stands before is that of an option.
    if found.name("blank").is_some() && found.name("dashes").is_none() {
        return false;
    }
    let judged = &secret[..secret.len().min(MAX_JUDGED_BYTES)];
    match rule.judge {
        SecretTest::Block => true,
        SecretTest::Token => !is_placeholder(judged) && entropy(judged) >= rule.entropy,
        SecretTest::Url => !is_placeholder(judged) && !is_reference(judged) && !is_usual(judged),
        SecretTest::Password => is_value(judged, bare) && is_password(judged),
        SecretTest::Key => is_value(judged, bare) && is_key(name, judged),
        SecretTest::Basic => is_basic(secret),
        SecretTest::Base64 => is_base64(secret),
    }
}

/// Whether it is written out where it stands, rather than named, computed or left open.
fn is_value(secret: &[u8], bare: bool) -> bool {
    let is_call = bare && secret.iter().any(|b| matches!(b, b'(' | b'{' | b'['));
    !is_call && !is_placeholder(secret) && !is_reference(secret) && !is_usual(secret) && !is_uuid(secret)
}

fn is_password(secret: &[u8]) -> bool {
    let has = |class: fn(&u8) -> bool| secret.iter().any(class);
    let letters = has(u8::is_ascii_alphabetic) || has(|b| *b >= 0x80);
    let digits = has(u8::is_ascii_digit);
    let signs = secret.iter().any(|b| b.is_ascii_punctuation() && !is_joint(*b));
    // One without digits and signs must look drawn at random.
    let random = secret.len() >= 12 && alternates(secret);
    letters
        && (digits || signs || random)
        && entropy(secret) >= PASSWORD_ENTROPY
        && !contains(secret, "passw")
        && !is_path(secret)
        && !is_code(secret)
        && (!is_words(secret) || is_capitalized_word_with_digits(secret))
}

fn is_key(name: &[u8], secret: &[u8]) -> bool {
    let least = secret.len() >= KEY_LENGTH && secret.iter().any(u8::is_ascii_digit);
    if !least || !secret.iter().any(u8::is_ascii_alphabetic) || is_path(secret) || is_words(secret) || is_code(secret) {
        return false;
    }
    if is_hex(secret) {
        return entropy(secret) >= 2.6 && (secret.len() < 56 || CREDENTIALS.iter().any(|word| contains(name, word)));
    }
    entropy(secret) >= KEY_ENTROPY && is_mixed(secret)
}

/// Whether letters, capitals and digits alternate as in what is drawn at random.
fn is_mixed(secret: &[u8]) -> bool {
    let class = |b: &u8| match b {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let changes = secret.windows(2).filter(|pair| class(&pair[0]) != class(&pair[1])).count();
    changes * 10 >= secret.len() * 3
}

fn is_basic(secret: &[u8]) -> bool {
    let Ok(plain) = BASE64_STANDARD.decode(secret) else { return false };
    let Some(colon) = plain.iter().position(|b| *b == b':') else { return false };
    let password = &plain[colon + 1..];
    plain.iter().all(|b| *b >= 0x20) && password.len() > 3 && !is_placeholder(password) && !is_usual(password)
}

fn is_base64(secret: &[u8]) -> bool {
    let padded = secret.len().is_multiple_of(4) && BASE64_STANDARD.decode(secret).is_ok();
    let random = secret.ends_with(b"=") || (secret.iter().any(u8::is_ascii_digit) && is_mixed(secret));
    padded && random && !is_placeholder(secret) && entropy(secret) >= PASSWORD_ENTROPY
}

/// Bits a byte, by how often each occurs.
pub(super) fn entropy(text: &[u8]) -> f32 {
    let mut counts = [0_u32; 256];
    text.iter().for_each(|b| counts[usize::from(*b)] += 1);
    let length = text.len().max(1) as f32;
    counts.iter().filter(|count| **count > 0).map(|count| *count as f32 / length).map(|p| -p * p.log2()).sum()
}

/// Whether it stands for a secret.
pub(super) fn is_placeholder(secret: &[u8]) -> bool {
    PLACEHOLDER.is_match(secret)
        || is_repeated(secret)
        || is_sequence(secret)
        || memchr::memmem::find(secret, SHOWN_JWT.as_bytes()).is_some()
}

fn is_reference(secret: &[u8]) -> bool {
    let lower = secret.get(..16.min(secret.len())).unwrap_or_default().to_ascii_lowercase();
    REFERENCES.iter().any(|start| lower.starts_with(start.as_bytes()) && !is_only_a_sign(start, secret))
}

/// A password may begin with a sign that also begins references, if what follows is no name.
fn is_only_a_sign(start: &str, secret: &[u8]) -> bool {
    matches!(start, "$" | "%" | "{" | "<")
        && secret.len() > 1
        && !is_named_in_brackets(secret)
        && !secret[1..]
            .iter()
            .all(|b| b.is_ascii_alphanumeric() && !b.is_ascii_lowercase() || matches!(b, b'_' | b'}' | b'%'))
        && !secret[1..].iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'}' | b'>' | b'-' | b'{' | b'.'))
}

/// `<db-password-2>`
fn is_named_in_brackets(secret: &[u8]) -> bool {
    secret.strip_prefix(b"<").and_then(|rest| rest.strip_suffix(b">")).is_some_and(is_words)
}

fn is_usual(secret: &[u8]) -> bool {
    let trimmed: Vec<u8> =
        secret.iter().filter(|b| !matches!(b, b'[' | b']' | b'(' | b')' | b'*' | b'.')).copied().collect();
    trimmed.is_empty() || USUAL.iter().any(|word| trimmed.eq_ignore_ascii_case(word.as_bytes()))
}

fn is_uuid(secret: &[u8]) -> bool {
    secret.len() == 36
        && secret.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_hex(secret: &[u8]) -> bool {
    let digits = secret.strip_prefix(b"0x").unwrap_or(secret);
    digits.iter().all(u8::is_ascii_hexdigit)
}

/// The same few characters, or the same part again and again.
fn is_repeated(secret: &[u8]) -> bool {
    let periodic =
        |period: usize| secret.len() >= 3 * period && secret.iter().zip(&secret[period..]).all(|(a, b)| a == b);
    let mut different = [false; 256];
    secret.iter().for_each(|b| different[usize::from(*b)] = true);
    let few = different.iter().filter(|is| **is).count() <= 3;
    (secret.len() >= 6 && few) || (1..=16).any(periodic)
}

/// `0123456789abcdef`
fn is_sequence(secret: &[u8]) -> bool {
    let steps = secret.windows(2).filter(|pair| pair[1] == pair[0].wrapping_add(1) || pair == b"90").count();
    secret.len() >= 8 && steps * 10 >= secret.len() * 6
}

fn is_joint(byte: u8) -> bool {
    matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b'+' | b'@' | b',')
}

/// Words and short numbers, joined: `shop-database-2024`, `v1.2.3-rc1`, `ERC20Token`, `user@example.com`.
fn is_words(secret: &[u8]) -> bool {
    secret.split(|b| is_joint(*b)).all(|part| {
        let groups: Vec<&[u8]> = part.chunk_by(|a, b| !(a.is_ascii_digit() && b.is_ascii_alphabetic())).collect();
        groups.len() <= 2 && groups.iter().all(|group| is_word(group, groups.len() == 1))
    })
}

/// Letters as in a word, then a short number; or only a number.
fn is_word(text: &[u8], is_alone: bool) -> bool {
    let letters = text.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let (word, number) = text.split_at(letters);
    let is_short = word.len() <= 3 && (is_alone || word.len() == 3);
    let is_spoken = word.len() > 3 && word.iter().any(|b| b"aeiouyAEIOUY".contains(b)) && !alternates(word);
    let is_plain =
        is_alone || word.iter().skip(1).all(u8::is_ascii_lowercase) || word.iter().all(u8::is_ascii_uppercase);
    let is_number = number.iter().all(u8::is_ascii_digit) && (word.is_empty() || number.len() <= 5);
    is_number && (word.is_empty() || (is_short || is_spoken) && is_plain)
}

/// Capitals and small letters change places more often than in camel case.
fn alternates(word: &[u8]) -> bool {
    let changes = word.windows(2).filter(|pair| pair[0].is_ascii_lowercase() != pair[1].is_ascii_lowercase()).count();
    changes * 8 >= word.len() * 3
}

/// `Summer2024`
fn is_capitalized_word_with_digits(secret: &[u8]) -> bool {
    secret.first().is_some_and(u8::is_ascii_uppercase)
        && secret.iter().skip(1).all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && secret.last().is_some_and(u8::is_ascii_digit)
}

fn is_path(secret: &[u8]) -> bool {
    secret.iter().filter(|b| **b == b'/').count() >= 2 && secret.split(|b| *b == b'/').all(is_words)
}

/// `config.password2`, `Foo::bar_1`, `a->b`, `default=None`, `Optional[str]`, `get_password()`
fn is_code(secret: &[u8]) -> bool {
    ["::", "->", "=>"].iter().any(|sign| contains(secret, sign))
        || (secret.contains(&b'.') && is_dotted_name(secret))
        || is_named_argument(secret)
        || is_applied(secret)
}

/// Names that dots join.
fn is_dotted_name(text: &[u8]) -> bool {
    text.split(|b| *b == b'.').all(|part| {
        part.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
            && part.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
            && is_words(part)
    })
}

/// A name in small letters and a literal, a constant or what a module has: `x=None`, `x=UNSET`, `x=pathlib.Path`
fn is_named_argument(secret: &[u8]) -> bool {
    let Some(sign) = secret.iter().position(|b| *b == b'=') else { return false };
    let (name, value) = (&secret[..sign], &secret[sign + 1..]);
    let is_constant = || value.len() > 3 && value.iter().all(|b| b.is_ascii_uppercase() || *b == b'_');
    !name.is_empty()
        && name.iter().all(|b| b.is_ascii_lowercase() || *b == b'_')
        && (LITERALS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
            || is_constant()
            || value.contains(&b'.') && is_dotted_name(value))
}

/// A name and, in parentheses or brackets, nothing or names: `getpass.getpass()`, `Optional[str]`, `Option<String>`
fn is_applied(secret: &[u8]) -> bool {
    let Some(open) = secret.iter().position(|b| matches!(b, b'(' | b'[' | b'<')) else { return false };
    let close = match secret[open] {
        b'(' => b')',
        b'[' => b']',
        _ => b'>',
    };
    let inner = &secret[open + 1..];
    inner.ends_with(&[close])
        && is_dotted_name(&secret[..open])
        && inner
            .split(|b| matches!(b, b'(' | b')' | b'[' | b']' | b'<' | b'>' | b',' | b'|'))
            .all(|part| part.is_empty() || is_dotted_name(part))
}

fn contains(text: &[u8], word: &str) -> bool {
    let word = word.as_bytes();
    text.len() >= word.len() && text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_sequences_and_references_are_told_from_what_is_random() {
        for words in ["shop-database-2024", "user_password", "v1.2.3-rc1", "AwsSecretProvider", "ERC20Token"] {
            assert!(is_words(words.as_bytes()), "{words}");
        }
        for random in ["aB3dE5gH7jK9mN1p", "x7k2m9q4w1", "Tr0ub4dor"] {
            assert!(!is_words(random.as_bytes()), "{random}");
        }
        for sequence in ["1234567890abcdef1234567890abcdef", "ABCDEFGHIJKLMNOP"] {
            assert!(is_sequence(sequence.as_bytes()), "{sequence}");
        }
        for repeated in ["deadbeefdeadbeefdeadbeef", "00000000", "abababab"] {
            assert!(is_repeated(repeated.as_bytes()), "{repeated}");
        }
        for reference in ["$PASSWORD", "${DB_PASS}", "%DB_PASS%", "<password>", "{password}", "vault:kv/x"] {
            assert!(is_reference(reference.as_bytes()) || is_placeholder(reference.as_bytes()), "{reference}");
        }
        assert!(!is_reference(b"$tr0ng&Pa9") && !is_reference(b"<k9#aB3dE>"));
    }

    #[test]
    fn literals_types_and_calls_of_languages_are_code_and_passwords_with_signs_are_not() {
        for code in [
            "ensure=True",
            "default=None",
            "default=UNSET",
            "path_type=pathlib.Path",
            "self.password_2",
            "Optional[str]",
            "typing.Optional[builtins.str]",
            "Option<String>",
            "Dict[str,Any]",
            "getpass.getpass()",
            "load(name)",
            "<db-pass-2>",
        ] {
            assert!(is_code(code.as_bytes()) || is_reference(code.as_bytes()), "{code}");
        }
        for password in
            ["Tiger42=aB3", "k9=True", "Blue(42)", "x7[k2m9q4w1]", "tiger=9aB", "lemon=Zebra", "(orbit)9", "<k9#aB3dE>"]
        {
            assert!(!is_code(password.as_bytes()) && !is_reference(password.as_bytes()), "{password}");
        }
    }

    #[test]
    fn entropy_is_that_of_shannon() {
        assert!((entropy(b"aabb") - 1.0).abs() < 1e-6);
        assert!((entropy(b"abcdefgh") - 3.0).abs() < 1e-6);
        assert!(entropy(b"").abs() < 1e-6);
    }
}
