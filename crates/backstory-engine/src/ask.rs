//! Answers to questions, strictly from what was read: quotes with author, date and place, or sentences of a language
//! model that were checked against what they cite; and a refusal where the evidence does not suffice.
//!
//! Who made a change, when and in which release is answered from `facts` (`changes` tells what is about the opposite). Any
//! other question is searched for ([`search`](crate::search)). The six best result groups are read whole from ledger and
//! clones and cut into sentences, comments and blocks of code (`stories`), with the definitions of what the question is
//! about (`definition`). `evidence` judges whether that can answer at all, `select` picks the quotes. With a language
//! model, `generate` gives it numbered passages and keeps the sentences that [`support`](crate::support) finds in what
//! they cite. `verify` proves citations again. The decisions behind it are 0016 and 0020 in `docs/decisions`.

mod changes;
mod definition;
pub mod evidence;
mod facts;
pub(crate) mod generate;
mod nowhere;
mod select;
mod stories;
mod verify;

use std::collections::BTreeMap;

use backstory_model::{
    answer::{Answer, Citation, Method, REFUSAL_SENTENCE, Refusal, Statement},
    change_question::ChangeQuestion,
    filter::Filter,
    id::NodeId,
    question::Question,
    sentence::stems,
    terms::term_of,
    text::{has_stem, stem},
};
use backstory_store::index::{ProjectScope, StoredDocument};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::{
    citations::date_by_lines,
    decision_status::decision_status,
    error::{Error, Result},
    read::existing_nodes,
    resources::Resources,
    search::{Expansion, MAX_QUERY, Mode, SearchRequest, SearchResponse, check_names, find_named, search_documents},
    settings::Ranking,
    state::answers::AnswerKey,
    use_case::{UseCase, Weight},
};
use changes::{answer_change, opposing_passages};
use definition::{definitions_asked, kind_word};
use evidence::{Candidate, PassageFit, QuestionWord, SURE, Verdict, WeightedQuestion, may_fit, share};
use generate::generate_answer;
use nowhere::{UnknownWord, find_nearest_names, mark_familiar_words};
use select::{MAX_QUOTES, Scored, add_meaning, choose_quotes, score_by_words};
use stories::{Story, load_stories};

pub use verify::{Check, MAX_CITATIONS, VerifyRequest};

/// Hits of the search that stories are made of.
const HITS: usize = 40;
/// Number of words at which a text in quotation marks must have been said just so.
const QUOTED_WORDS: usize = 4;
/// Pieces whose meaning is compared only to tell whether there is an answer: a model takes milliseconds for each.
const MAX_COMPARED: usize = 8;
/// Documents that are left out in which a rare word is looked for.
const LEFT_OUT_HITS: usize = 30;

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskRequest {
    /// The question, at most [`MAX_QUERY`] characters.
    pub question: String,
    /// What was asked before, if the question goes on from there: its words are searched for too.
    #[serde(default)]
    pub before: Option<String>,
    /// What to narrow it to.
    #[serde(default)]
    pub filter: Filter,
    /// Whether a language model may word the answer, if one is configured; it may if absent.
    #[serde(default = "default_model")]
    pub model: bool,
    /// How what is found is ranked, if not as configured.
    #[serde(default)]
    pub ranking: Option<Ranking>,
}

