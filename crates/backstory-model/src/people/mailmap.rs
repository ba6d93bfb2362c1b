//! Parses `.mailmap` files as git does.

use std::collections::{BTreeMap, BTreeSet};

use crate::commit::Signature;

/// Largest file that is read, in bytes.
pub const MAX_MAILMAP: usize = 1 << 20;

/// Who a name and an e-mail address of a commit stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Proper {
    name: Option<String>,
    email: Option<String>,
}

/// What a file says of one e-mail address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    any_name: Proper,
    /// By name in lower case.
    by_name: BTreeMap<String, Proper>,
}

/// A parsed `.mailmap`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mailmap {
    /// By e-mail address in lower case.
    entries: BTreeMap<String, Entry>,
}

impl Mailmap {
    /// Reads the four forms of a line:
    ///
    /// ```text
    /// Proper Name <commit@email>
    /// <proper@email> <commit@email>
    /// Proper Name <proper@email> <commit@email>
    /// Proper Name <proper@email> Commit Name <commit@email>
    /// ```
    ///
    /// Other lines, and lines that begin with `#`, say nothing; a later line overrides an earlier one.
    pub fn parse(text: &str) -> Self {
        let mut mailmap = Self::default();
        mailmap.add(text);
        mailmap
    }

    /// Adds the lines of another file, as if they followed.
    pub fn add(&mut self, text: &str) {
        text.split('\n').for_each(|line| self.line(line));
    }

    fn line(&mut self, line: &str) {
        if line.starts_with('#') {
            return;
        }
        let Some((name, email, rest)) = name_and_email(line).filter(|(_, email, _)| !email.is_empty()) else { return };
        let second = name_and_email(rest);
        let (proper_email, commit_name, commit_email) = match second {
            Some((commit_name, commit_email, _)) => (Some(email), commit_name, commit_email),
            None => (None, None, email),
        };
        let entry = self.entries.entry(commit_email.to_ascii_lowercase()).or_default();
        let name = name.map(str::to_owned);
        let email = proper_email.map(str::to_owned);
        match commit_name {
            Some(commit_name) => {
                entry.by_name.insert(commit_name.to_ascii_lowercase(), Proper { name, email });
            }
            None => {
                entry.any_name.name = name.or(entry.any_name.name.take());
                entry.any_name.email = email.or(entry.any_name.email.take());
            }
        }
    }

    /// Whether the file has a line for this address that holds for this name only.
    pub fn divides(&self, name: &str, email: &str) -> bool {
        let entry = self.entries.get(&email.to_ascii_lowercase());
        entry.is_some_and(|entry| entry.by_name.contains_key(&name.to_ascii_lowercase()))
    }

    /// The proper name and e-mail address of those of a commit; the same ones where the file says nothing. Neither case
    /// matters to git.
    pub fn resolve<'a>(&'a self, name: &'a str, email: &'a str) -> (&'a str, &'a str) {
        let Some(entry) = self.entries.get(&email.to_ascii_lowercase()) else { return (name, email) };
        let proper = entry.by_name.get(&name.to_ascii_lowercase()).unwrap_or(&entry.any_name);
        (proper.name.as_deref().unwrap_or(name), proper.email.as_deref().unwrap_or(email))
    }

    /// The e-mail addresses, in lower case, that the file gives to whom one of these addresses is of.
    pub fn addresses_with(&self, known: &BTreeSet<String>) -> BTreeSet<String> {
        let mut found = known.clone();
        for (email, entry) in &self.entries {
            let proper = [&entry.any_name].into_iter().chain(entry.by_name.values());
            let proper: Vec<String> =
                proper.filter_map(|proper| proper.email.as_ref()).map(|email| email.to_ascii_lowercase()).collect();
            // An address that is divided by names says of none of them whose it is.
            if known.contains(email) && entry.by_name.is_empty() {
                found.extend(proper.iter().cloned());
            }
            if proper.iter().any(|email| known.contains(email)) && entry.by_name.is_empty() {
                found.insert(email.clone());
            }
        }
        found
    }

    /// Puts the proper name and e-mail address in place of those of a signature.
    pub fn apply(&self, signature: &mut Signature) {
        let (name, email) = self.resolve(&signature.name, &signature.email);
        let (name, email) = (name.to_owned(), email.to_owned());
        (signature.name, signature.email) = (name, email);
    }
}

/// A name, the e-mail address after it in angle brackets, and what follows.
fn name_and_email(text: &str) -> Option<(Option<&str>, &str, &str)> {
    let (name, rest) = text.split_once('<')?;
    let (email, rest) = rest.split_once('>')?;
    let name = name.trim_matches(|c: char| c.is_ascii_whitespace());
    Some((Some(name).filter(|name| !name.is_empty()), email, rest))
}
