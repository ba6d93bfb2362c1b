//! Searches the tables: by words, by meaning, by id. Ranking belongs to `engine::search`.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use backstory_model::{
    filter::Filter,
    terms::{TermId, term_id},
};
use lancedb::{
    DistanceType,
    index::scalar::{FtsQuery, FullTextSearchQuery, MatchQuery},
    query::{QueryBase as _, Select},
    table::tokenize,
};

use super::{
    Index,
    columns::{Columns, vector},
    error::IndexError,
    filter::{Condition, VALUES_PER_QUERY, any_of, condition},
    options::IndexOptions,
    passages::Passages,
    places::addresses,
    rows::{STORED_COLUMNS, stored_documents},
    schema::{CONFIDENTIAL, DOCUMENT, ID, MAX_TERM, SEARCH_TEXT, TEXT, TEXT_HASH, VECTOR, analyzer},
    tables::{fetch, snapshot},
    types::{DocumentFacts, PassageId, ProjectScope, StoredDocument, TextHit, VectorHit},
    version_ids::public_id,
    words::{Bm25, compounds},
};

/// Most hits of one search.
const MAX_HITS: usize = 1000;
/// Most documents that a search of a view reads, as what is not in it is among them.
const MAX_HITS_OF_VIEW: usize = 64_000;
/// Words of a query that are searched for, the first ones; 10,000 characters of a log need not all be looked up.
pub const MAX_QUERY_WORDS: usize = 64;
/// Number of documents with a compound word at which its parts alone are looked up.
const COMMON_COMPOUND: u64 = 10_000;
/// How many times as many documents the rarest of its parts may have: of those that happen to have both there are too many
/// otherwise.
const COMMON_PARTS: u64 = 4;
/// How many times more hits are fetched then, as their order is that of the parts.
const MORE_BY_PARTS: usize = 4;
/// Hits that are fetched beyond those asked for: when documents with equal scores stand at the end, the ids decide.
const SPARE_HITS: usize = 32;
/// One more passage than documents asked for is fetched for so many of them, as a document can have several that match.
const HITS_PER_SPARE_PASSAGE: usize = 2;
/// Passages that an index on vectors is asked for beyond those: its order is not quite right.
const SPARE_PASSAGES: usize = 64;
/// How many times more passages are fetched when they were of too few documents,
const MORE_PASSAGES: usize = 4;
/// and the most.
const MAX_PASSAGES: usize = 64_000;
const SCORE: &str = "_score";
const DISTANCE: &str = "_distance";

