//! Answers to questions, strictly from what was read: quotes with author, date and place, or sentences of a language
//! model that were checked against what they cite; and a refusal where the evidence does not suffice.
//!
//! Who made a change, when and in which release is answered from `facts` (`changes` tells what is about the opposite), when a
//! release came by `release_dates`, and where something is defined by `definition`. Any other question is searched for
//! ([`search`](crate::search)). The six best result groups are read whole from ledger and clones and cut into sentences,
//! comments and blocks of code (`stories`), with the definitions of what the question is about (`definition`). `evidence`
//! judges whether that can answer at all, and `select` picks the quotes; where it is asked why, `reasons` puts reasons before
//! the rest, and `change_reasons` those of the commit that added or removed what is asked about. With a language model,
//! `generate` gives it numbered passages and keeps the sentences that [`support`](crate::support) finds in what they cite.
//! `verify` proves citations again. The decisions behind it are 0016 and 0020 in `docs/decisions`.

mod change_reasons;
mod changes;
mod definition;
pub mod evidence;
mod facts;
pub(crate) mod generate;
mod nowhere;
mod people_asked;
mod reading;
mod reasons;
mod release_dates;
mod release_names;
mod select;
mod stories;
mod verify;

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    answer::{Answer, Citation, Method, REFUSAL_SENTENCE, Refusal, Statement},
    change_question::{ChangeQuestion, says_change},
    filter::Filter,
    question::{Question, QuestionKind, Term},
    sentence::{include_fences, include_list_marker, stems},
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::{
    citations::date_by_lines,
    decision_status::decision_status,
    error::{Error, Result},
    resources::Resources,
    search::{MAX_QUERY, check_names},
    settings::Ranking,
    state::answers::AnswerKey,
    use_case::{UseCase, Weight},
};
use change_reasons::read_change_reasons;
use changes::answer_change;
use definition::answer_place;
use evidence::{SURE, Verdict, may_fit, occur_apart, share};
use generate::generate_answer;
use nowhere::{UnknownWord, find_nearest_names, may_be_of_one_word};
use people_asked::describe_people;
use reading::{NOT_COMPARED, Reading, question_weights, read_stories};
use reasons::prefer_reasons;
use release_dates::answer_release;
use select::{MAX_QUOTES, Scored, add_reasons, choose_quotes};
use stories::Story;

pub use verify::{Check, MAX_CITATIONS, VerifyRequest};

/// Pieces whose meaning is compared only to tell whether there is an answer: a model takes milliseconds for each.
const MAX_COMPARED: usize = 8;

/// Asks a question, which is answered strictly from what was read, or refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskRequest {
    /// The question, at most 2,000 characters.
    pub question: String,
    /// What was asked before, if the question goes on from there: its words are searched for too.
    #[serde(default)]
    pub before: Option<String>,
    /// What to narrow it to.
    #[serde(default)]
    pub filter: Filter,
    /// Whether a language model may word the answer, if one is configured; it may if absent.
    #[serde(default = "crate::limits::default_true")]
    pub model: bool,
    /// How what is found is ranked, if not as configured.
    #[serde(default)]
    pub ranking: Option<Ranking>,
}

impl UseCase for AskRequest {
    const NAME: &'static str = "ask";
    const WEIGHT: Weight = Weight::Long;
    type Answer = Answer;

    async fn run(self, resources: &Resources) -> Result<Answer> {
        ask(resources, self).await
    }
}

/// What is told while an answer is made: its statements, each as soon as it has been checked, and what they cite.
pub type StatementSender = mpsc::Sender<(Statement, Vec<Citation>)>;

/// What was found for a question.
pub(crate) struct AskEvidence {
    pub(crate) question: String,
    stories: Vec<Story>,
    scored: Vec<Scored>,
    verdict: Verdict,
    warnings: Vec<String>,
    /// Those of them that are of the search.
    search_warnings: Vec<String>,
    /// How much each word of the question tells.
    weights: Vec<f32>,
    /// Words of the question that the best passage lacks.
    lacking: Vec<Term>,
    /// The change that it asks about.
    change: Option<ChangeQuestion>,
    /// Whether it names or quotes what is not there.
    is_barred: bool,
    /// Whether it asks for a reason and nothing that was found gives one.
    lacks_reason: bool,
}

