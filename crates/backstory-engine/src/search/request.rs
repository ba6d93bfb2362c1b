//! Checks a request: its limits, names, weights and references.

use backstory_model::{
    document_kind::DocumentKind,
    document_type::DocumentType,
    filter::Filter,
    id::{InvalidId, NodeId},
    language::Language,
    score::{Parts, Profile},
    text::truncate_echo,
};

use super::{
    MAX_LIMIT, MAX_QUERY, SearchRequest,
    names::{check_names, resolve_person},
};
use crate::{
    catalog::{check_project, known_projects},
    error::{Error, ErrorKind, Result},
    generated::annotations::{annotated_nodes, normal_tag},
    limits::check_limit,
    read::resolve_id,
    resources::Resources,
    settings::Ranking,
};

/// Most documents that a filter excludes.
const MAX_EXCLUDED: usize = 1000;
/// Most nodes that a filter names.
const MAX_NODES: usize = 1000;
/// Most projects and most prefixes of paths of a filter.
const MAX_ALTERNATIVES: usize = 100;
/// Longest prefix of paths, in bytes.
const MAX_PREFIX: usize = 1024;
/// Instead of nodes: no document has this reference.
pub(super) const NOTHING: &str = "(nothing)";
/// Most nodes that a search is near to.
pub const MAX_NEAR: usize = 20;

/// Checks a request and puts it into its usual form.
///
/// # Errors
/// What is wrong with it.
pub(super) async fn checked(resources: &Resources, mut request: SearchRequest) -> Result<SearchRequest> {
    request.query = request.query.trim().to_owned();
    let length = request.query.chars().count();
    if length == 0 {
        return Err(Error::invalid("the query is empty").with_hint("say what to look for"));
    }
    if length > MAX_QUERY {
        return Err(Error::invalid(format!("the query has {length} characters; at most {MAX_QUERY} are allowed")));
    }
    check_limit(request.limit, MAX_LIMIT)?;
    check_names(&request.filter)?;
    if let Some(ranking) = &request.ranking {
        check_ranking(ranking)?;
    }
    check_filter(&request.filter)?;
    if request.near.len() > MAX_NEAR {
        let count = request.near.len();
        return Err(Error::invalid(format!("the search is near to {count} nodes; at most {MAX_NEAR} are allowed")));
    }
    let project = request.near.iter().find_map(|id| if let NodeId::Project(name) = id { Some(name) } else { None });
    if let Some(project) = project {
        // What is no reference reads like the name of a project.
        if !known_projects(resources).await?.contains(project) {
            let error = Error::new(ErrorKind::NotFound, format!("nothing is known about {}", truncate_echo(project)));
            return Err(error.with_hint("name a node, such as group/project#12 or group/project:src/auth.rs"));
        }
        return Err(Error::invalid(format!("everything of {project} is near to it"))
            .with_hint("narrow the search to the project instead"));
    }
    if let ([only], None) = (request.filter.projects.as_slice(), &request.filter.project) {
        request.filter.project = Some(only.clone());
        request.filter.projects.clear();
    }
    let Filter { kinds, document_types, .. } = &mut request.filter;
    // All of them are no condition. A search for code alone that names no types is one for those that are code.
    if DocumentKind::ALL.iter().all(|kind| kinds.contains(kind)) {
        kinds.clear();
    }
    if kinds.is_empty() && DocumentType::ALL.iter().all(|document_type| document_types.contains(document_type)) {
        document_types.clear();
    }
    for project in request.filter.project.iter().chain(&request.filter.projects) {
        check_project(resources, Some(project)).await?;
    }
    for id in &mut request.near {
        *id = match &*id {
            NodeId::Person(name) => resolve_person(resources, name).await?,
            other => resolve_id(resources, other.clone()).await?,
        };
    }
    for node in &mut request.filter.nodes {
        let id = node.parse().map_err(|error: InvalidId| Error::invalid(error.to_string()))?;
        *node = resolve_id(resources, id).await?.to_string();
    }
    Ok(request)
}

