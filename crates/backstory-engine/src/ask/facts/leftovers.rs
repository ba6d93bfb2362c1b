//! What the commit that says that it removed a name of code left of it: it may have taken it from one function only.

use backstory_model::{
    change_question::{ChangeDirection, ChangeQuestion},
    code::FileKind,
    file_role::{FileRole, file_role},
    id::NodeId,
};
use backstory_sources::code::detect;

use super::{
    MadeChange,
    declared::{mentions, without_texts},
    merged_as,
};
use crate::{
    clones::{MAX_TEXT, open_objects},
    error::Result,
    records::commit_record,
    resources::Resources,
};

/// Most bytes of sources that are read for one question.
pub(super) const MAX_SOURCES: usize = 10 << 20;

/// A source that a change left with the name that it is said to have removed: it removed a part, such as a parameter of one
/// function. `None` if none is known; of `left` as many bytes are taken as are read.
pub(super) fn source_with_rest(
    resources: &Resources,
    change: &ChangeQuestion,
    made: &MadeChange,
    left: &mut usize,
) -> Result<Option<String>> {
    let Some(name) = name_removed(change) else { return Ok(None) };
    let commit = match &made.node {
        NodeId::Commit { .. } => Some(made.node.clone()),
        request => merged_as(resources, request)?,
    };
    let Some(NodeId::Commit { project, sha }) = commit else { return Ok(None) };
    let Some(record) = commit_record(resources, &project, &sha)? else { return Ok(None) };
    // What was restored elsewhere has no clone.
    let Ok(objects) = open_objects(resources, &project) else { return Ok(None) };
    for file in &record.commit.changes {
        let path = file.path.as_str();
        let version = file.new.filter(|version| version.mode.is_file() && file_role(path) == FileRole::Source);
        let (Some(version), FileKind::Code(language)) = (version, detect(path, &[])) else { continue };
        let read = objects.blob(version.id, MAX_TEXT).ok().filter(|bytes| bytes.len() <= *left);
        let Some(bytes) = read else { continue };
        *left -= bytes.len();
        if mentions(&without_texts(&String::from_utf8_lossy(&bytes), language), name) {
            return Ok(Some(path.to_owned()));
        }
    }
    Ok(None)
}

/// The name of code that a question says was removed, wherever that was. Not a plain word, which may name much else.
fn name_removed(change: &ChangeQuestion) -> Option<&str> {
    let is_placed = change.owner.is_some() || !change.elsewhere.is_empty() || !change.paths.is_empty();
    let [name] = change.names.as_slice() else { return None };
    let is_plain = name.chars().all(char::is_lowercase);
    (change.direction == ChangeDirection::Removed && change.is_code && !is_placed && !is_plain).then_some(name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_code_is_looked_for_where_a_question_names_no_place() {
        for (question, name) in [
            ("When was mix_output removed?", Some("mix_output")),
            ("Who removed the `mixOutput` parameter?", Some("mixOutput")),
            ("When was `output` removed?", None),
            ("When was mix_output removed from Runner?", None),
            ("When was mix_output of the class Runner removed?", None),
            ("When was mix_output added?", None),
            ("When was XML export removed?", None),
        ] {
            assert_eq!(name_removed(&ChangeQuestion::parse(question).unwrap()), name, "{question}");
        }
    }
}
