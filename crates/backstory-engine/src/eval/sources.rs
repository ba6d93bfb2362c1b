//! Resolves what the questions expect, and reports what does not exist.

use std::collections::BTreeSet;

use backstory_model::{
    entity::ItemKind,
    eval::{Question, Source},
    reference::ReferenceContext,
};

use crate::{
    error::{Error, Result},
    read::{existing_nodes, resolve_id},
    records::reference_syntax,
    resources::Resources,
};

/// The sources that a question expects.
pub(super) async fn find_sources(resources: &Resources, project: &str, question: &Question) -> Result<Vec<Source>> {
    let name = project.to_owned();
    let (forge, forge_url) = resources.blocking(move |resources| reference_syntax(resources, &name)).await?;
    let context = ReferenceContext { forge, project, forge_url: &forge_url };
    let parse = |text: &String| Source::parse(text, context);
    let sources = question.gold.iter().map(parse).collect::<std::result::Result<_, _>>();
    sources.map_err(|error| Error::invalid(format!("question {}: {error}", question.id)))
}

/// Those of the expected sources, as they stand in the file, that are not in the index.
pub(super) async fn missing_sources(
    resources: &Resources,
    gold: &[String],
    sources: Vec<Source>,
) -> Result<Vec<String>> {
    let mut unknown = Vec::new();
    for (text, source) in gold.iter().zip(sources) {
        let known = match source {
            Source::Node(node) => {
                let node = resolve_id(resources, node).await?;
                existing_nodes(resources, vec![node.clone()]).await? == BTreeSet::from([node])
            }
            Source::Below { project, directory } => {
                let files = move |ledger: &backstory_store::ledger::Ledger| {
                    ledger.keys_with_prefix(&project, ItemKind::File, &directory, 1)
                };
                !resources.with_ledger(files).await?.is_empty()
            }
        };
        if !known {
            unknown.push(text.clone());
        }
    }
    Ok(unknown)
}