/// Narrows a search to the nodes that have an annotation with its tags. Which these are may differ from page to page.
pub(super) async fn narrow_to_tags(resources: &Resources, request: &mut SearchRequest) -> Result<()> {
    if request.tags.is_empty() {
        return Ok(());
    }
    if request.tags.len() > MAX_ALTERNATIVES {
        let count = request.tags.len();
        return Err(Error::invalid(format!("{count} tags were given; at most {MAX_ALTERNATIVES} can be")));
    }
    let tags: Vec<String> = request.tags.iter().map(|tag| normal_tag(tag)).collect();
    let found = resources.blocking(move |resources| annotated_nodes(resources, &tags)).await?;
    let asked = std::mem::take(&mut request.filter.nodes);
    let mut nodes: Vec<String> = found.into_iter().map(|(id, _)| id.to_string()).collect();
    nodes.retain(|node| asked.is_empty() || asked.contains(node));
    if nodes.len() > MAX_NODES {
        let count = nodes.len();
        return Err(Error::invalid(format!("{count} nodes have these tags; at most {MAX_NODES} can be searched"))
            .with_hint("add a tag that fewer have"));
    }
    // Without a node the filter would be no condition.
    request.filter.nodes = if nodes.is_empty() { vec![NOTHING.to_owned()] } else { nodes };
    Ok(())
}

/// Checks the weights of a request.
///
/// # Errors
/// One is out of bounds, all are 0, or they do not count.
pub(crate) fn check_ranking(ranking: &Ranking) -> Result<()> {
    let weights = &ranking.weights;
    if let Some((_, weight)) = weights.named().into_iter().find(|(_, weight)| !(0.0..=1.0).contains(weight)) {
        return Err(Error::invalid(format!("a weight is {weight}; weights are 0 to 1")));
    }
    if *weights == Parts::default() {
        return Err(Error::invalid("every weight is 0; one of them must count"));
    }
    if ranking.profile == Profile::Rrf && *weights != Profile::Rrf.weights() {
        return Err(Error::invalid("weights do not count with the profile rrf")
            .with_hint("leave them out or name another profile"));
    }
    Ok(())
}

/// Checks what a request narrows its documents to.
///
/// # Errors
/// It names too much, or no time meets it.
pub(crate) fn check_filter(filter: &Filter) -> Result<()> {
    let counts = [
        ("documents are left out", filter.exclude.len(), MAX_EXCLUDED),
        ("nodes were given", filter.nodes.len(), MAX_NODES),
        ("projects were given", filter.projects.len(), MAX_ALTERNATIVES),
        ("prefixes of paths were given", filter.paths.len(), MAX_ALTERNATIVES),
        ("languages were given", filter.languages.len(), MAX_ALTERNATIVES),
    ];
    if let Some((what, count, most)) = counts.into_iter().find(|(_, count, most)| count > most) {
        return Err(Error::invalid(format!("{count} {what}; at most {most} can be")));
    }
    if let Some(path) = filter.paths.iter().find(|path| path.is_empty() || path.len() > MAX_PREFIX) {
        let message = format!("the prefix of paths {} is empty or longer than {MAX_PREFIX} bytes", truncate_echo(path));
        return Err(Error::invalid(message).with_hint("write one like src/auth"));
    }
    if let Some(name) = filter.languages.iter().find(|name| Language::from_name(name).is_none()) {
        let known = Language::ALL.map(Language::name).join(", ");
        return Err(Error::invalid(format!("there is no language '{}'", truncate_echo(name)))
            .with_hint(format!("languages are {known}")));
    }
    match (filter.after, filter.before) {
        (Some(after), Some(before)) if after >= before => {
            Err(Error::invalid(format!("no time is both after {after} and before {before}")))
        }
        _ => Ok(()),
    }
}
