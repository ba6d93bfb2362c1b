//! Finds people in texts: mentions, addresses with the names before them, and trailers of commit messages.

use super::{Aliases, alias_email};

/// Most words of a name before an address.
const WORDS: usize = 6;
/// How far before an address the beginning of its line is looked for, in bytes: a trailer is no longer.
const MAX_LINE: usize = 4096;
/// Keys of trailers that name people, in lower case, besides those that end in `-by`.
const KEYS: [&str; 4] = ["author", "cc", "from", "thanks-to"];

impl Aliases {
    /// A text with aliases for those whom it mentions, `@alice`, and for those whose address it gives; `None` if there are
    /// none. Lines stay lines.
    pub fn replace_text(&self, text: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let mut replaced = String::new();
        let mut done = 0;
        for (at, _) in text.match_indices('@') {
            if at < done {
                continue;
            }
            if let Some((from, to, with)) = self.address_at(text, done, at).or_else(|| self.mention_at(text, at)) {
                replaced.push_str(&text[done..from]);
                replaced.push_str(&with);
                done = to;
            }
        }
        (done > 0).then(|| replaced + &text[done..])
    }

    /// A message of a commit or tag in the same way, and with aliases where it says who reviewed, approved or merged.
    pub fn replace_message(&self, message: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let replaced = self.replace_text(message);
        let text = replaced.as_deref().unwrap_or(message);
        let mut changed = false;
        let lines: Vec<String> = text
            .split('\n')
            .map(|line| {
                let told = self.trailer(line).or_else(|| self.merged(line)).or_else(|| self.approval(line));
                changed |= told.is_some();
                told.unwrap_or_else(|| line.to_owned())
            })
            .collect();
        if changed { Some(lines.join("\n")) } else { replaced }
    }

    /// The name after an `@`, with its place.
    fn mention_at(&self, text: &str, at: usize) -> Option<(usize, usize, String)> {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')) {
            return None;
        }
        let rest = &text[at + 1..];
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))).unwrap_or(rest.len());
        // What ends a sentence may end the name too.
        let whole = &rest[..end];
        let trimmed = whole.trim_end_matches(['.', '-', '_']);
        let (length, alias) =
            [whole, trimmed].into_iter().find_map(|name| Some((name.len(), self.for_username(name)?)))?;
        Some((at + 1, at + 1 + length, alias.to_owned()))
    }

    /// The address around an `@`, with its place, and with the name before it if it is in angle brackets.
    fn address_at(&self, text: &str, after: usize, at: usize) -> Option<(usize, usize, String)> {
        let is_local = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-');
        let from = after + text[after..at].trim_end_matches(is_local).len();
        let host = &text[at + 1..];
        let end = host.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))).unwrap_or(host.len());
        let to = at + 1 + host[..end].trim_end_matches(['.', '-']).len();
        if from == at || to == at + 1 {
            return None;
        }
        let alias = self.for_email(&text[from..to])?;
        let address = alias_email(alias);
        let name = text[after..from].strip_suffix('<').filter(|_| text[to..].starts_with('>'));
        let begins = name.and_then(|_| self.name_before(&text[..from - 1], after));
        Some(match begins {
            Some(begins) => (begins, to, format!("{alias} <{address}")),
            None => (from, to, address),
        })
    }

    /// Where the name begins that a text ends in, behind what is done: in the value of a trailer all that stands after
    /// others, else the most words that are a known name.
    fn name_before(&self, text: &str, done: usize) -> Option<usize> {
        let near = text.floor_char_boundary(text.len().saturating_sub(MAX_LINE));
        let line = text[near..].rfind('\n').map_or(near, |at| near + at + 1);
        let name = text.trim_end();
        let begins = match text.get(line..name.len()).and_then(value_of) {
            Some(value) => name.len() - last_name(value).len(),
            None => {
                let words = name[line.max(done).min(name.len())..].split_inclusive(char::is_whitespace).rev();
                let begins = words.take(WORDS).scan(name.len(), |begins, word| {
                    *begins -= word.len();
                    Some(*begins)
                });
                begins.filter(|begins| self.of_name(&name[*begins..]).is_some()).last()?
            }
        };
        (done..name.len()).contains(&begins).then_some(begins)
    }

    /// `Reviewed-by: Alice Ng`, also of several.
    fn trailer(&self, line: &str) -> Option<String> {
        let value = value_of(line)?;
        let mut changed = false;
        let told: Vec<String> = value
            .split(", ")
            .map(|one| {
                let (name, address) = one.split_once('<').unwrap_or((one, ""));
                let name = name.trim().trim_start_matches('@');
                let alias = self.for_username(name).or_else(|| self.of_name(name));
                changed |= alias.is_some();
                match (alias, address.split_once('>')) {
                    (Some(alias), Some((_, rest))) => format!("{alias} <{}>{rest}", alias_email(alias)),
                    (Some(alias), None) => alias.to_owned(),
                    (None, _) => one.to_owned(),
                }
            })
            .collect();
        changed.then(|| format!("{}{}", &line[..line.len() - value.len()], told.join(", ")))
    }

    /// `Merge pull request #12 from alice/cart`
    fn merged(&self, line: &str) -> Option<String> {
        let at = line.find(" from ").filter(|_| line.starts_with("Merge "))? + " from ".len();
        let (user, branch) = line[at..].split_once('/')?;
        Some(format!("{}{}/{branch}", &line[..at], self.for_username(user)?))
    }

    /// `  alice:`, before what she said.
    fn approval(&self, line: &str) -> Option<String> {
        let name = line.strip_prefix("  ")?.trim_end().strip_suffix(':')?;
        Some(format!("  {}:", self.for_username(name)?))
    }
}

/// The last name of a list, which may be quoted.
fn last_name(list: &str) -> &str {
    if let Some(quoted) = list.strip_suffix('"') {
        return &list[quoted.rfind('"').unwrap_or(0)..];
    }
    list.rsplit(['>', ',', ';']).next().unwrap_or_default().trim_start()
}

/// The value of a trailer that names people.
fn value_of(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    let key = key.to_ascii_lowercase();
    (key.ends_with("-by") && !key.contains(' ') || KEYS.contains(&key.as_str())).then(|| value.trim_start())
}
