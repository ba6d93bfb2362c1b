//! What is read for a question before it is judged: the stories that a search finds, and how much each word of the question
//! tells.

use backstory_model::{
    change_question::ChangeQuestion,
    filter::Filter,
    id::NodeId,
    question::{Question, Term},
    score::Parts,
    sentence::stems,
    terms::term_of,
    text::{has_stem, stem},
};
use backstory_store::index::{ProjectScope, StoredDocument};
use futures::future::try_join_all;

use super::{
    AskRequest,
    changes::opposing_passages,
    check_question,
    definition::{definitions_asked, kind_word},
    evidence::{self, Candidate, PassageFit, QuestionWord, Verdict, WeightedQuestion},
    nowhere::{UnknownWord, mark_familiar_words},
    release_names::{relax_releases, releases_asked},
    select::{Scored, add_meaning, order, score_by_words},
    stories::{Story, load_stories},
};
use crate::{
    error::{Error, Result},
    read::existing_nodes,
    resources::Resources,
    search::{Expansion, MAX_QUERY, Mode, SearchRequest, SearchResponse, find_named, search_documents},
};

/// Hits of the search that stories are made of.
const HITS: usize = 40;
/// Number of words at which a text in quotation marks must have been said just so.
const QUOTED_WORDS: usize = 4;
/// Documents that are left out in which a rare word is looked for.
const LEFT_OUT_HITS: usize = 30;
/// Said if the embedding model failed or took too long.
pub(super) const NOT_COMPARED: &str =
    "sentences were chosen by their words alone: the embedding model failed or took too long to compare them";

/// What was read for a question, before it is judged.
pub(super) struct Reading {
    pub(super) question: String,
    /// It and the question before, if it goes on from one.
    pub(super) query: String,
    pub(super) read: Question,
    pub(super) asked: WeightedQuestion,
    pub(super) stories: Vec<Story>,
    pub(super) by_meaning: bool,
    /// Whether the model failed or took too long where it should have compared pieces by meaning.
    pub(super) comparison_failed: bool,
    pub(super) warnings: Vec<String>,
    pub(super) change: Option<ChangeQuestion>,
    /// Says of releases that it names and no text mentions.
    pub(super) unwritten: Vec<String>,
}

impl Reading {
    /// Scores the pieces of the stories by the words of the question, without those that say the opposite.
    pub(super) fn score_by_words(&self) -> Vec<Scored> {
        let mut scored = score_by_words(&self.read, &self.asked.weights(), &self.stories);
        if let Some(change) = &self.change {
            let opposing = opposing_passages(change, &self.stories);
            scored.retain(|one| !opposing[one.story].contains(&one.passage));
        }
        scored
    }

    /// Adds how near the best pieces are in meaning, if there are vectors, and orders them as they answer.
    pub(super) async fn add_meaning(&mut self, resources: &Resources, scored: &mut [Scored]) {
        if !self.by_meaning {
            order(scored);
        } else if !add_meaning(resources, &self.query, &self.stories, scored).await {
            self.by_meaning = false;
            self.comparison_failed = true;
        }
    }

    pub(super) fn judge(&self, scored: &[Scored]) -> Verdict {
        evidence::judge(&self.asked, &candidates(&self.read, &self.stories, scored))
    }

    /// Reads words that no document has as the names that they misspell, if all of them do.
    pub(super) fn correct(&mut self, unknown: &[UnknownWord]) -> bool {
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

/// Searches for a question and reads what fits best.
pub(super) async fn read_stories(resources: &Resources, request: &AskRequest) -> Result<Reading> {
    check_question(request)?;
    // It is repeated in the answer, and may be kept.
    let question = resources.redactor().redact(request.question.trim()).0.into_owned();
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
    let mut read = Question { kind: own.kind, ..parse(&query) };
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
    let mut asked = WeightedQuestion { own: own_words, ..asked };
    let releases = releases_asked(resources, &question, &request.filter).await?;
    let unwritten = relax_releases(&releases, &mut read, &mut asked);
    let definitions = definitions_asked(resources, &question, &request.filter).await?;
    let mut stories = load_stories(resources, &response.hits, &definitions).await?;
    let by_meaning = response.mode == Mode::Hybrid && response.coverage.embedded > 0;
    if by_meaning {
        add_fits(&response, &mut stories);
    }
    let named = find_named(resources, &question, request.filter.project.as_deref()).await?;
    let is_read = named.iter().any(|id| stories.iter().any(|story| story.id == *id));
    // Who made an issue or commit that the question names is no change to what the project has.
    let mut change = ChangeQuestion::parse(&question)
        .or_else(|| ChangeQuestion::parse_after(&question, before))
        .filter(|_| named.is_empty());
    if let Some(change) = &mut change {
        for release in &releases {
            change.leave_out_context(&release.phrase());
        }
    }
    drop(releases);
    let absent = missing_references(resources, named, &request.filter).await?;
    let unsaid = unquoted_phrases(&question, &stories);
    let mut asked = WeightedQuestion { named: is_read, absent, unsaid, ..asked };
    mark_familiar_words(&mut asked, &read, &stories, resources.embedder());
    let warnings = response.warnings;
    Ok(Reading {
        question,
        query,
        read,
        asked,
        stories,
        by_meaning,
        comparison_failed: false,
        warnings,
        change,
        unwritten,
    })
}

/// Notes how well stories fit by words and meaning, as their best hits do, unless the ranking leaves one of these out. Of what
/// has no vectors yet it is not known.
fn add_fits(response: &SearchResponse, stories: &mut [Story]) {
    let Parts { semantic, lexical, .. } = response.ranking.weights;
    if semantic == 0.0 || lexical == 0.0 {
        return;
    }
    for story in stories {
        let id = story.id.to_string();
        let hits = response.hits.iter().filter(|hit| *hit.document.facts.thread == *id && hit.parts.semantic > 0.0);
        story.fit = hits.map(|hit| f32::midpoint(hit.parts.semantic, hit.parts.lexical)).reduce(f32::max);
    }
}

/// Those of the issues, merge requests and commits that are not there, or left out. A merge that only repeats its
/// request has no document, but the graph knows it.
async fn missing_references(resources: &Resources, named: Vec<NodeId>, filter: &Filter) -> Result<Vec<String>> {
    let known = existing_nodes(resources, named.clone()).await?;
    let absent = named.into_iter().filter(|id| !known.contains(id) || filter.exclude.contains(&id.to_string()));
    Ok(absent.map(|id| id.to_string()).collect())
}

/// The words of a question and how many documents have each.
pub(super) async fn question_weights(
    resources: &Resources,
    question: &Question,
    filter: &Filter,
) -> Result<WeightedQuestion> {
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
    let word = |(term, documents): (&Term, u64)| QuestionWord {
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
        fit: story.fit,
        passages,
    };
    stories.iter().zip(passages).map(candidate).collect()
}
