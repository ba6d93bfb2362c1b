//! People whom a question names. What somebody did stands in no text; another command tells it.

use std::collections::BTreeSet;

use backstory_model::text::truncate_echo;

use crate::{error::Result, repository::people::KnownPeople, resources::Resources, shell::argument_of_command};

/// Shortest part of a name by which somebody is known, in letters.
const MIN_PART: usize = 3;
/// Most people of whom a refusal tells.
const MAX_TOLD: usize = 3;

/// The names and user names of people.
pub(super) struct PeopleNames(Vec<String>);

impl PeopleNames {
    /// Those of the people whom the reader knows.
    ///
    /// # Errors
    /// A store failed.
    pub(super) fn load(resources: &Resources) -> Result<Self> {
        let people = KnownPeople::load(resources, &[])?;
        // Some use their address as a name.
        let names: BTreeSet<&str> =
            people.names().chain(people.user_names()).filter(|name| !name.contains('@')).collect();
        Ok(Self(names.into_iter().map(str::to_owned).collect()))
    }

    /// The first one whose name, or a part of it, a word is, in whatever case.
    pub(super) fn with_part(&self, word: &str) -> Option<&str> {
        let wanted = word.to_lowercase();
        if wanted.chars().count() < MIN_PART {
            return None;
        }
        let has_it = |name: &&String| name.to_lowercase() == wanted || parts_of(name).contains(&wanted);
        self.0.iter().find(has_it).map(String::as_str)
    }

    /// Those whose names of several parts a text has.
    fn named_in(&self, text: &str) -> Vec<&str> {
        let said = parts_of(text);
        let has_all = |name: &&String| {
            let parts = parts_of(name);
            parts.len() > 1 && said.windows(parts.len()).any(|some| some == parts)
        };
        self.0.iter().filter(has_all).map(String::as_str).collect()
    }
}

/// Says of the people whom a question names where it is told what they did.
///
/// # Errors
/// A store failed.
pub(super) fn describe_people(resources: &Resources, question: &str) -> Result<Vec<String>> {
    let names = PeopleNames::load(resources)?;
    let named = names.named_in(question).into_iter().take(MAX_TOLD);
    Ok(named.map(|name| describe_person(name, resources.settings().people.tracking)).collect())
}

/// Says where it is told what somebody did, if it is told at all.
pub(super) fn describe_person(name: &str, is_told: bool) -> String {
    let shown = truncate_echo(name);
    if !is_told {
        return format!("{shown} is the name of somebody");
    }
    format!("what {shown} did is told by 'backstory person{}'", argument_of_command(name))
}

/// The words of a name in lower case.
fn parts_of(name: &str) -> Vec<String> {
    let trimmed = name.split_whitespace().map(|part| part.trim_matches(|c: char| !c.is_alphanumeric()));
    trimmed.filter(|part| !part.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> PeopleNames {
        PeopleNames(["Kevin Deldycke", "jorenham", "Li Wu", "Zoë O'Brien"].map(str::to_owned).into())
    }

    #[test]
    fn a_word_is_a_name_or_a_part_of_one_in_any_case() {
        let names = names();
        for (word, name) in [
            ("Deldycke", "Kevin Deldycke"),
            ("kevin", "Kevin Deldycke"),
            ("Jorenham", "jorenham"),
            ("zoë", "Zoë O'Brien"),
        ] {
            assert_eq!(names.with_part(word), Some(name), "{word}");
        }
        for word in ["Kev", "joren", "Wu", ""] {
            assert_eq!(names.with_part(word), None, "{word}");
        }
    }

    #[test]
    fn a_question_names_somebody_by_the_whole_name() {
        let names = names();
        assert_eq!(names.named_in("How many commits has kevin deldycke?"), ["Kevin Deldycke"]);
        assert_eq!(names.named_in("Did Li Wu (or Zoë O'Brien) do it?"), ["Li Wu", "Zoë O'Brien"]);
        assert!(names.named_in("What did Kevin do, jorenham?").is_empty());
    }

    #[test]
    fn what_somebody_did_is_told_by_a_command_if_it_is_told() {
        for (name, command) in [("Li Wu", "backstory person \"Li Wu\""), ("Li $(reboot) Wu", "backstory person")] {
            assert_eq!(describe_person(name, true), format!("what {name} did is told by '{command}'"));
        }
        assert_eq!(describe_person("Li Wu", false), "Li Wu is the name of somebody");
    }
}
