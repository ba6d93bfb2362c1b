//! GraphQL types of answers to questions, and of verifying what they cite.

use async_graphql::{Context, Enum, ID, InputObject, Result, SimpleObject};
use backstory_engine::{
    ask::{self, AskRequest, VerifyRequest},
    model::{self, id::NodeId},
};

use super::{
    code::{Commit, LineRange},
    loaders,
    node::Node,
    page,
    scalar::DateTime,
    search::{RankingInput, SearchFilter, node_of},
};

/// How an answer came about.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::answer::Method")]
pub(crate) enum AnswerMethod {
    /// Its statements are quotations.
    Extractive,
    /// A language model wrote its statements; each was checked against what it cites.
    Model,
}

/// An answer. Each statement stands on citations; without an answer there is a refusal.
#[derive(SimpleObject)]
pub(crate) struct Answer {
    /// The question.
    question: String,
    /// Whether it is answered.
    answered: bool,
    /// How well the evidence fits the question, 0 to 1; not how likely the answer is right.
    confidence: f32,
    /// How.
    method: AnswerMethod,
    /// The language model that wrote it; null if it is made of quotations.
    model: Option<Provenance>,
    /// What is said, in order.
    statements: Vec<Statement>,
    /// Where the decision stands; null where nothing has a state.
    standing: Option<Standing>,
    /// What the statements stand on, by number from 1.
    citations: Vec<Citation>,
    /// Why there is no answer; null if there is one.
    refusal: Option<Refusal>,
    /// What the reader must know.
    warnings: Vec<String>,
}

/// What a language model wrote, and how it was asked.
#[derive(SimpleObject)]
pub(crate) struct Provenance {
    /// Provider and model.
    name: String,
    /// Version of the prompt.
    prompt: u32,
}

/// A sentence or quotation and what it stands on.
#[derive(SimpleObject)]
pub(crate) struct Statement {
    /// The text, without the numbers of its citations.
    text: String,
    /// Numbers of its citations.
    citations: Vec<u32>,
}

/// Where a decision stands.
#[derive(SimpleObject)]
pub(crate) struct Standing {
    /// For a person: `merged in acme/shop!7 on 2024-03-22`.
    text: String,
    /// The item that says so.
    node: Option<Node>,
    /// Its page at the forge; null if there is none.
    url: Option<String>,
}

/// Text that an answer stands on, and how to find it again.
#[derive(SimpleObject)]
pub(crate) struct Citation {
    /// Its number in the answer, from 1.
    number: u32,
    /// Reference of the document: an issue, merge request, note, commit or file.
    id: ID,
    /// Title of the issue, merge request or commit; path of the file.
    title: String,
    /// Its page at the forge; null if there is none.
    url: Option<String>,
    /// User name, or name in the commit, of who wrote it; null for files.
    author_name: Option<String>,
    /// When it was written; of a file, when it last changed.
    at: DateTime,
    /// Of a file: the commit.
    commit: Option<Commit>,
    /// Of a file: its path.
    path: Option<String>,
    /// Of a file: its lines.
    lines: Option<LineRange>,
    /// First byte of the text in the document, from 0, and the one behind its last. The document is the title, an empty
    /// line and the description of an issue or merge request, the text of a note, the message of a commit, the content
    /// of a file with secrets replaced.
    bytes: Vec<u64>,
    /// The text, verbatim.
    text: String,
    /// SHA-256 of the text, hex.
    hash: String,
    /// SHA-256 of the document, hex.
    document: String,
    /// Where it stands, as a list of sources tells it: `src/a.rs:45–88`, or the address or reference of an item.
    source: String,
    /// The document in the graph.
    node: Option<Node>,
    /// Whether only some may see it.
    confidential: bool,
}

/// Why there is no answer.
#[derive(SimpleObject)]
pub(crate) struct Refusal {
    /// The sentence that says so.
    sentence: String,
    /// What was searched.
    searched: String,
    /// What was looked for and not found.
    missing: Vec<String>,
}

/// A citation to be verified, with what `Citation` tells.
#[derive(InputObject)]
pub(crate) struct CitationInput {
    /// Its number in the answer.
    number: u32,
    /// Reference of the document.
    id: String,
    /// User name, or name in the commit, of who wrote it.
    author: Option<String>,
    /// When it was written, as RFC 3339 writes it.
    at: String,
    /// Of a file: the commit.
    commit: Option<String>,
    /// Of a file: its path.
    path: Option<String>,
    /// Of a file: first and last line.
    lines: Option<Vec<u32>>,
    /// First byte of the text in the document, and the one behind its last.
    bytes: Vec<u64>,
    /// The text, verbatim.
    text: String,
    /// SHA-256 of the text, hex.
    hash: String,
    /// SHA-256 of the document, hex.
    document: String,
}

