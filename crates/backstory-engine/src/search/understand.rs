//! Understands a query by what is known: what its references refer to, and where the code is defined that it names.

use backstory_model::{code::last_part_of_name, id::NodeId, reference::ReferenceContext};
use jiff::Timestamp;

use super::{
    SearchRequest,
    definitions::{Definitions, NameMatch, find_definitions},
    query::ParsedQuery,
    symbols::{CodeName, has_mark_of_code, name_before_kind, names_asked_for, only_proper_name, only_symbol, symbols},
};
use crate::{
    catalog::known_projects, error::Result, history::describe_newest_removal, read::resolve_id,
    records::reference_syntax, resources::Resources,
};

/// How much less each further definition of a name counts.
const LESS: f32 = 0.02;

/// Issues, merge requests and commits that a text names, whether they are there or not.
pub(crate) async fn find_named(resources: &Resources, text: &str, project: Option<&str>) -> Result<Vec<NodeId>> {
    let mut named = read_query(resources, text, project).await?.named;
    named.retain(|id| matches!(id, NodeId::Thread(_) | NodeId::Commit { .. }));
    for id in &mut named {
        *id = resolve_id(resources, id.clone()).await?;
    }
    Ok(named)
}

/// What references in a query are relative to: the project that is asked about, or the only one. An address alone names
/// its project itself, so any of the same forge will do.
async fn project_of_query(resources: &Resources, query: &str, project: Option<&str>) -> Result<Option<String>> {
    if let Some(project) = project {
        return Ok(Some(project.to_owned()));
    }
    let known = known_projects(resources).await?;
    if known.len() == 1 {
        return Ok(known.into_iter().next());
    }
    let query = query.trim().to_owned();
    if !query.contains("://") || query.contains(char::is_whitespace) {
        return Ok(None);
    }
    resources
        .blocking(move |resources| {
            for project in known {
                let forge_url = reference_syntax(resources, &project)?.1;
                if !forge_url.is_empty() && query.starts_with(&forge_url) {
                    return Ok(Some(project));
                }
            }
            Ok(None)
        })
        .await
}

/// A query as the forge of the project writes references.
async fn read_query(resources: &Resources, query: &str, project: Option<&str>) -> Result<ParsedQuery> {
    let Some(project) = project_of_query(resources, query, project).await? else {
        return Ok(ParsedQuery::of(query, None, Timestamp::now()));
    };
    let name = project.clone();
    let (forge, forge_url) = resources.blocking(move |resources| reference_syntax(resources, &name)).await?;
    let context = ReferenceContext { forge, project: &project, forge_url: &forge_url };
    Ok(ParsedQuery::of(query, Some(context), Timestamp::now()))
}

/// A query with what it refers to. `only_code` says that nothing else is searched for.
pub(super) async fn parse_query(
    resources: &Resources,
    request: &SearchRequest,
    only_code: bool,
) -> Result<ParsedQuery> {
    let name = only_symbol(&request.query);
    let words = name.map_or(request.query.as_str(), |asked| asked.name);
    let mut understood = read_query(resources, words, request.filter.project.as_deref()).await?;
    understood.only_code = only_code;
    understood.is_name = name.is_some();
    for id in &mut understood.named {
        *id = resolve_id(resources, id.clone()).await?;
    }
    let index = resources.index();
    understood.named.retain(|id| !index.facts([id.to_string().as_str()]).is_empty());
    for id in &understood.named {
        understood.notes.push(format!("{id} is named in the query"));
    }
    add_definitions(resources, request, &mut understood).await?;
    Ok(understood)
}

/// Where a query is only the name of a function or type or begins its definition, or asks where one is, its definition is
/// what is meant.
async fn add_definitions(resources: &Resources, request: &SearchRequest, understood: &mut ParsedQuery) -> Result<()> {
    let query = &request.query;
    let alone = only_symbol(query).or_else(|| name_before_kind(query));
    let names = match alone.or_else(|| only_proper_name(query).map(CodeName::from)) {
        Some(name) => vec![name],
        None if understood.only_code || understood.asks_for_code => {
            names_asked_for(query).into_iter().map(CodeName::from).collect()
        }
        None => return Ok(()),
    };
    for asked in names {
        let Definitions { first, others, name_match } = find_definitions(resources, asked, &request.filter).await?;
        let name = asked.name;
        // Words with a mark of code are a name, whether anything has it or not.
        if first.is_empty() && alone == Some(asked) && has_mark_of_code(name) {
            let removed = describe_newest_removal(resources, name, &request.filter).await?;
            let removed = removed.map(|removed| format!("; {removed}")).unwrap_or_default();
            // Without the name, which may be a secret that was pasted.
            understood.notes.push(format!("no definition of that name was found{removed}"));
        }
        // Of words that only sound like a name, as in `type error handling`, another spelling is not meant.
        let is_all = understood.only_code && name.len() == query.trim().len();
        if name_match != NameMatch::Exact && symbols(name).is_empty() && !is_all {
            continue;
        }
        understood.notes.extend(name_match.describe(name));
        let short = last_part_of_name(name);
        let best = first.first().map_or(1.0, |definition| definition.worth);
        for (place, definition) in first.into_iter().enumerate() {
            // Of equal ones the first leads.
            let share = definition.worth / best * (1.0 - LESS * place as f32);
            let line = definition.line.map_or_else(String::new, |line| format!(", line {line},"));
            understood.notes.push(format!("{}{line} is the definition of {short}", definition.id));
            for (meant, id) in
                [(&mut understood.defining, definition.file), (&mut understood.definitions, definition.document)]
            {
                let known = meant.entry(id).or_default();
                *known = known.max(share);
            }
        }
        if others > 0 {
            understood.notes.push(format!("besides these there are {others} of that name; a path narrows them down"));
        }
    }
    Ok(())
}
