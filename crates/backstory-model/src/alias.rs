//! Names that replace those of forgotten people, in payloads, commits and texts.
//!
//! Only keyed hashes of user name, addresses and names are kept, all with one alias. The ledger applies aliases to
//! whatever is ingested (`store::ledger::aliases`), and `Engine::clean_text` to whatever is read from clones, so that
//! no way of reading brings a name back. The address of an alias has the form of those that forges make of user names.
//! People are merged by that form, so commits stay with the profile.

mod text;

use std::collections::BTreeMap;

use ring::hmac;
use serde_json::{Map, Value, json};

use crate::{
    entity::ItemKind,
    people::{ALIAS_HOST, full_name, noreply},
};

/// What every alias begins with.
pub const ALIAS_PREFIX: &str = "forgotten-";
/// Hex digits of the hash in an alias.
const DIGITS: usize = 8;
/// Characters of the shortest word of a name that is looked for among the words of a diff.
const SHORTEST_WORD: usize = 3;
/// Longest user name, name or address that is looked for, in bytes.
const LONGEST: usize = 255;
/// Where user names stand alone: who wrote what an answer cites, and those who approved a merge request. Any other text may
/// be the same word by chance.
const USERNAMES: [&str; 2] = ["author", "approved_by"];

/// Aliases by keyed hash, and the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases {
    key: Vec<u8>,
    by_hash: BTreeMap<String, String>,
}

/// What a person is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonNames {
    /// User name at the forge, or the address by which commits know them.
    pub id: String,
    /// E-mail addresses, theirs alone.
    pub addresses: Vec<String>,
    /// Names, theirs alone.
    pub names: Vec<String>,
}

impl PersonNames {
    /// The hashes of all of them, that of the id first.
    pub fn hashes(&self, key: &[u8]) -> Vec<String> {
        let texts = [&self.id].into_iter().chain(&self.addresses).map(|text| hash_identifier(key, text.trim()));
        let words = self.names.iter().flat_map(|name| name.split_whitespace()).filter(|word| is_long(word));
        let words = words.map(|word| hash_identifier(key, &as_word(word)));
        texts.chain(self.names.iter().map(|name| hash_identifier(key, &told_apart(name)))).chain(words).collect()
    }
}

/// HMAC-SHA-256 of a user name or address in lower case, 64 hex digits.
pub fn hash_identifier(key: &[u8], username: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hex::encode(hmac::sign(&key, username.to_lowercase().as_bytes()))
}

/// The alias for a hash.
pub fn alias_from_hash(hash: &str) -> String {
    format!("{ALIAS_PREFIX}{}", hash.get(..DIGITS).unwrap_or(hash))
}

/// The e-mail address of an alias.
pub fn alias_email(alias: &str) -> String {
    format!("{alias}@{ALIAS_HOST}")
}