/// What a question lacks to be answered from what is stored.
#[derive(Default)]
pub(crate) struct Missing {
    /// A sentence for each thing that is missing; `None` if the question can be answered.
    pub(crate) sentences: Option<Vec<String>>,
    /// What the reader must know of how that was found.
    pub(crate) warning: Option<&'static str>,
}

/// Answers a question.
///
/// # Errors
/// The question is empty or too long, a filter names what does not exist, or a store failed. A language model that
/// fails is a warning: quotations answer then.
pub(crate) async fn ask(resources: &Resources, request: AskRequest) -> Result<Answer> {
    let key = answer_key(resources, &request);
    let seq = resources.with_ledger(|ledger| ledger.last_seq()).await?;
    let answer = ask_streaming(resources, request, None).await?;
    if let Some(key) = key {
        resources.shared.answers.lock().keep(seq, key, &answer);
    }
    Ok(answer)
}

/// What an answer is kept under; `None` where another state than the current one is asked.
fn answer_key(resources: &Resources, request: &AskRequest) -> Option<AnswerKey> {
    if resources.state().is_some() {
        return None;
    }
    let question = resources.redactor().redact(request.question.trim()).0.into_owned();
    let asked = serde_json::to_string(&AskRequest { question, ..request.clone() }).ok()?;
    Some((resources.actor().to_string(), resources.visibility().clone(), asked))
}

/// Answers a question as the same caller was just answered, or as [`ask_streaming`] does. What was answered before the
/// ledger changed last is answered again.
///
/// # Errors
/// Those of [`ask`].
pub(crate) async fn ask_or_adopt(
    resources: &Resources,
    request: AskRequest,
    telling: Option<StatementSender>,
) -> Result<Answer> {
    let seq = resources.with_ledger(|ledger| ledger.last_seq()).await?;
    let given = answer_key(resources, &request).and_then(|key| resources.shared.answers.lock().get(seq, &key));
    let Some(answer) = given else { return ask_streaming(resources, request, telling).await };
    send_statements(telling.as_ref(), &answer).await;
    Ok(answer)
}

/// Answers a question, and tells each statement as soon as it is certain. A caller that no longer listens is not waited for.
///
/// # Errors
/// Those of [`ask`].
pub(crate) async fn ask_streaming(
    resources: &Resources,
    request: AskRequest,
    telling: Option<StatementSender>,
) -> Result<Answer> {
    let model = resources.chat_model().filter(|_| request.model).cloned();
    let mut found = find_evidence(resources, &request).await?;
    if let Some(answer) = Box::pin(answer_by_facts(resources, &request.filter, &mut found)).await? {
        send_statements(telling.as_ref(), &answer).await;
        return Ok(answer);
    }
    if !found.verdict.answerable {
        return refuse(resources, &mut found).await;
    }
    let mut warnings = Vec::new();
    if let Some(model) = model {
        match generate_answer(resources, &model, &found, telling.as_ref()).await {
            Ok(Some(answer)) => return finish_answer(resources, &found, answer, warnings).await,
            Ok(None) => warnings.push(format!(
                "{} wrote nothing that the passages support; these are the passages themselves",
                model.name()
            )),
            Err(error) => warnings.push(format!("the language model was not used: {error}")),
        }
    }
    let mut answer = quote_answer(&found);
    answer.citations = date_citations(resources, answer.citations).await?;
    if !answer.answered {
        found.verdict.missing.extend(describe_lacking(&found.lacking, std::iter::empty()));
        found.verdict.missing.push("nothing in them says enough to be quoted".to_owned());
        return refuse(resources, &mut found).await;
    }
    send_statements(telling.as_ref(), &answer).await;
    finish_answer(resources, &found, answer, warnings).await
}