impl Index {
    /// Documents with words of the query in their text, which has the title too, at most `limit`, by BM25 score over all
    /// that is visible of the projects that the filter names, equal ones by id. The query is words and nothing else: no
    /// character in it means anything. Without a word that can be searched for there are no hits.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn search_text(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<TextHit>, IndexError> {
        self.guarded(async {
            let words = words(query);
            let terms = terms_of(&words)?;
            let limit = limit.min(MAX_HITS);
            if terms.is_empty() || limit == 0 {
                return Ok(Vec::new());
            }
            let condition = self.condition(filter, ID);
            if matches!(condition, Condition::None) {
                return Ok(Vec::new());
            }
            let mut wanted = limit + SPARE_HITS;
            let projects = ProjectScope::of(filter);
            if self.hides_anything() || !matches!(projects, ProjectScope::All) {
                // The order of the store counts in what is not visible or of another project.
                wanted += limit;
            }
            let mut most = MAX_HITS;
            if self.view.is_some() {
                // What is not in the view is found too.
                (wanted, most) = (MAX_HITS, MAX_HITS_OF_VIEW);
            }
            let looked_up = self.looked_up(&words, projects)?;
            if looked_up != words {
                wanted = (wanted * MORE_BY_PARTS).min(most.max(wanted));
            }
            let (mut hits, mut found) = self.matches(&looked_up, &condition, wanted).await?;
            while found == wanted && wanted < most && has_open_end(&hits, limit, self.view.is_some()) {
                wanted = (wanted * 4).min(most);
                (hits, found) = self.matches(&looked_up, &condition, wanted).await?;
            }
            let mut hits = Box::pin(self.score(hits, &terms, projects)).await?;
            hits.truncate(limit);
            Ok(hits)
        })
        .await
    }

    /// Those of some documents that have words of the query, with the scores that [`search_text`](Self::search_text) gives
    /// them, in its order. Rows are read by their addresses, which takes a fraction of the time of a search among so many.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn score_text(
        &self,
        query: &str,
        filter: &Filter,
        documents: &[String],
    ) -> Result<Vec<TextHit>, IndexError> {
        self.guarded(async {
            let terms = terms_of(&words(query))?;
            if terms.is_empty() {
                return Ok(Vec::new());
            }
            let rows: Vec<TextHit> = {
                let (counted, each) = (self.counted(), documents.iter().collect::<HashSet<_>>());
                let visible = each.into_iter().filter(|id| counted.stats.facts.is_visible(id, self.selection()));
                visible.map(|id| TextHit { document: self.row_id(id).to_string(), score: 0.0 }).collect()
            };
            Box::pin(self.score(rows, &terms, ProjectScope::of(filter))).await
        })
        .await
    }

    /// The words that the store looks up. Among very many documents with a compound word it compares most, as each has all
    /// of its parts, too. The parts alone find these in a fifth of the time; the score is that of all words.
    fn looked_up(&self, query: &str, projects: ProjectScope<'_>) -> Result<String, IndexError> {
        let frequency = |term: TermId| {
            let counted = self.counted().stats.word_statistics(projects, self.selection(), &[term]);
            counted.frequencies.into_iter().map(|(_, of)| of).next().unwrap_or(0)
        };
        let compounds: HashMap<&str, u64> =
            compounds(query)?.into_iter().map(|(word, term)| (word, frequency(term))).collect();
        let mut looked_up = Vec::new();
        for word in query.split(' ') {
            let of_word = compounds.get(word).copied().unwrap_or(0);
            let parts = if of_word > COMMON_COMPOUND { parts_of(word)? } else { None };
            let rarest = parts.iter().flat_map(|(_, terms)| terms).map(|term| frequency(*term)).min();
            let stands_for_it = rarest.is_some_and(|of_part| of_part <= of_word.saturating_mul(COMMON_PARTS));
            looked_up.push(match parts {
                Some((parts, _)) if stands_for_it => parts,
                _ => word.to_owned(),
            });
        }
        let (all, mut seen) = (looked_up.join(" "), HashSet::new());
        Ok(all.split(' ').filter(|word| !word.is_empty() && seen.insert(*word)).collect::<Vec<_>>().join(" "))
    }

    /// Scores rows by what is visible, the best first.
    async fn score(
        &self,
        mut hits: Vec<TextHit>,
        terms: &[TermId],
        projects: ProjectScope<'_>,
    ) -> Result<Vec<TextHit>, IndexError> {
        let bm25 = Bm25::new(&self.counted().stats.word_statistics(projects, self.selection(), terms));
        let rows: Vec<&str> = hits.iter().map(|hit| hit.document.as_str()).collect();
        let mut scores = self.scores(&rows, &bm25).await?;
        // A write may have moved the words of some between finding and reading them.
        let missing: Vec<&str> = rows.into_iter().filter(|row| !scores.contains_key(*row)).collect();
        if !missing.is_empty() {
            scores.extend(self.scores(&missing, &bm25).await?);
        }
        hits.iter_mut().for_each(|hit| hit.score = scores.get(hit.document.as_str()).copied().unwrap_or(0.0));
        hits.retain(|hit| hit.score > 0.0);
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
        hits.iter_mut().for_each(|hit| hit.document.truncate(public_id(&hit.document).len()));
        Ok(hits)
    }

    /// The scores of rows, of those that have words.
    async fn scores(&self, rows: &[&str], bm25: &Bm25) -> Result<HashMap<String, f32>, IndexError> {
        let (words, bm25) = (self.counted().stats.ranking.find_words(rows), bm25.clone());
        let scored = tokio::task::spawn_blocking(move || {
            let read = words.read().filter(|found| !matches!(found, Ok((_, of)) if of.words.is_empty()));
            read.map(|found| found.map(|(id, of)| (id, bm25.score(&of.words, &of.counts)))).collect()
        });
        scored.await.map_err(IndexError::store("score documents"))?
    }

    /// The rows of the best documents with one of the words, by the store's own score, and how many it found, visible or
    /// not; which of equal ones are among them is left to the store.
    async fn matches(
        &self,
        words: &str,
        condition: &Condition,
        limit: usize,
    ) -> Result<(Vec<TextHit>, usize), IndexError> {
        let query = MatchQuery::new(words.to_owned()).with_column(Some(SEARCH_TEXT.to_owned()));
        let table = snapshot(&self.shared.documents).await?;
        let mut search = table
            .query()
            .full_text_search(FullTextSearchQuery::new_query(FtsQuery::Match(query)))
            .with_row_id()
            .select(Select::columns(&[SCORE]))
            .limit(limit);
        if let Condition::Some(condition) = condition {
            search = search.only_if_expr((**condition).clone());
        }
        let mut hits = Vec::new();
        for batch in fetch(search, "search the text").await? {
            let columns = Columns(&batch);
            let documents = self.shared.places.find(&table, addresses(&batch)?).await?;
            let found = documents.iter().zip(columns.float(SCORE)?.values());
            hits.extend(
                found.filter_map(|(id, score)| Some(TextHit { document: id.as_ref()?.to_string(), score: *score })),
            );
        }
        let found = hits.len();
        self.retain_visible(&mut hits, |hit| &hit.document);
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
        Ok((hits, found))
    }

    fn condition(&self, filter: &Filter, id: &str) -> Condition {
        condition(filter, self.selection(), &self.counted().stats.facts, id)
    }

    /// Whether there is anything that it does not show.
    fn hides_anything(&self) -> bool {
        self.counted().stats.facts.has_hidden(&self.visibility)
    }

    /// A row may have been found as it was before its document became confidential, or be of no document of the view.
    fn retain_visible<T>(&self, found: &mut Vec<T>, row: impl Fn(&T) -> &String) {
        let counted = self.counted();
        if !self.visibility.allows_everything() || self.view.is_some() || counted.stats.facts.has_versions() {
            found.retain(|of| counted.stats.facts.shows_row(row(of), self.selection()));
        }
    }

    /// Documents with a passage whose vector is near to `vector`, at most `limit`, by cosine similarity of the best
    /// one, equal ones by id. There are none as long as the stored vectors are of another model. From ten thousand passages
    /// on an index proposes them, so that some documents at the end may be others, and they are compared as eight bits a
    /// number, unless all are compared exactly (`refine`): scores are right to about 0.001. What a filter lets through is
    /// found in whichever cluster it is.
    ///
    /// # Errors
    /// [`Vector`](IndexError::Vector) if it cannot be one of the model, or if the store fails.
    pub async fn search_vectors(
        &self,
        vector: &[f32],
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<VectorHit>, IndexError> {
        self.guarded(async {
            self.check_vector(vector, || "the query's vector".to_owned())?;
            let limit = limit.min(MAX_HITS);
            if self.passages().foreign.is_some() || limit == 0 {
                return Ok(Vec::new());
            }
            let condition = self.condition(filter, DOCUMENT);
            if matches!(condition, Condition::None) {
                return Ok(Vec::new());
            }
            let mut wanted = limit + limit.div_ceil(HITS_PER_SPARE_PASSAGE);
            let (is_indexed, mut reach) = (self.passages().is_indexed(), Reach::Nearest);
            let compares = is_indexed && self.shared.options.refine == 0;
            if compares {
                wanted += SPARE_PASSAGES;
            }
            if self.view.is_some() {
                // What is not in the view is found too.
                wanted *= MORE_PASSAGES;
            }
            loop {
                let (passages, found) = self.nearest(vector, &condition, (wanted, reach)).await?;
                let all = found < wanted;
                if all && is_indexed && matches!((&condition, reach), (Condition::Some(_), Reach::Nearest)) {
                    reach = Reach::Whole;
                    continue;
                }
                let mut documents = HashSet::new();
                let mut hits = passages;
                hits.retain(|hit| documents.insert(hit.document.clone()));
                if hits.len() >= limit || all || wanted >= MAX_PASSAGES {
                    if compares {
                        hits = self.compare_quantized(vector, hits).await?;
                    }
                    hits.truncate(limit);
                    hits.iter_mut().for_each(|hit| hit.document.truncate(public_id(&hit.document).len()));
                    return Ok(hits);
                }
                wanted *= MORE_PASSAGES;
            }
        })
        .await
    }

    /// Hits that an index proposed, by the best passage of each with eight bits a number, the best first.
    async fn compare_quantized(&self, vector: &[f32], hits: Vec<VectorHit>) -> Result<Vec<VectorHit>, IndexError> {
        let rows: Vec<&str> = hits.iter().map(|hit| hit.document.as_str()).collect();
        let passages = self.counted().stats.ranking.find(&rows);
        let vector = vector.to_vec();
        let compared = tokio::task::spawn_blocking(move || passages.read().map(|read| read.nearest(&vector)));
        let mut hits = compared.await.map_err(IndexError::store("compare vectors"))??;
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
        Ok(hits)
    }

    /// The nearest passages with the rows of their documents, the nearest first, equally near ones by document; and how many
    /// there were, visible or not.
    async fn nearest(
        &self,
        vector: &[f32],
        condition: &Condition,
        (limit, reach): (usize, Reach),
    ) -> Result<(Vec<VectorHit>, usize), IndexError> {
        let Passages { table, places, .. } = self.passages();
        let (table, IndexOptions { probes, refine, .. }) = (snapshot(&table).await?, self.shared.options);
        let mut search = table
            .query()
            .nearest_to(vector)
            .map_err(IndexError::store("search the vectors"))?
            .column(VECTOR)
            .distance_type(DistanceType::Cosine)
            .nprobes(probes)
            .map_err(IndexError::store("search the vectors"))?
            .with_row_id()
            .select(Select::columns(&[DISTANCE]))
            .limit(limit);
        if reach == Reach::Whole {
            search = search.maximum_nprobes(None).map_err(IndexError::store("search the vectors"))?;
        }
        if refine > 0 {
            search = search.refine_factor(refine);
        }
        if let Condition::Some(condition) = condition {
            search = search.only_if_expr((**condition).clone());
        }
        let mut hits = Vec::new();
        for batch in fetch(search, "search the vectors").await? {
            let columns = Columns(&batch);
            let documents = places.find(&table, addresses(&batch)?).await?;
            let found = documents.iter().zip(columns.float(DISTANCE)?.values());
            hits.extend(found.filter_map(|(id, distance)| {
                Some(VectorHit { document: id.as_ref()?.to_string(), score: 1.0 - distance })
            }));
        }
        let found = hits.len();
        self.retain_visible(&mut hits, |hit| &hit.document);
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
        Ok((hits, found))
    }

    /// The texts of passages, as they were embedded, of those that there are.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn passage_texts(&self, ids: &[PassageId]) -> Result<HashMap<PassageId, String>, IndexError> {
        self.guarded(async {
            let Passages { table, places, .. } = self.passages();
            let ids: Vec<String> = ids.iter().map(PassageId::to_string).collect();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let mut found = HashMap::new();
            for batch in places.rows(&table, &ids, &[TEXT, CONFIDENTIAL]).await? {
                let columns = Columns(&batch);
                let (ids, documents, texts) = (columns.text(ID)?, columns.text(DOCUMENT)?, columns.text(TEXT)?);
                let (counted, confidential) = (self.counted(), columns.flag(CONFIDENTIAL)?);
                let is_visible = |row: &usize| {
                    counted.stats.facts.shows_row(documents.value(*row), self.selection())
                        && (self.visibility.shows_confidential() || !confidential.value(*row))
                };
                let seen = (0..batch.num_rows()).filter(is_visible);
                let text = |row| Some((PassageId::of_hex(ids.value(row))?, texts.value(row).to_owned()));
                found.extend(seen.filter_map(text));
            }
            Ok(found)
        })
        .await
    }

    /// The vectors of the passages of documents, of those that have any, each document's in the order of their texts.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn vectors_of(&self, documents: &[String]) -> Result<HashMap<String, Vec<Vec<f32>>>, IndexError> {
        self.guarded(async {
            let passages = self.passages();
            let mut found: HashMap<String, Vec<(String, Vec<f32>)>> = HashMap::new();
            if passages.foreign.is_some() {
                return Ok(HashMap::new());
            }
            let mut documents: Vec<String> = documents.iter().map(|id| self.row_id(id).to_string()).collect();
            self.retain_visible(&mut documents, |row| row);
            for documents in documents.chunks(VALUES_PER_QUERY) {
                let condition = any_of(DOCUMENT, documents.iter().map(String::as_str));
                let columns = Select::columns(&[DOCUMENT, TEXT_HASH, VECTOR]);
                let query = passages.table.query().only_if_expr(condition).select(columns);
                for batch in fetch(query, "read vectors").await? {
                    let columns = Columns(&batch);
                    let (ids, hashes) = (columns.text(DOCUMENT)?, columns.text(TEXT_HASH)?);
                    let vectors = columns.vectors(VECTOR)?;
                    for row in 0..batch.num_rows() {
                        let vector = (hashes.value(row).to_owned(), vector(vectors, row));
                        found.entry(public_id(ids.value(row)).to_owned()).or_default().push(vector);
                    }
                }
            }
            let in_order = |(id, mut vectors): (String, Vec<(String, Vec<f32>)>)| {
                vectors.sort_by(|a, b| a.0.cmp(&b.0));
                (id, vectors.into_iter().map(|(_, vector)| vector).collect())
            };
            Ok(found.into_iter().map(in_order).collect())
        })
        .await
    }

    /// The documents with these ids, in that order, without those that there are not.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn documents(&self, ids: &[String]) -> Result<Vec<StoredDocument>, IndexError> {
        self.guarded(async {
            let of_ids = self.facts(ids.iter().map(String::as_str)).into_iter();
            let facts: HashMap<Arc<str>, DocumentFacts> = of_ids.map(|(id, facts)| (self.row_id(id), facts)).collect();
            let known: Vec<&str> = facts.keys().map(|row| &**row).collect();
            let mut found = HashMap::new();
            for batch in self.shared.places.rows(&self.shared.documents, &known, &STORED_COLUMNS).await? {
                for mut document in stored_documents(&batch, &facts, &self.visibility)? {
                    document.id.truncate(public_id(&document.id).len());
                    if let Some(view) = &self.view {
                        document.url = view.url(document.url);
                    }
                    found.insert(document.id.clone(), document);
                }
            }
            Ok(in_order(ids, found))
        })
        .await
    }
}

