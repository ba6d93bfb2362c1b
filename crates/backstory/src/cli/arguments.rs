//! Arguments that several commands have.

use backstory_engine::{
    model::{
        edge::Edge,
        id::{InvalidId, NodeId, ThreadId},
        score::{Parts, Profile},
    },
    settings::Ranking,
};
use jiff::Timestamp;

use crate::{
    config::Config,
    failure::{Failure, Result},
};

/// A user name, with or without `@`.
///
/// # Errors
/// It is empty.
pub(super) fn parse_user(text: &str) -> std::result::Result<String, String> {
    let name = text.trim().trim_start_matches('@');
    if name.is_empty() { Err("missing user name, like johndoe".to_owned()) } else { Ok(name.to_owned()) }
}

/// The name of an edge: `merged-as`, `MERGED_AS`.
///
/// # Errors
/// There is no such edge.
pub(super) fn parse_edge(text: &str) -> std::result::Result<Edge, String> {
    let name = text.trim().to_uppercase().replace('-', "_");
    Edge::from_name(&name).ok_or_else(|| {
        let names: Vec<String> = Edge::ALL.iter().map(|edge| edge.name().to_lowercase().replace('_', "-")).collect();
        format!("there is no such edge; there are {}", names.join(", "))
    })
}

/// A time, as people write it.
///
/// # Errors
/// What a time looks like.
pub(super) fn parse_time(text: &str) -> std::result::Result<Timestamp, String> {
    backstory_engine::model::time::parse_instant(text)
}

/// What each part of a score counts, for one request.
#[derive(clap::Args)]
pub(super) struct Weights {
    /// Weight of a part of the score, 0 to 1; parts that are not named count nothing (repeatable): semantic, lexical,
    /// recency, importance, relationship, author
    #[arg(long = "weight", value_name = "PART=WEIGHT", value_parser = parse_weight)]
    weights: Vec<(String, f32)>,
}

impl Weights {
    /// The ranking with these weights; none if there are none.
    ///
    /// # Errors
    /// A part has two weights.
    pub(super) fn ranking(&self) -> Result<Option<Ranking>> {
        if self.weights.is_empty() {
            return Ok(None);
        }
        let mut weights = Parts::default();
        for (at, (name, weight)) in self.weights.iter().enumerate() {
            if self.weights[..at].iter().any(|(other, _)| other == name) {
                return Err(Failure::usage(format!("{name} has two weights; give it one")));
            }
            weights.set(name, *weight);
        }
        Ok(Some(Ranking { profile: Profile::Default, weights }))
    }
}

/// `recency=0.5`
fn parse_weight(text: &str) -> std::result::Result<(String, f32), String> {
    let names = Parts::default().named().map(|(name, _)| name);
    let wanted = || format!("write PART=WEIGHT with a part of {} and a weight of 0 to 1", names.join(", "));
    let (name, weight) = text.split_once('=').ok_or_else(wanted)?;
    let weight = weight.trim().parse().ok().filter(|weight| (0.0..=1.0).contains(weight)).ok_or_else(wanted)?;
    if names.contains(&name.trim()) { Ok((name.trim().to_owned(), weight)) } else { Err(wanted()) }
}

/// What a reference on the command line means.
pub(super) enum Reference {
    /// What has that id.
    Whole(NodeId),
    /// `#12` or `!7` of a project that is still to be found.
    Number(String),
}

/// What a reference on the command line means: `group/project#12`, `#12`, `issue 12`, `mr 7`, `issue group/project#12`.
/// Those without a project are of the one that is given, if one is.
///
/// # Errors
/// It is no reference.
pub(super) fn parse_reference(words: &[String], project: Option<&str>) -> Result<Reference> {
    let text = match words {
        [kind, which] => match sigil_of(kind) {
            // A whole reference needs no kind.
            Some(_) if which.find(['#', '!']).is_some_and(|at| at > 0) => which.clone(),
            Some(sigil) => format!("{sigil}{}", which.trim_start_matches(sigil)),
            None => {
                return Err(Failure::usage(format!(
                    "'{kind}' is neither 'issue' nor 'mr'; write issue {which} or mr {which}"
                )));
            }
        },
        _ => words.concat(),
    };
    if let Some(sigil) = sigil_of(&text) {
        return Err(Failure::usage(format!("say which {text}, like {text} 12 or group/project{sigil}12")));
    }
    let full = match (text.starts_with(['#', '!']), project) {
        (true, Some(project)) => format!("{project}{text}"),
        (true, None) => return Ok(Reference::Number(text)),
        (false, _) => text,
    };
    parse_id(&full).map(Reference::Whole)
}

/// The id that a text is.
///
/// # Errors
/// It is none.
pub(super) fn parse_id(text: &str) -> Result<NodeId> {
    text.parse().map_err(|error: InvalidId| Failure::usage(error.to_string()))
}

/// What stands before the number of an issue or merge request of that kind.
fn sigil_of(kind: &str) -> Option<char> {
    match kind {
        "issue" | "issues" => Some('#'),
        "mr" | "mrs" | "merge-request" | "merge_request" => Some('!'),
        _ => None,
    }
}

/// The only project that is configured.
///
/// # Errors
/// There is none, or there are several; the reference is what it is needed for.
pub(super) fn only_project<'a>(config: &'a Config, reference: &str) -> Result<&'a str> {
    let mut projects = config.settings.projects().map(|(_, project)| project);
    match (projects.next(), projects.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(Failure::usage(format!(
            "no project of a forge is configured; write which one {reference} belongs to, like group/project{reference}"
        ))),
        (Some(first), Some(_)) => {
            Err(Failure::usage(format!("several projects are configured; write which one, like {first}{reference}")))
        }
    }
}

/// `Issue #12`, `MR !7`
pub(super) fn called(id: &ThreadId) -> String {
    match id.kind {
        backstory_engine::model::id::ThreadKind::Issue => format!("Issue {}", id.local_reference()),
        backstory_engine::model::id::ThreadKind::MergeRequest => format!("MR {}", id.local_reference()),
    }
}