/// The answer to a question for facts, if these are known.
async fn answer_by_facts(resources: &Resources, filter: &Filter, found: &mut AskEvidence) -> Result<Option<Answer>> {
    if !found.is_barred
        && let Some(answer) = answer_place(resources, &found.question, filter).await?
    {
        let mut warnings = found.search_warnings.clone();
        warnings.extend(answer.warnings);
        return Ok(Some(Answer { warnings, ..answer }));
    }
    if let Some(answer) = answer_release(resources, filter, found).await? {
        return Ok(Some(answer));
    }
    answer_change(resources, filter, found).await
}

/// Gives citations of files the dates of their lines.
async fn date_citations(resources: &Resources, mut citations: Vec<Citation>) -> Result<Vec<Citation>> {
    resources
        .blocking(move |resources| {
            date_by_lines(resources, &mut citations)?;
            Ok(citations)
        })
        .await
}

/// What a question lacks to be answered from what is stored.
///
/// # Errors
/// Those of [`ask`].
pub(crate) async fn find_missing(resources: &Resources, request: AskRequest) -> Result<Missing> {
    let mut reading = Box::pin(read_stories(resources, &request)).await?;
    let mut scored = reading.score_by_words();
    // By words alone, which is quick; of a question that they can answer the meaning is not asked.
    let mut verdict = reading.judge(&scored);
    if !verdict.answerable {
        let weights = reading.asked.weights();
        scored.retain(|one| may_fit(&weights, &one.around, reading.stories[one.story].fit));
        scored.truncate(MAX_COMPARED);
        if !scored.is_empty() {
            reading.add_meaning(resources, &mut scored).await;
            verdict = reading.judge(&scored);
        }
    }
    let warning = reading.comparison_failed.then_some(NOT_COMPARED);
    Ok(Missing { sentences: (!verdict.answerable).then_some(verdict.missing), warning })
}

/// Whether one of these texts surely answers a question by its words, so that [`find_missing`], which searches and reads,
/// would find nothing that it lacks. What a question quotes or refers to is not looked for here.
///
/// # Errors
/// The index failed.
pub(crate) async fn is_surely_answered(
    resources: &Resources,
    question: &str,
    filter: &Filter,
    texts: impl IntoIterator<Item = String>,
) -> Result<bool> {
    let read = Question::parse(question);
    if read.terms.is_empty() || question.contains(['"', '\u{201c}', '#', '!', '@']) {
        return Ok(false);
    }
    let weights = question_weights(resources, &read, filter).await?.weights();
    Ok(texts.into_iter().any(|text| {
        let found = read.found_in(&stems(&text));
        let has_names = read.terms.iter().zip(&found).all(|(term, found)| *found || !term.named);
        has_names && share(&weights, &found) >= SURE
    }))
}

/// Checks a question and what it is narrowed to.
fn check_question(request: &AskRequest) -> Result<()> {
    let length = request.question.trim().chars().count();
    if length == 0 {
        return Err(Error::invalid("the question is empty").with_hint("say what you want to know"));
    }
    if length > MAX_QUERY {
        let message = format!("the question has {length} characters; at most {MAX_QUERY} are allowed");
        return Err(Error::invalid(message));
    }
    check_names(&request.filter)?;
    if request.filter.revision.is_some() || request.filter.snapshot.is_some() {
        return Err(Error::invalid("questions are answered from the current state")
            .with_hint("leave the ref and the snapshot out; 'search' and 'context' take them"));
    }
    Ok(())
}

