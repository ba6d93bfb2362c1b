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
    scalar::{DateTime, decimal},
    search::{DocumentFilter, RankingInput, node_of},
};

/// How an answer came about.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::answer::Method")]
pub(crate) enum AnswerMethod {
    /// The statements of the answer are quotations.
    Extractive,
    /// A language model wrote the statements of the answer; each was checked against what it cites.
    Model,
    /// The statements of the answer say what is known about a change, such as who made it and when, or where something
    /// is defined.
    Facts,
}

/// An answer, whose statements have citations, or a refusal.
#[derive(SimpleObject)]
pub(crate) struct Answer {
    /// Question that was asked.
    question: String,
    /// Whether the question is answered.
    answered: bool,
    /// How well the evidence fits the question, 0 to 1; not how likely the answer is right.
    confidence: f64,
    /// How the answer came about.
    method: AnswerMethod,
    /// Language model that wrote the answer; null if it is made of quotations.
    model: Option<Provenance>,
    /// Statements of the answer, in order; empty if there is none.
    statements: Vec<Statement>,
    /// State of the decision that the answer is about; null if nothing has a state.
    standing: Option<Standing>,
    /// What the statements cite, numbered from 1.
    citations: Vec<Citation>,
    /// Why there is no answer; null if there is one.
    refusal: Option<Refusal>,
    /// What the reader must know, a sentence each.
    warnings: Vec<String>,
}

/// Which language model wrote something, and with which prompt.
#[derive(SimpleObject)]
pub(crate) struct Provenance {
    /// Names of provider and model.
    name: String,
    /// Version of the prompt that the model was given.
    prompt: u32,
}

/// A sentence or quotation and what it cites.
#[derive(SimpleObject)]
pub(crate) struct Statement {
    /// Text of the statement, without the numbers of its citations.
    text: String,
    /// Numbers of the statement's citations.
    citations: Vec<u32>,
}

/// State of a decision.
#[derive(SimpleObject)]
pub(crate) struct Standing {
    /// State for people to read: `merged in acme/shop!7 on 2024-03-22`.
    text: String,
    /// Node of the item that says so.
    node: Option<Node>,
    /// Page of the item at the forge; null if there is none.
    url: Option<String>,
}

/// Text that an answer cites, and how to find it again.
#[derive(SimpleObject)]
pub(crate) struct Citation {
    /// Number of the citation in the answer, from 1.
    number: u32,
    /// Id of the document as a node: an issue, merge request, note, commit or file.
    document_id: ID,
    /// Title of the issue, merge request or commit; path of the file.
    title: String,
    /// Page of the document at the forge; null if there is none.
    url: Option<String>,
    /// User name, or name in the commit, of who wrote the document; null for files.
    author_name: Option<String>,
    /// When the document was written; of a file, when it last changed.
    at: DateTime,
    /// Commit at which a file has the text; null for other documents.
    commit: Option<Commit>,
    /// Path of a file; null for other documents.
    path: Option<String>,
    /// Lines of a file; null for other documents.
    lines: Option<LineRange>,
    /// Two numbers: the first byte of the text in the document, from 0, and the first byte after it. The document is
    /// the title, an empty line and the description of an issue or merge request; the text of a note; the message of a
    /// commit; or the content of a file with secrets replaced.
    bytes: Vec<u64>,
    /// Text that is cited, verbatim.
    text: String,
    /// SHA-256 of the text, in hex.
    hash: String,
    /// SHA-256 of the document, in hex.
    document: String,
    /// Place of the text, as a list of sources gives it: `src/a.rs:45-88`, or the address or reference of an item.
    source: String,
    /// Node of the document.
    node: Option<Node>,
    /// Whether only some may see the document.
    confidential: bool,
}

/// Why there is no answer.
#[derive(SimpleObject)]
pub(crate) struct Refusal {
    /// Sentence that says that there is no answer.
    sentence: String,
    /// What was searched.
    searched: String,
    /// What was looked for and not found.
    missing: Vec<String>,
}

/// A citation to be verified, with the values of a `Citation`.
#[derive(InputObject)]
pub(crate) struct CitationInput {
    /// Number of the citation in the answer.
    number: u32,
    /// Id of the document as a node.
    document_id: ID,
    /// User name, or name in the commit, of who wrote the document.
    author: Option<String>,
    /// When the document was written, in RFC 3339 format.
    at: String,
    /// Name of the commit at which a file has the text.
    commit: Option<String>,
    /// Path of a file.
    path: Option<String>,
    /// First and last line of the text in a file.
    lines: Option<Vec<u32>>,
    /// Two numbers: the first byte of the text in the document, and the first byte after it.
    bytes: Vec<u64>,
    /// Text that is cited, verbatim.
    text: String,
    /// SHA-256 of the text, in hex.
    hash: String,
    /// SHA-256 of the document, in hex.
    document: String,
}

/// The result of verifying a citation.
#[derive(SimpleObject)]
pub(crate) struct CitationCheck {
    /// Number of the citation.
    number: u32,
    /// Node of the document that the citation names; null if it names none.
    node: Option<Node>,
    /// Why the citation does not hold; null if it does.
    problem: Option<String>,
}

impl From<model::answer::Answer> for Answer {
    fn from(answer: model::answer::Answer) -> Self {
        Self {
            confidence: decimal(answer.confidence),
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
            document_id: citation.id.into(),
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
            id: input.document_id.0,
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
    filter: Option<DocumentFilter>,
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