/// The result of verifying a citation.
#[derive(SimpleObject)]
pub(crate) struct CitationCheck {
    /// Its number.
    number: u32,
    /// The document that it names; null if it names none.
    node: Option<Node>,
    /// Why it does not hold; null if it does.
    problem: Option<String>,
}

impl From<model::answer::Answer> for Answer {
    fn from(answer: model::answer::Answer) -> Self {
        Self {
            confidence: answer.confidence,
            question: answer.question,
            answered: answer.answered,
            method: answer.method.into(),
            model: answer.model.map(Provenance::from),
            statements: answer.statements.into_iter().map(Statement::from).collect(),
            standing: answer.standing.map(|standing| Standing {
                text: standing.text,
                node: node_of(&standing.id),
                url: standing.url,
            }),
            citations: answer.citations.into_iter().map(Citation::from).collect(),
            refusal: answer.refusal.map(|refusal| Refusal {
                sentence: refusal.sentence,
                searched: refusal.searched,
                missing: refusal.missing,
            }),
            warnings: answer.warnings,
        }
    }
}

impl From<model::answer::Provenance> for Provenance {
    fn from(model: model::answer::Provenance) -> Self {
        Self { name: model.name, prompt: model.prompt }
    }
}

impl From<model::answer::Statement> for Statement {
    fn from(statement: model::answer::Statement) -> Self {
        Self { text: statement.text, citations: statement.citations }
    }
}

/// The project of a document.
fn project_of(id: &str) -> Option<String> {
    Some(id.parse::<NodeId>().ok()?.project()?.to_owned())
}

impl From<model::answer::Citation> for Citation {
    fn from(citation: model::answer::Citation) -> Self {
        Self {
            source: citation.source().to_string(),
            commit: project_of(&citation.id).zip(citation.commit).map(|(project, sha)| Commit::new(project, sha)),
            node: node_of(&citation.id),
            number: citation.number,
            id: citation.id.into(),
            title: citation.title,
            url: citation.url,
            author_name: citation.author,
            at: citation.at.into(),
            path: citation.path,
            lines: citation.lines.map(LineRange::from),
            bytes: vec![citation.bytes.0, citation.bytes.1],
            text: citation.text,
            hash: citation.hash,
            document: citation.document,
            confidential: citation.confidential,
        }
    }
}

impl TryFrom<CitationInput> for model::answer::Citation {
    type Error = backstory_engine::error::Error;

    fn try_from(input: CitationInput) -> Result<Self, Self::Error> {
        let number = input.number;
        let wrong = |what: &str| page::invalid(format!("citation {number}: {what}"));
        let bytes = match input.bytes.as_slice() {
            [start, end] if start <= end => (*start, *end),
            _ => return Err(wrong("bytes are two numbers, the smaller one first")),
        };
        let lines = match input.lines.as_deref() {
            None => None,
            Some([first, last]) => Some((*first, *last)),
            Some(_) => return Err(wrong("lines are two numbers")),
        };
        Ok(Self {
            number,
            id: input.id,
            title: String::new(),
            url: None,
            author: input.author,
            at: model::time::parse_instant(&input.at).map_err(|error| wrong(&error))?,
            commit: input.commit,
            path: input.path,
            lines,
            bytes,
            text: input.text,
            hash: input.hash,
            document: input.document,
            confidential: false,
        })
    }
}

/// Answers a question.
pub(super) async fn ask(
    ctx: &Context<'_>,
    question: String,
    filter: Option<SearchFilter>,
    model: Option<bool>,
    ranking: Option<RankingInput>,
) -> Result<Answer> {
    let filter = model::filter::Filter::from(filter.unwrap_or_default());
    let engine = loaders::engine(ctx)?;
    let ranking = ranking.map(|ranking| ranking.over(engine.settings().ranking)).transpose()?;
    let request = AskRequest { question, before: None, filter, model: model.unwrap_or(true), ranking };
    Ok(engine.answer(request).await?.into())
}

/// Verifies citations.
pub(super) async fn verify(ctx: &Context<'_>, citations: Vec<CitationInput>) -> Result<Vec<CitationCheck>> {
    let citations = citations.into_iter().map(TryInto::try_into).collect::<std::result::Result<Vec<_>, _>>()?;
    let checks = loaders::engine(ctx)?.answer(VerifyRequest { citations }).await?;
    let check =
        |check: ask::Check| CitationCheck { number: check.number, node: node_of(&check.id), problem: check.problem };
    Ok(checks.into_iter().map(check).collect())
}
