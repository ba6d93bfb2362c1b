//! Reads the `.mailmap` of a commit; `model::people` parses it.

use backstory_model::{
    commit::{RepoPath, Sha},
    people::{MAX_MAILMAP, Mailmap},
};

use super::objects::{ObjectError, Objects};

/// Where the file is.
pub const PATH: &str = ".mailmap";

/// The `.mailmap` of a commit; an empty one if there is none, or if it is a symbolic link, which git does not follow.
/// What is not UTF-8 is replaced.
///
/// # Errors
/// If the commit is not there, or the file is larger than [`MAX_MAILMAP`].
pub fn read_mailmap_at(objects: &Objects, commit: Sha) -> Result<Mailmap, ObjectError> {
    Ok(Mailmap::parse(&read_mailmap_text_at(objects, commit)?))
}

/// The text of the `.mailmap` of a commit, as [`read_mailmap_at`] reads it.
///
/// # Errors
/// As [`read_mailmap_at`].
pub fn read_mailmap_text_at(objects: &Objects, commit: Sha) -> Result<String, ObjectError> {
    match objects.entry(commit, &RepoPath::from_escaped(PATH)) {
        Ok(entry) if entry.mode.is_file() => {
            let content = objects.blob(entry.id, MAX_MAILMAP as u64)?;
            Ok(String::from_utf8_lossy(&content).into_owned())
        }
        Ok(_) | Err(ObjectError::NoSuchPath { .. }) => Ok(String::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use backstory_model::commit::Signature;
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
    fn the_file_of_a_commit_is_read() {
        let mut origin = Fixture::new();
        let none = origin.commit_all("none");
        origin.write(".mailmap", "Ada <a@x> <b@x>\n");
        let some = origin.commit_all("some");
        let objects = Objects::open(&origin.git_dir()).unwrap();
        assert_eq!(read_mailmap_at(&objects, none).unwrap(), Mailmap::default());
        assert_eq!(resolve(&read_mailmap_at(&objects, some).unwrap(), "x", "b@x"), "Ada <a@x>");
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
            let map = Mailmap::parse(&content);
            let asked: Vec<(&str, &str)> = ["a", "B", "x"].iter().flat_map(|name| ["c", "D", "cd", "cC"].map(|email| (*name, email))).collect();
            let input: String = asked.iter().map(|(name, email)| format!("{name} <{email}>\n")).collect();
            let output = fixture.git_with(["check-mailmap", "--stdin"], input.as_bytes());
            let ours: String = asked.iter().map(|(name, email)| resolve(&map, name, email) + "\n").collect();
            prop_assert_eq!(ours, String::from_utf8(output).unwrap());
        }
    }
}
