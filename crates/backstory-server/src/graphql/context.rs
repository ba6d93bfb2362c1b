//! GraphQL types of context packs.

mod manifest;
mod section;

use async_graphql::{Context, Enum, ID, InputObject, Result, SimpleObject};
use backstory_engine::{
    context::{About, ContextRequest},
    model::{self, pack},
};

use self::{
    manifest::{PackCount, PackManifest, PackSources, counts},
    section::{PackChunk, PackCode, PackDiff, PackEvent, PackItem, PackNote, PackTest},
};
use super::{
    loaders,
    node::Node,
    search::{DocumentFilter, RankingInput, node_of, references},
    trace::Asked,
};

/// How a pack is printed.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "pack::Format")]
pub(crate) enum PackFormat {
    /// For programs, with the whole manifest if there is room.
    Json,
    /// Markdown, for people and language models.
    Markdown,
}

/// What a pack may hold.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(name = "PackMode", remote = "pack::Mode")]
pub(crate) enum PackContents {
    /// Everything that is known.
    All,
    /// Specifications, contracts and recorded decisions, and nothing else.
    GoverningDocsOnly,
}

/// A part of a pack that is a list.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "pack::Section")]
pub(crate) enum PackSection {
    /// The items that matter most.
    KeyItems,
    /// What happened when.
    Timeline,
    /// Reasons that were given.
    DesignNotes,
    /// Code that it is about.
    CodeContext,
    /// Changes of code.
    ImportantDiffs,
    /// Tests of the code.
    RelatedTests,
    /// Passages of what was found.
    Retrieved,
}

/// What a pack is about: words, code or an item.
#[derive(InputObject)]
pub(crate) struct PackSubject {
    /// Words or a question, at most 2,000 characters.
    query: Option<String>,
    /// Id of a node: `acme/shop@1a2b3c4`, `acme/shop!7`, `acme/shop#12`, `acme/shop:src/a.rs`, `acme/shop:src/a.rs#login`.
    id: Option<ID>,
    /// Path from the repository's root.
    path: Option<String>,
    /// First line, from 1.
    line: Option<u32>,
    /// Last line; the first if absent.
    end_line: Option<u32>,
    /// Name of a function or type of the file, instead of lines.
    symbol: Option<String>,
    /// Branch, tag or commit at which the path and lines are; the indexed head if absent.
    rev: Option<String>,
}

/// What search finds for a pack: documents that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct PackFilter {
    #[graphql(flatten)]
    documents: DocumentFilter,
    /// Ids of nodes, at most 20: what search finds is at most two edges from one of them. All if absent or empty.
    near: Option<Vec<ID>>,
}

/// How much may be in a pack, and how it is printed.
#[derive(Default, InputObject)]
pub(crate) struct PackOptions {
    /// Most tokens of the printed pack, 200 to 100,000; 4,000 if absent.
    tokens: Option<u32>,
    /// How the pack is printed, which decides how many tokens it has; JSON if absent.
    format: Option<PackFormat>,
    /// What the pack may hold; everything if absent.
    mode: Option<PackContents>,
    /// Beginning of a path: in every section, only code and documents of files whose paths start with it, and commits
    /// that change such files.
    path_prefix: Option<String>,
    /// How what search finds is ranked, where that differs from the configuration.
    ranking: Option<RankingInput>,
    /// Whether the pack shows changes; true if absent.
    diffs: Option<bool>,
    /// Whether the pack names tests; true if absent.
    tests: Option<bool>,
    /// Id of the state of the index that the pack must be made from, or at least its first four digits; the current
    /// state if absent.
    snapshot: Option<String>,
}