fn default_model() -> bool {
    true
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
    /// The change that it asks about.
    change: Option<ChangeQuestion>,
    /// Whether it names or quotes what is not there.
    is_barred: bool,
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
/// Those of [`Self::ask`].
pub(crate) async fn ask_streaming(
    resources: &Resources,
    request: AskRequest,
    telling: Option<StatementSender>,
) -> Result<Answer> {
    let model = resources.chat_model().filter(|_| request.model).cloned();
    let mut found = find_evidence(resources, &request).await?;
    if let Some(answer) = Box::pin(answer_change(resources, &request.filter, &mut found)).await? {
        send_statements(telling.as_ref(), &answer).await;
        return Ok(answer);
    }
    if !found.verdict.answerable {
        return Ok(build_refusal(&found));
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
        found.verdict.missing.push("nothing in them says enough to be quoted".to_owned());
        return Ok(build_refusal(&found));
    }
    send_statements(telling.as_ref(), &answer).await;
    finish_answer(resources, &found, answer, warnings).await
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

/// What a question lacks to be answered from what is stored, a sentence each; `None` if it can be answered.
///
/// # Errors
/// Those of [`ask`].
pub(crate) async fn find_missing(resources: &Resources, request: AskRequest) -> Result<Option<Vec<String>>> {
    let reading = Box::pin(read_stories(resources, &request)).await?;
    let mut scored = reading.score_by_words();
    // By words alone, which is quick; of a question that they can answer the meaning is not asked.
    let mut verdict = reading.judge(&scored);
    if !verdict.answerable {
        let weights = reading.asked.weights();
        scored.retain(|one| may_fit(&weights, &one.around));
        scored.truncate(MAX_COMPARED);
        if !scored.is_empty() {
            reading.add_meaning(resources, &mut scored).await;
            verdict = reading.judge(&scored);
        }
    }
    Ok((!verdict.answerable).then_some(verdict.missing))
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

/// What was read for a question, before it is judged.
struct Reading {
    question: String,
    query: String,
    read: Question,
    asked: WeightedQuestion,
    stories: Vec<Story>,
    by_meaning: bool,
    warnings: Vec<String>,
    change: Option<ChangeQuestion>,
}

impl Reading {
    /// Scores the pieces of the stories by the words of the question, without those that say the opposite.
    fn score_by_words(&self) -> Vec<Scored> {
        let mut scored = score_by_words(&self.read, &self.asked.weights(), &self.stories);
        if let Some(change) = &self.change {
            let opposing = opposing_passages(change, &self.stories);
            scored.retain(|one| !opposing[one.story].contains(&one.passage));
        }
        scored
    }

    /// Adds how near the best pieces are in meaning, if there are vectors.
    async fn add_meaning(&self, resources: &Resources, scored: &mut [Scored]) {
        if self.by_meaning {
            add_meaning(resources, &self.query, &self.stories, scored).await;
        }
    }

    fn judge(&self, scored: &[Scored]) -> Verdict {
        evidence::judge(&self.asked, &candidates(&self.read, &self.stories, scored))
    }

    /// Reads words that no document has as the names that they misspell, if all of them do.
    fn correct(&mut self, unknown: &[UnknownWord]) -> bool {
        let corrections: Option<Vec<(&str, &str)>> =
            unknown.iter().map(|one| Some((one.word.as_str(), one.correction()?))).collect();
        let Some(corrections) = corrections else { return false };
        for (word, term) in self.asked.words.iter_mut().zip(&mut self.read.terms) {
            if let Some((_, name)) = corrections.iter().find(|(wrong, _)| *wrong == word.word) {
                term.stem = stem(&name.to_lowercase());
                word.documents = word.documents.max(1);
            }
        }
        true
    }
}

async fn find_evidence(resources: &Resources, request: &AskRequest) -> Result<AskEvidence> {
    let mut reading = Box::pin(read_stories(resources, request)).await?;
    reading.asked.is_strict = true;
    let mut scored = reading.score_by_words();
    reading.add_meaning(resources, &mut scored).await;
    let mut verdict = reading.judge(&scored);
    let mut misspelled = Vec::new();
    if !verdict.nowhere.is_empty() {
        let unknown = find_nearest_names(resources, &request.filter, &verdict.nowhere, &reading.stories).await?;
        let described: Vec<String> = unknown.iter().map(UnknownWord::describe).collect();
        if reading.correct(&unknown) {
            scored = reading.score_by_words();
            reading.add_meaning(resources, &mut scored).await;
            verdict = reading.judge(&scored);
            misspelled = described;
        } else {
            verdict.missing = described;
        }
    }
    misspelled.append(&mut verdict.missing);
    verdict.missing = misspelled;
    let is_barred = !reading.asked.absent.is_empty() || !reading.asked.unsaid.is_empty();
    let weights = reading.asked.weights();
    let Reading { question, stories, mut warnings, change, .. } = reading;
    let search_warnings = warnings.clone();
    // What lacks a name that the question gives is about something else.
    scored.retain(|one| verdict.about.iter().any(|id| *id == stories[one.story].id.to_string()));
    if verdict.answerable {
        warnings.append(&mut verdict.missing);
    }
    Ok(AskEvidence { question, stories, scored, verdict, warnings, search_warnings, weights, change, is_barred })
}

/// Searches for a question and reads what fits best.
async fn read_stories(resources: &Resources, request: &AskRequest) -> Result<Reading> {
    let question = request.question.trim();
    let length = question.chars().count();
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
    // It is repeated in the answer, and may be kept.
    let question = resources.redactor().redact(question).0.into_owned();
    let before = request.before.as_deref().unwrap_or_default();
    let query: String = format!("{question} {before}").trim().chars().take(MAX_QUERY).collect();
    let kind_word = kind_word(&question).map(str::to_lowercase);
    let parse = |text: &str| {
        let mut parsed = Question::parse(text);
        parsed.terms.retain(|term| Some(term.word.to_lowercase()) != kind_word);
        parsed
    };
    let own = parse(&question);
    // Those of a question that goes on from one before; 0 if there is nothing to tell them from.
    let own_words = if before.is_empty() { 0 } else { own.terms.len() };
    let read = Question { kind: own.kind, ..parse(&query) };
    let search = SearchRequest {
        query: query.clone(),
        filter: request.filter.clone(),
        limit: HITS,
        ranking: request.ranking,
        rerank: true,
        // Only the best hits are read.
        expansion: Expansion::None,
        ..Default::default()
    };
    let (response, asked) =
        tokio::try_join!(search_documents(resources, search), question_weights(resources, &read, &request.filter))?;
    let asked = WeightedQuestion { own: own_words, ..asked };
    let definitions = definitions_asked(resources, &question, &request.filter).await?;
    let stories = load_stories(resources, &response.hits, &definitions).await?;
    let by_meaning = response.mode == Mode::Hybrid && response.coverage.embedded > 0;
    let named = find_named(resources, &question, request.filter.project.as_deref()).await?;
    let is_read = named.iter().any(|id| stories.iter().any(|story| story.id == *id));
    // Who made an issue or commit that the question names is no change to what the project has.
    let change = ChangeQuestion::parse(&question)
        .or_else(|| ChangeQuestion::parse_after(&question, before))
        .filter(|_| named.is_empty());
    let absent = missing_references(resources, named, &request.filter).await?;
    let unsaid = unquoted_phrases(&question, &stories);
    let mut asked = WeightedQuestion { named: is_read, absent, unsaid, ..asked };
    mark_familiar_words(&mut asked, &read, &stories, resources.embedder());
    Ok(Reading { question, query, read, asked, stories, by_meaning, warnings: warnings(response), change })
}

/// Those of the issues, merge requests and commits that are not there, or left out. A merge that only repeats its
/// request has no document, but the graph knows it.
async fn missing_references(resources: &Resources, named: Vec<NodeId>, filter: &Filter) -> Result<Vec<String>> {
    let known = existing_nodes(resources, named.clone()).await?;
    let absent = named.into_iter().filter(|id| !known.contains(id) || filter.exclude.contains(&id.to_string()));
    Ok(absent.map(|id| id.to_string()).collect())
}

/// The words of a question and how many documents have each.
async fn question_weights(resources: &Resources, question: &Question, filter: &Filter) -> Result<WeightedQuestion> {
    let index = resources.index();
    let (project, projects) = (filter.project.clone(), filter.projects.clone());
    let within = Filter { project, projects, ..Filter::default() };
    let projects = ProjectScope::of(filter);
    let terms: Vec<_> = question.terms.iter().map(|term| term_of(&term.word)).collect();
    let (documents, frequencies) = index.document_frequencies(projects, terms.iter().map(|term| term.unwrap_or(0)));
    // What is no term is a word that all have.
    let frequencies = terms.iter().zip(frequencies).map(|(term, of)| if term.is_some() { of } else { documents });
    let left_out = Filter { nodes: filter.exclude.clone(), ..within };
    let counts = question.terms.iter().zip(frequencies).map(|(term, frequency)| {
        let (index, left_out) = (index.clone(), left_out.clone());
        async move {
            if left_out.nodes.is_empty() || frequency == 0 || frequency > LEFT_OUT_HITS as u64 {
                return Ok::<_, Error>(frequency);
            }
            // What is left out is counted; the texts tell, as parts of a name are found too.
            let hits = index.search_text(&term.word, &left_out, LEFT_OUT_HITS).await?;
            let ids: Vec<String> = hits.into_iter().map(|hit| hit.document).collect();
            let documents = index.documents(&ids).await?.into_iter();
            let has = |document: &StoredDocument| has_stem(&stems(&document.text), &term.stem);
            Ok(frequency.saturating_sub(documents.filter(has).count() as u64))
        }
    });
    let counts = try_join_all(counts).await?;
    let word = |(term, documents): (&backstory_model::question::Term, u64)| QuestionWord {
        word: term.word.clone(),
        named: term.named,
        documents,
        is_familiar: false,
    };
    let asked = question.terms.iter().zip(counts).map(word).collect();
    Ok(WeightedQuestion {
        words: asked,
        documents: index.coverage_of(projects).documents,
        ..WeightedQuestion::default()
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
    answer.warnings = found.warnings.iter().cloned().chain(warnings).collect();
    Ok(answer)
}

/// What stands in quotation marks, is long enough to be a saying, and in none of the stories.
fn unquoted_phrases(question: &str, stories: &[Story]) -> Vec<String> {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let quotes = question.split(['"', '\u{201c}', '\u{201d}']).skip(1).step_by(2);
    let quotes = quotes.filter(|quote| quote.split_whitespace().count() >= QUOTED_WORDS);
    let said = |quote: &&str| {
        let quote = plain(quote);
        stories.iter().flat_map(|story| &story.documents).any(|document| plain(&document.text).contains(&quote))
    };
    quotes.filter(|quote| !said(quote)).map(str::to_owned).collect()
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

fn warnings(response: SearchResponse) -> Vec<String> {
    response.warnings
}

/// What the verdict is about. Where there are vectors, a piece that was not compared is too far behind to be near.
fn candidates(question: &Question, stories: &[Story], scored: &[Scored]) -> Vec<Candidate> {
    let far = scored.iter().any(|one| one.meaning.is_some()).then_some(0.0);
    let mut passages: Vec<Vec<PassageFit>> = stories.iter().map(|_| vec![]).collect();
    for one in scored {
        passages[one.story].push(PassageFit { covered: one.around.clone(), meaning: one.meaning.or(far) });
    }
    let candidate = |(story, passages): (&Story, Vec<PassageFit>)| Candidate {
        id: story.id.to_string(),
        covered: story.found(question),
        passages,
    };
    stories.iter().zip(passages).map(candidate).collect()
}

/// The best pieces, verbatim; those of one story stay together, in the order in which they were said.
fn quote_answer(found: &AskEvidence) -> Answer {
    let mut chosen = choose_quotes(&found.scored, &found.stories, MAX_QUOTES);
    let rank: BTreeMap<usize, usize> =
        chosen.iter().enumerate().rev().map(|(place, quote)| (quote.story, place)).collect();
    chosen.sort_by_key(|quote| (rank[&quote.story], quote.passages));
    let confidence = found.verdict.confidence;
    let mut answer = Answer { question: found.question.clone(), confidence, ..Answer::default() };
    for (number, quote) in (1..).zip(&chosen) {
        let (document, range) = quote.place();
        let citation = found.stories[quote.story].documents[document].cite(number, range);
        answer.statements.push(Statement { text: citation.text.clone(), citations: vec![number] });
        answer.citations.push(citation);
    }
    answer.answered = !answer.statements.is_empty();
    answer.method = Method::Extractive;
    answer
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