async fn find_evidence(resources: &Resources, request: &AskRequest) -> Result<AskEvidence> {
    let mut reading = Box::pin(read_stories(resources, request)).await?;
    reading.asked.is_strict = true;
    let sources = Box::pin(read_change_reasons(resources, &mut reading, &request.filter)).await?;
    let mut scored = reading.score_by_words();
    reading.add_meaning(resources, &mut scored).await;
    let mut verdict = reading.judge(&scored);
    let mut misspelled = Vec::new();
    if !verdict.nowhere.is_empty() {
        let unknown = find_nearest_names(resources, &request.filter, &verdict.nowhere, &reading.stories).await?;
        let described = UnknownWord::describe_all(&unknown);
        if reading.correct(&unknown) {
            scored = reading.score_by_words();
            reading.add_meaning(resources, &mut scored).await;
            verdict = reading.judge(&scored);
            misspelled = described;
        } else {
            verdict.missing = described;
        }
    }
    let is_barred = !reading.asked.absent.is_empty() || !reading.asked.unsaid.is_empty();
    // A word that occurs nowhere asks for something else, whatever is known of the rest.
    let sources = sources.filter(|_| !is_barred && verdict.nowhere.iter().all(|word| says_change(word)));
    let reason = sources.as_ref().filter(|sources| sources.put_reasons_first(&reading, &mut scored));
    if reason.is_some() {
        // It is surely about the question, wherever the words of that stand.
        verdict.answerable = true;
        verdict.missing.clear();
        verdict.lacking.clear();
    }
    misspelled.append(&mut verdict.missing);
    verdict.missing = misspelled;
    let weights = reading.asked.weights();
    let lacking: Vec<Term> = verdict.lacking.iter().filter_map(|at| reading.read.terms.get(*at).cloned()).collect();
    let Reading { question, query, read, stories, mut warnings, change, unwritten, comparison_failed, .. } = reading;
    verdict.missing.extend(unwritten);
    let search_warnings = warnings.clone();
    warnings.extend(comparison_failed.then(|| NOT_COMPARED.to_owned()));
    // What lacks a name that the question gives is about something else.
    let is_about = |story: &Story| verdict.about.iter().any(|id| *id == story.id.to_string());
    scored.retain(|one| {
        let story = &stories[one.story];
        is_about(story) || reason.is_some_and(|sources| sources.has(story))
    });
    let mut lacks_reason = read.kind == QuestionKind::Why && reason.is_none();
    if verdict.answerable {
        warnings.append(&mut verdict.missing);
        if lacks_reason {
            let warning = prefer_reasons(&query, &weights, &stories, &mut scored);
            lacks_reason = warning.is_some();
            warnings.extend(warning);
        }
    }
    if let (Some(sources), Some(change), None) = (&sources, &change, reason) {
        let told = if verdict.answerable { &mut warnings } else { &mut verdict.missing };
        let silence = sources.describe_silence(change, &stories, &scored);
        lacks_reason |= silence.is_some();
        told.extend(silence);
    }
    Ok(AskEvidence {
        question,
        stories,
        scored,
        verdict,
        warnings,
        search_warnings,
        weights,
        lacking,
        change,
        is_barred,
        lacks_reason,
    })
}

/// Adds where the decision stands, and what the reader must know.
async fn finish_answer(
    resources: &Resources,
    found: &AskEvidence,
    mut answer: Answer,
    warnings: Vec<String>,
) -> Result<Answer> {
    // The story that most of the answer's weight comes from.
    let first = answer.citations.first().map(|citation| citation.id.clone()).unwrap_or_default();
    let story = found.stories.iter().find(|story| story.documents.iter().any(|d| d.id.to_string() == first));
    if let Some(id) = story.map(|story| story.id.clone()) {
        answer.standing = resources.blocking(move |resources| decision_status(resources, &id)).await?;
    }
    let cited = answer.citations.iter().flat_map(|citation| [citation.title.as_str(), citation.text.as_str()]);
    let lacking = describe_lacking(&found.lacking, cited);
    answer.warnings = found.warnings.iter().cloned().chain(lacking).chain(warnings).collect();
    Ok(answer)
}