/// What an agent must know about a question or a piece of code, within a token budget.
#[derive(SimpleObject)]
pub(crate) struct ContextPack {
    /// Text of the pack as it is printed, whose tokens were counted.
    text: String,
    /// What was asked, shortened if it is long.
    query: String,
    /// How many tokens the printed pack has.
    token_count: u32,
    /// Most tokens that the printed pack could have.
    token_budget: u32,
    /// Name of the tokenizer that counted the tokens.
    tokenizer: String,
    /// Answer in a few sentences, in the words of the people who gave it.
    summary: String,
    /// What happened when, oldest first.
    timeline: Vec<PackEvent>,
    /// Items that matter most, best first.
    key_items: Vec<PackItem>,
    /// Code that the pack is about.
    code_context: Vec<PackCode>,
    /// Changes that matter.
    important_diffs: Vec<PackDiff>,
    /// Reasons that were given.
    design_notes: Vec<PackNote>,
    /// Tests of the code.
    related_tests: Vec<PackTest>,
    /// Sources that the pack is made from.
    provenance: PackSources,
    /// Passages of what was found: those of the most binding document types first, then by score in steps of a tenth,
    /// then by id.
    retrieved: Vec<PackChunk>,
    /// What could not be found, a sentence each; empty if everything was.
    missing: Vec<String>,
    /// How many entries of each section did not fit.
    left_out: Vec<PackCount>,
    /// What is needed to make the pack again, and what was read.
    manifest: PackManifest,
}

/// The nodes of references.
fn nodes(references: &[String]) -> Vec<Node> {
    references.iter().filter_map(|reference| node_of(reference)).collect()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl From<pack::ContextPack> for ContextPack {
    fn from(of: pack::ContextPack) -> Self {
        Self {
            text: pack::render(&of),
            query: of.metadata.query,
            token_count: number(of.metadata.token_count),
            token_budget: number(of.metadata.token_budget),
            tokenizer: of.metadata.tokenizer,
            summary: of.summary,
            timeline: of.timeline.into_iter().map(PackEvent::from).collect(),
            key_items: of.key_items.into_iter().map(PackItem::from).collect(),
            code_context: of.code_context.into_iter().map(PackCode::from).collect(),
            important_diffs: of.important_diffs.into_iter().map(PackDiff::from).collect(),
            design_notes: of.design_notes.into_iter().map(PackNote::from).collect(),
            related_tests: of.related_tests.into_iter().map(PackTest::from).collect(),
            provenance: of.provenance.into(),
            retrieved: of.retrieved.into_iter().map(PackChunk::from).collect(),
            missing: of.missing,
            left_out: counts(of.left_out),
            manifest: of.manifest.into(),
        }
    }
}

/// Makes a pack.
pub(super) async fn pack(
    ctx: &Context<'_>,
    about: PackSubject,
    filter: Option<PackFilter>,
    options: Option<PackOptions>,
) -> Result<ContextPack> {
    let PackFilter { documents, near } = filter.unwrap_or_default();
    let filter = model::filter::Filter::from(documents);
    let options = options.unwrap_or_default();
    let PackSubject { query, id, path, line, end_line, symbol, rev } = about;
    let asked = Asked { project: filter.project.clone(), path, line, end_line, symbol, id };
    let about = match query {
        Some(query) if asked.is_nothing() => About::Query(query),
        Some(_) => return Err(super::page::invalid("ask with a query, or about a path or id, not both").into()),
        None => About::Target { target: asked.target()?, rev },
    };
    let engine = loaders::engine(ctx)?;
    let request = ContextRequest {
        about,
        filter,
        path: options.path_prefix,
        near: references(near)?,
        ranking: options.ranking.map(|ranking| ranking.over(engine.settings().ranking)).transpose()?,
        mode: options.mode.map_or_else(pack::Mode::default, Into::into),
        format: options.format.map_or_else(pack::Format::default, Into::into),
        tokens: options.tokens.map_or(pack::DEFAULT_TOKENS, |tokens| tokens as usize),
        diffs: options.diffs.unwrap_or(true),
        tests: options.tests.unwrap_or(true),
        snapshot: options.snapshot,
    };
    Ok(engine.build_pack(request).await?.into())
}