/// The documents of ids, in their order. Texts are large, so only one that is asked for again is copied.
fn in_order(ids: &[String], mut found: HashMap<String, StoredDocument>) -> Vec<StoredDocument> {
    let last: HashMap<&str, usize> = ids.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
    let document = |(at, id): (usize, &String)| {
        if last.get(id.as_str()) == Some(&at) { found.remove(id) } else { found.get(id).cloned() }
    };
    ids.iter().enumerate().filter_map(document).collect()
}

/// Whether hits that count may stand beyond the end of what was read: those at the end are as good as the last one that
/// counts, or, in a view, fewer than `limit` are in it.
fn has_open_end(hits: &[TextHit], limit: usize, is_view: bool) -> bool {
    match (hits.get(limit - 1), hits.last()) {
        (Some(last_counted), Some(last)) => !is_view && last_counted.score <= last.score,
        _ => is_view,
    }
}

/// How much of an index on vectors is looked through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The nearest clusters.
    Nearest,
    /// As many clusters as it takes to find as many as are wanted.
    Whole,
}

/// The parts of a compound word, with a blank between them, and their terms; `None` if some part is a stop word, which is
/// not looked up.
fn parts_of(word: &str) -> Result<Option<(String, Vec<TermId>)>, IndexError> {
    let mut terms = Vec::new();
    let parts: Vec<&str> = word.split('_').filter(|part| !part.is_empty()).collect();
    for part in &parts {
        let of_part = terms_of(part)?;
        if of_part.is_empty() {
            return Ok(None);
        }
        terms.extend(of_part);
    }
    Ok(Some((parts.join(" "), terms)))
}

/// The terms of words, each once.
fn terms_of(words: &str) -> Result<Vec<TermId>, IndexError> {
    let tokens = tokenize(words, &analyzer()).map_err(IndexError::store("cut a query into terms"))?;
    let mut seen = HashSet::new();
    Ok(tokens.iter().map(|token| term_id(&token.text)).filter(|term| seen.insert(*term)).collect())
}

/// The words of a query that are searched for, each once, a blank between them. What separates words here also does
/// so for the analyzer.
fn words(query: &str) -> String {
    let mut seen = HashSet::new();
    let words = query.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words = words.filter(|word| !word.is_empty() && word.len() < MAX_TERM && seen.insert(*word));
    words.take(MAX_QUERY_WORDS).collect::<Vec<_>>().join(" ")
}