/// A name as it is hashed: neither a user name nor an address has a space.
fn told_apart(name: &str) -> String {
    format!("name {}", name.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A word of a name as it is hashed.
fn as_word(word: &str) -> String {
    format!("word {word}")
}

fn is_long(word: &str) -> bool {
    word.chars().count() >= SHORTEST_WORD
}

impl Aliases {
    /// Those for these hashes, made with a key.
    pub fn new(key: Vec<u8>, by_hash: BTreeMap<String, String>) -> Self {
        Self { key, by_hash }
    }

    /// Whether nobody has one.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// The alias of a user name.
    pub fn for_username(&self, username: &str) -> Option<&str> {
        if self.is_empty() || username.is_empty() || username.len() > LONGEST {
            return None;
        }
        self.by_hash.get(&hash_identifier(&self.key, username)).map(String::as_str)
    }

    /// The alias of whom an e-mail address is of, also one that a forge made of the user name.
    pub fn for_email(&self, address: &str) -> Option<&str> {
        let address = address.trim();
        self.for_username(address).or_else(|| self.for_username(noreply(&address.to_lowercase())?.1))
    }

    /// The alias of the only one who has a name.
    fn of_name(&self, name: &str) -> Option<&str> {
        if name.len() > LONGEST { None } else { self.for_username(&told_apart(name)) }
    }

    /// The alias of whom the name and address of a commit are of. One word is a name of many.
    pub fn for_signature(&self, name: &str, address: &str) -> Option<&str> {
        self.for_email(address).or_else(|| full_name(name).and_then(|_| self.of_name(name)))
    }

    /// Replaces people in the payload of an item as it is stored. Says how many that were. Doing it again changes nothing.
    pub fn replace_in_item(&self, kind: ItemKind, json: &mut Value) -> u64 {
        match kind {
            ItemKind::Identity => self.replace_identity(json),
            kind if kind.comes_from_git() => self.replace_in(json, false),
            _ => self.replace(json),
        }
    }

    /// Replaces people wherever a forge names them: profiles and references by all that they are, user names that stand
    /// alone where nothing else stands, names and addresses of commits, and mentions and addresses in texts. Says how many
    /// that were. Doing it again changes nothing.
    pub fn replace(&self, json: &mut Value) -> u64 {
        self.replace_in(json, true)
    }

    fn replace_in(&self, json: &mut Value, names: bool) -> u64 {
        if self.is_empty() {
            return 0;
        }
        match json {
            Value::String(text) => {
                let alone = full_name(text).and_then(|_| self.of_name(text)).map(str::to_owned);
                replace_with(text, |text| alone.or_else(|| self.replace_text(text)))
            }
            Value::Array(values) => values.iter_mut().map(|value| self.replace_in(value, names)).sum(),
            Value::Object(map) => {
                for name in ["username", "login"] {
                    let alias = map.get(name).and_then(Value::as_str).and_then(|username| self.for_username(username));
                    if let Some(alias) = alias.filter(|_| names) {
                        let known = map.contains_key("name").then_some(alias);
                        *json = person(name, alias, known);
                        return 1;
                    }
                }
                let signed = self.replace_signature(map);
                let inner = map.iter_mut().map(|(name, value)| match (name.as_str(), value) {
                    ("message", Value::String(text)) => replace_with(text, |text| self.replace_message(text)),
                    ("identifiers", Value::Array(words)) => self.leave_out(words),
                    // No text.
                    ("removed_words" | "removed_words_and_edges", _) => 0,
                    (name, value) if names && USERNAMES.contains(&name) => self.replace_usernames(value),
                    (_, value) => self.replace_in(value, names),
                });
                signed + inner.sum::<u64>()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Replaces a user name, or those of a list.
    fn replace_usernames(&self, json: &mut Value) -> u64 {
        if let Value::Array(values) = json {
            return values.iter_mut().map(|value| self.replace_usernames(value)).sum();
        }
        let Some(alias) = json.as_str().and_then(|username| self.for_username(username)) else {
            return self.replace_in(json, true);
        };
        *json = json!(alias);
        1
    }

    /// Takes words of names out of those that a commit touches; which of them stood together is not known any more.
    fn leave_out(&self, words: &mut Vec<Value>) -> u64 {
        let before = words.len();
        words.retain(|word| {
            let word = word["name"].as_str().unwrap_or_default();
            !is_long(word) || (self.for_username(word).is_none() && self.for_username(&as_word(word)).is_none())
        });
        (before - words.len()) as u64
    }

    /// Who wrote a commit, who made it, who tagged it.
    fn replace_signature(&self, map: &mut Map<String, Value>) -> u64 {
        let text = |name: &str| map.get(name).and_then(Value::as_str);
        let (Some(name), Some(email)) = (text("name"), text("email")) else { return 0 };
        let Some(alias) = self.for_signature(name, email).map(str::to_owned) else { return 0 };
        map.insert("email".to_owned(), json!(alias_email(&alias)));
        map.insert("name".to_owned(), json!(alias));
        1
    }

    /// A person as commits know them: the whole, or names that are somebody else's.
    fn replace_identity(&self, json: &mut Value) -> u64 {
        let names: Vec<String> =
            json["names"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let of_names = |name: &String| full_name(name).and_then(|_| self.of_name(name));
        let others: Vec<&String> = names.iter().filter(|name| of_names(name).is_none()).collect();
        let whole = json["key"].as_str().and_then(|key| self.for_email(key));
        let whole = whole.or_else(|| names.iter().find_map(of_names).filter(|_| others.is_empty()));
        if let Some(alias) = whole {
            *json = json!({ "key": alias_email(alias), "names": [alias] });
            return 1;
        }
        if others.len() == names.len() {
            return 0;
        }
        json["names"] = json!(others);
        1
    }
}

/// Replaces a text; how often.
fn replace_with(text: &mut String, replaced: impl FnOnce(&str) -> Option<String>) -> u64 {
    match replaced(text) {
        Some(replaced) => {
            *text = replaced;
            1
        }
        None => 0,
    }
}

/// A reference to a person, or a profile, with nothing of theirs: the number follows from the alias.
fn person(key: &str, alias: &str, name: Option<&str>) -> Value {
    let digits = alias.strip_prefix(ALIAS_PREFIX).unwrap_or_default();
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
        let hash = hash_identifier(&key, "alice");
        let alias = alias_from_hash(&hash);
        (Aliases::new(key, [(hash, alias.clone())].into()), alias)
    }

    #[test]
    fn the_hash_is_the_standard_one() {
        // RFC 4231, test case 2, whose text is in lower case.
        assert_eq!(
            hash_identifier(b"Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        // A key as ledgers have it.
        assert_eq!(
            hash_identifier(&[7; 32], "\u{c4}rne@example.com"),
            "d1a49ad01b4036799d672f4c0431abc62ee40ebd1914907fe931f931b6b89426"
        );
    }

    #[test]
    fn names_go_where_they_stand_alone_or_are_mentioned() {
        let (aliases, alias) = aliases();
        let mut json = json!({
            "author": {"id": 13, "username": "Alice", "web_url": "https://x/alice"}, "approved_by": ["alice", "bob"],
            "body": "@alice, ask @alice-b. cc (@ALICE). mail@alice.example is none, alice neither", "title": "about alice",
            "state": "alice", "labels": ["alice", {"name": "alice"}], "source_branch": "Alice",
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
        assert_eq!((&json["state"], &json["source_branch"]), (&json!("alice"), &json!("Alice")));
        assert_eq!(json["labels"], json!(["alice", {"name": "alice"}]));
        let once = json.clone();
        assert_eq!(aliases.replace(&mut json), 0);
        assert_eq!(json, once);
    }

    /// Those of Alice, also as commits know her.
    fn known() -> (Aliases, String) {
        let names = PersonNames {
            id: "alice".to_owned(),
            addresses: vec!["Alice@example.com".to_owned()],
            names: vec!["Alice Ng".to_owned()],
        };
        let hashes = names.hashes(b"a key");
        let alias = alias_from_hash(&hashes[0]);
        let by_hash = hashes.into_iter().map(|hash| (hash, alias.clone())).collect();
        (Aliases::new(b"a key".to_vec(), by_hash), alias)
    }

    #[test]
    fn commits_get_other_authors() {
        let (aliases, alias) = known();
        let address = alias_email(&alias);
        let mut json = json!({"author": {"name": "al", "email": "alice@Example.com", "at": "2024"},
            "committer": {"name": "Alice  NG", "email": "new@example.com"}, "tagger": {"name": "alice", "email": "x@y"},
            "identifiers": [{"name": "Alice", "count": 2}, {"name": "Ng", "count": 1}, {"name": "total", "count": 1}],
            "message": "Fix\n\nas @alice said, mail alice@example.com, not malice@example.com.au\n\nReviewed-by: Alice Ng\n\
                        Co-authored-by: Al <alice@example.com>\nSigned-off-by: Bob <bob@example.com>\nAcked-by: alice, Bob"});
        let mut replaced = aliases.clone().replace_in_item(ItemKind::Commit, &mut json);
        assert_eq!(replaced, 4);
        assert_eq!(json["author"], json!({"name": alias, "email": address, "at": "2024"}));
        assert_eq!(json["committer"], json!({"name": alias, "email": address}));
        assert_eq!(json["tagger"]["name"], "alice");
        assert_eq!(json["identifiers"], json!([{"name": "Ng", "count": 1}, {"name": "total", "count": 1}]));
        let expected = format!(
            "Fix\n\nas @{alias} said, mail {address}, not malice@example.com.au\n\nReviewed-by: {alias}\n\
             Co-authored-by: {alias} <{address}>\nSigned-off-by: Bob <bob@example.com>\nAcked-by: {alias}, Bob"
        );
        assert_eq!(json["message"], expected);
        replaced = aliases.replace_in_item(ItemKind::Commit, &mut json);
        assert_eq!(replaced, 0);
    }

    #[test]
    fn merges_and_approvals_name_people_too() {
        let (aliases, alias) = known();
        let said =
            "Merge pull request #12 from alice/cart\n\nby alice\n\nACKs for top commit:\n  alice:\n    ACK 1234567\n";
        let expected = format!(
            "Merge pull request #12 from {alias}/cart\n\nby alice\n\nACKs for top commit:\n  {alias}:\n    ACK 1234567\n"
        );
        assert_eq!(aliases.replace_message(said), Some(expected));
        let text = "written by Alice Ng <alice@example.com> and 12+alice@users.noreply.github.com";
        let address = alias_email(&alias);
        assert_eq!(aliases.replace_text(text), Some(format!("written by {alias} <{address}> and {address}")));
    }

    #[test]
    fn those_who_are_named_beside_somebody_stay() {
        let (aliases, alias) = known();
        let address = alias_email(&alias);
        for (said, expected) in [
            ("Cc: Bob <bob@x.org>, Al Ng <alice@example.com>", format!("Cc: Bob <bob@x.org>, {alias} <{address}>")),
            ("Cc: Bob; Al Ng <alice@example.com>, Eve", format!("Cc: Bob; {alias} <{address}>, Eve")),
            ("Cc: A <alice@example.com>, Al <alice@example.com>", {
                format!("Cc: {alias} <{address}>, {alias} <{address}>")
            }),
            ("Cc: \"Ng, Alice\" <alice@example.com>", format!("Cc: {alias} <{address}>")),
            ("Cc: <alice@example.com>, Bob <bob@x.org>", format!("Cc: <{address}>, Bob <bob@x.org>")),
        ] {
            assert_eq!(aliases.replace_text(said).as_deref(), Some(expected.as_str()), "{said}");
            assert_eq!(aliases.replace_message(said).as_deref(), Some(expected.as_str()), "{said}");
        }
        let said = "Acked-by: Alice Ng <new@example.com> (the docs); Bob <bob@x.org>";
        let expected = format!("Acked-by: {alias} <{address}> (the docs); Bob <bob@x.org>");
        assert_eq!(aliases.replace_message(said), Some(expected));
    }

    #[test]
    fn identities_become_one() {
        let (aliases, alias) = known();
        let expected = json!({"key": alias_email(&alias), "names": [alias]});
        for (key, names) in [("alice@example.com", &["Al"][..]), ("new@example.com", &["Alice Ng"])] {
            let mut json = json!({"key": key, "names": names, "same_as": "alice"});
            assert_eq!(aliases.replace_in_item(ItemKind::Identity, &mut json), 1);
            assert_eq!(json, expected);
            assert_eq!(aliases.replace_in_item(ItemKind::Identity, &mut json), 0);
        }
        let mut json = json!({"key": "both@example.com", "names": ["Alice Ng", "Bob"]});
        assert_eq!(aliases.replace_in_item(ItemKind::Identity, &mut json), 1);
        assert_eq!(json["names"], json!(["Bob"]));
    }
}
