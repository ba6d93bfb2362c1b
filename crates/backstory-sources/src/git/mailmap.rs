//! Names and addresses that people want instead of those in their commits: git's `.mailmap`.

use std::collections::HashMap;

use backstory_model::commit::{RepoPath, Sha, Signature};

use super::objects::{ObjectError, Objects};

/// Largest `.mailmap` that is read, in bytes.
pub const MAX_MAILMAP: usize = 4 << 20;

/// What stands in place of a name and an address; `None` leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Better {
    name: Option<String>,
    email: Option<String>,
}

/// What an address in a commit stands for: whoever uses it, and by name those for whom it is something else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    anybody: Better,
    named: HashMap<String, Better>,
}

/// A mailmap. Case does not matter in what it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mailmap {
    entries: HashMap<String, Entry>,
}

impl Mailmap {
    /// Reads the content of a `.mailmap`. Lines that are wrong are passed over, as git does; what is not UTF-8 is
    /// replaced, and what comes after [`MAX_MAILMAP`] is not read.
    pub fn parse(content: &[u8]) -> Self {
        let mut map = Self::default();
        let text = String::from_utf8_lossy(&content[..content.len().min(MAX_MAILMAP)]);
        for line in text.split('\n').filter(|line| !line.starts_with('#')) {
            let Some((name, email, rest)) = person(line, 1) else { continue };
            let better = |email| Better { name: name.map(str::to_owned), email };
            match person(rest, 0) {
                None => map.add(None, email, better(None)),
                Some((old_name, old_email, _)) => map.add(old_name, old_email, better(Some(email.to_owned()))),
            }
        }
        map
    }

    /// The `.mailmap` of a commit; an empty one if there is none, or if it is a symbolic link, which git does not follow.
    ///
    /// # Errors
    /// If the commit is not there, or the file is larger than [`MAX_MAILMAP`].
    pub fn at(objects: &Objects, commit: Sha) -> Result<Self, ObjectError> {
        match objects.entry(commit, &RepoPath::from_printed(".mailmap")) {
            Ok(entry) if entry.mode.is_file() => Ok(Self::parse(&objects.blob(entry.id, MAX_MAILMAP as u64)?)),
            Ok(_) | Err(ObjectError::NoSuchPath { .. }) => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn add(&mut self, name: Option<&str>, email: &str, better: Better) {
        let entry = self.entries.entry(email.to_ascii_lowercase()).or_default();
        match name {
            Some(name) => drop(entry.named.insert(name.to_ascii_lowercase(), better)),
            None => {
                let Better { name, email } = better;
                entry.anybody.name = name.or(entry.anybody.name.take());
                entry.anybody.email = email.or(entry.anybody.email.take());
            }
        }
    }

    /// Puts name and address in place of those of the signature, if the map has others for them.
    pub fn apply(&self, signature: &mut Signature) {
        let Some(entry) = self.entries.get(&signature.email.to_ascii_lowercase()) else { return };
        let named = entry.named.get(&signature.name.to_ascii_lowercase());
        let better = named.unwrap_or(&entry.anybody);
        if let Some(name) = &better.name {
            signature.name.clone_from(name);
        }
        if let Some(email) = &better.email {
            signature.email.clone_from(email);
        }
    }
}

/// `Name <email>` at the start of a text, and what follows. The address has at least the given length.
fn person(text: &str, shortest: usize) -> Option<(Option<&str>, &str, &str)> {
    let (name, rest) = text.split_once('<')?;
    let (email, rest) = rest.split_once('>')?;
    let name = name.trim_matches(|c: char| c.is_ascii_whitespace());
    (email.len() >= shortest).then_some((Some(name).filter(|name| !name.is_empty()), email, rest))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;
    use crate::git::fixture::Fixture;

    fn resolve(map: &Mailmap, name: &str, email: &str) -> String {
        let mut signature =
            Signature { name: name.to_owned(), email: email.to_owned(), at: Timestamp::UNIX_EPOCH, offset_minutes: 0 };
        map.apply(&mut signature);
        format!("{} <{}>", signature.name, signature.email)
    }

    #[test]
    fn the_four_forms_of_a_line() {
        let map = Mailmap::parse(
            b"# comment\nAda Lovelace <ada@x>\n<new@x> <old@x>\nCharles Babbage <cb@x> <charles@y>\n\
              Grace Hopper <grace@x> root <root@localhost>\nno address\n<>\n",
        );
        for (name, email, expected) in [
            ("ada", "ADA@x", "Ada Lovelace <ADA@x>"),
            ("Joe", "old@x", "Joe <new@x>"),
            ("cb", "charles@y", "Charles Babbage <cb@x>"),
            ("Root", "root@localhost", "Grace Hopper <grace@x>"),
            ("other", "root@localhost", "other <root@localhost>"),
            ("x", "y", "x <y>"),
        ] {
            assert_eq!(resolve(&map, name, email), expected);
        }
    }

    #[test]
    fn the_file_of_a_commit_is_read() {
        let mut origin = Fixture::new();
        let none = origin.commit("none");
        origin.write(".mailmap", "Ada <a@x> <b@x>\n");
        let some = origin.commit("some");
        let objects = Objects::open(&origin.git_dir()).unwrap();
        assert_eq!(Mailmap::at(&objects, none).unwrap(), Mailmap::default());
        assert_eq!(resolve(&Mailmap::at(&objects, some).unwrap(), "x", "b@x"), "Ada <a@x>");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn answers_are_those_of_git(
            lines in proptest::collection::vec("(#|)([ab]{0,2}|A B) ?<[cCd]{0,2}>( ?([aB]{0,1}) ?<[cd]{0,2}>|) ?", 0..6),
        ) {
            let fixture = Fixture::new();
            let content = lines.join("\n") + "\n";
            fixture.write(".mailmap", &content);
            let map = Mailmap::parse(content.as_bytes());
            let asked: Vec<(&str, &str)> = ["a", "B", "x"].iter().flat_map(|name| ["c", "D", "cd", "cC"].map(|email| (*name, email))).collect();
            let input: String = asked.iter().map(|(name, email)| format!("{name} <{email}>\n")).collect();
            let output = fixture.git_with(["check-mailmap", "--stdin"], input.as_bytes());
            let ours: String = asked.iter().map(|(name, email)| resolve(&map, name, email) + "\n").collect();
            prop_assert_eq!(ours, String::from_utf8(output).unwrap());
        }
    }
}