/// Says which of these words of a question none of the texts has, in whatever form.
fn describe_lacking<'a>(words: &[Term], texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let said: BTreeSet<String> = texts.flat_map(stems).collect();
    let is_said = |term: &&Term| said.iter().any(|stem| may_be_of_one_word(stem, &term.stem));
    let lacking: Vec<&str> = words.iter().filter(|term| !is_said(term)).map(|term| term.word.as_str()).collect();
    (!lacking.is_empty()).then(|| occur_apart(&lacking))
}

/// Tells the statements of an answer, each with what it cites.
async fn send_statements(telling: Option<&StatementSender>, answer: &Answer) {
    for statement in &answer.statements {
        let cited = answer.citations.iter().filter(|citation| statement.citations.contains(&citation.number));
        send_statement(telling, statement, cited.cloned().collect()).await;
    }
}

/// Tells a statement, unless nobody listens.
async fn send_statement(telling: Option<&StatementSender>, statement: &Statement, citations: Vec<Citation>) {
    if let Some(telling) = telling {
        let _ = telling.send((statement.clone(), citations)).await;
    }
}

/// The best pieces, verbatim; those of one story stay together, in the order in which they were said.
fn quote_answer(found: &AskEvidence) -> Answer {
    let mut chosen = choose_quotes(&found.scored, &found.stories, MAX_QUOTES);
    if Question::parse(&found.question).kind == QuestionKind::Why {
        add_reasons(&mut chosen, &found.stories);
    }
    let rank: BTreeMap<usize, usize> =
        chosen.iter().enumerate().rev().map(|(place, quote)| (quote.story, place)).collect();
    chosen.sort_by_key(|quote| (rank[&quote.story], quote.passages));
    let confidence = found.verdict.confidence;
    let mut answer = Answer { question: found.question.clone(), confidence, ..Answer::default() };
    for (number, quote) in (1..).zip(&chosen) {
        let (at, range) = quote.place();
        let document = &found.stories[quote.story].documents[at];
        let mut range = include_list_marker(&document.text, range);
        // Lines of a file are shown as they are.
        if document.file.is_none() {
            range = include_fences(&document.text, &range);
        }
        let citation = document.cite(number, range);
        answer.statements.push(Statement { text: citation.text.clone(), citations: vec![number] });
        answer.citations.push(citation);
    }
    answer.answered = !answer.statements.is_empty();
    answer.method = Method::Extractive;
    answer
}

/// Refuses a question, and says where the work of the people is told whom it names.
async fn refuse(resources: &Resources, found: &mut AskEvidence) -> Result<Answer> {
    let question = found.question.clone();
    let people = resources.blocking(move |resources| describe_people(resources, &question)).await?;
    let missing = &mut found.verdict.missing;
    for person in people {
        if !missing.iter().any(|said| said.ends_with(&person)) {
            missing.push(person);
        }
    }
    Ok(build_refusal(found))
}

fn build_refusal(found: &AskEvidence) -> Answer {
    let (documents, stories) = &found.verdict.searched;
    let read = match stories.as_slice() {
        [] => String::new(),
        some => format!(", and read what fits best: {}", some.join(", ")),
    };
    let refusal = Refusal {
        sentence: REFUSAL_SENTENCE.to_owned(),
        searched: format!("searched {documents} documents{read}"),
        missing: found.verdict.missing.clone(),
    };
    Answer {
        question: found.question.clone(),
        confidence: found.verdict.confidence,
        refusal: Some(refusal),
        warnings: found.warnings.clone(),
        ..Answer::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_quoted_in_another_form_is_not_said_to_be_lacking() {
        let words = Question::parse("Why is clearing of secrets configurable?").terms;
        let told = |texts: &[&str]| describe_lacking(&words, texts.iter().copied());
        let lacking = |words: &str| Some(format!("nothing mentions {words} together with the rest of the question"));
        assert_eq!(told(&[]), lacking("'clearing', 'secrets', 'configurable'"));
        assert_eq!(told(&["Each secret is cleared."]), lacking("'configurable'"));
        assert_eq!(told(&["Clear it", "It is secret, see the config."]), None);
    }
}
