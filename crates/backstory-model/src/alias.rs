//! Names that stand in the place of those of people who want to be forgotten. Who they are is known by keyed hashes alone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::digest::{hex, sha256};

/// What every alias begins with.
pub const PREFIX: &str = "forgotten-";
/// Hex digits of the hash in an alias.
const DIGITS: usize = 8;
/// Block of SHA-256, in bytes.
const BLOCK: usize = 64;
/// Longest user name that is looked for, in bytes.
const LONGEST: usize = 255;

/// Aliases by keyed hash, and the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases {
    key: Vec<u8>,
    by_hash: BTreeMap<String, String>,
}

/// HMAC-SHA-256 of a user name in lower case, 64 hex digits.
pub fn hash_of(key: &[u8], username: &str) -> String {
    let mut block = [0; BLOCK];
    for (byte, of_key) in block.iter_mut().zip(key) {
        *byte = *of_key;
    }
    let mixed = |with: u8, text: &[u8]| sha256(&[&block.map(|byte| byte ^ with), text].concat());
    hex(&mixed(0x5c, &mixed(0x36, username.to_lowercase().as_bytes())))
}

/// The alias for a hash.
pub fn alias_of(hash: &str) -> String {
    format!("{PREFIX}{}", hash.get(..DIGITS).unwrap_or(hash))
}

impl Aliases {
    /// Those for these hashes, made with a key of at most 64 bytes.
    pub fn new(key: Vec<u8>, by_hash: BTreeMap<String, String>) -> Self {
        Self { key, by_hash }
    }

    /// Whether nobody has one.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// The alias of a user name.
    pub fn of(&self, username: &str) -> Option<&str> {
        if self.is_empty() || username.is_empty() || username.len() > LONGEST {
            return None;
        }
        self.by_hash.get(&hash_of(&self.key, username)).map(String::as_str)
    }

    /// Replaces people wherever a forge names them: profiles and references by all that they are, user names that stand
    /// alone, and mentions in texts. Says how many that were. Doing it again changes nothing.
    pub fn replace(&self, json: &mut Value) -> u64 {
        self.replace_in(json, true)
    }

    /// Replaces mentions in texts alone, as `@alice`.
    pub fn replace_mentions(&self, json: &mut Value) -> u64 {
        self.replace_in(json, false)
    }

    fn replace_in(&self, json: &mut Value, names: bool) -> u64 {
        if self.is_empty() {
            return 0;
        }
        match json {
            Value::String(text) => {
                let alone = self.of(text).filter(|_| names && !text.contains(' ')).map(str::to_owned);
                match alone.or_else(|| self.replace_text(text)) {
                    Some(replaced) => {
                        *text = replaced;
                        1
                    }
                    None => 0,
                }
            }
            Value::Array(values) => values.iter_mut().map(|value| self.replace_in(value, names)).sum(),
            Value::Object(map) => {
                for name in ["username", "login"] {
                    let alias = map.get(name).and_then(Value::as_str).and_then(|username| self.of(username));
                    if let Some(alias) = alias.filter(|_| names) {
                        let known = map.contains_key("name").then_some(alias);
                        *json = person(name, alias, known);
                        return 1;
                    }
                }
                map.values_mut().map(|value| self.replace_in(value, names)).sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// A text with aliases for those whom it mentions; `None` if it mentions none of them.
    pub fn replace_text(&self, text: &str) -> Option<String> {
        let mut replaced = String::new();
        let mut done = 0;
        for (at, _) in text.match_indices('@') {
            let before = text[..at].chars().next_back();
            if at < done || before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')) {
                continue;
            }
            let rest = &text[at + 1..];
            let end =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))).unwrap_or(rest.len());
            // What ends a sentence may end the name too.
            let whole = &rest[..end];
            let trimmed = whole.trim_end_matches(['.', '-', '_']);
            let found = [whole, trimmed].into_iter().find_map(|name| Some((name.len(), self.of(name)?)));
            if let Some((length, alias)) = found {
                replaced.push_str(&text[done..=at]);
                replaced.push_str(alias);
                done = at + 1 + length;
            }
        }
        (done > 0).then(|| replaced + &text[done..])
    }
}

/// A reference to a person, or a profile, with nothing of theirs: the number follows from the alias.
fn person(key: &str, alias: &str, name: Option<&str>) -> Value {
    let digits = alias.strip_prefix(PREFIX).unwrap_or_default();
    let mut person = json!({ "id": u64::from_str_radix(digits, 16).unwrap_or(0), key: alias });
    if let Some(name) = name {
        person["name"] = json!(name);
    }
    person.sort_all_objects();
    person
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases() -> (Aliases, String) {
        let key = b"a key".to_vec();
        let hash = hash_of(&key, "alice");
        let alias = alias_of(&hash);
        (Aliases::new(key, [(hash, alias.clone())].into()), alias)
    }

    #[test]
    fn the_hash_is_the_standard_one() {
        // RFC 4231, test case 2, whose text is in lower case.
        assert_eq!(
            hash_of(b"Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn names_go_where_they_stand_alone_or_are_mentioned() {
        let (aliases, alias) = aliases();
        let mut json = json!({
            "author": {"id": 13, "username": "Alice", "web_url": "https://x/alice"}, "approved_by": ["alice", "bob"],
            "body": "@alice, ask @alice-b. cc (@ALICE). mail@alice.example is none, alice neither", "title": "about alice",
        });
        assert_eq!(aliases.replace(&mut json), 3);
        assert_eq!(json["author"]["username"], alias.as_str());
        assert_eq!(json["author"].as_object().unwrap().len(), 2);
        assert_eq!(json["approved_by"], json!([alias, "bob"]));
        assert_eq!(
            json["body"],
            format!("@{alias}, ask @alice-b. cc (@{alias}). mail@alice.example is none, alice neither")
        );
        assert_eq!(json["title"], "about alice");
        let once = json.clone();
        assert_eq!(aliases.replace(&mut json), 0);
        assert_eq!(json, once);
    }

    #[test]
    fn commits_keep_their_authors() {
        let (aliases, alias) = aliases();
        let mut json = json!({"author": {"name": "alice"}, "message": "as @alice said"});
        assert_eq!(aliases.replace_mentions(&mut json), 1);
        assert_eq!(json, json!({"author": {"name": "alice"}, "message": format!("as @{alias} said")}));
    }
}
