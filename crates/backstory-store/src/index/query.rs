//! Searching: by words, by meaning, by id.

use std::collections::{BTreeMap, HashMap, HashSet};

use backstory_model::{filter::Filter, score::sorted};
use lancedb::{
    DistanceType, Table,
    expr::DfExpr as Expr,
    index::scalar::{FtsQuery, FullTextSearchQuery, MatchQuery},
    query::{QueryBase as _, Select},
    table::tokenize,
};

use super::{
    Index,
    columns::{Columns, vector},
    error::IndexError,
    filter::{any_of, condition},
    rows::{STORED_COLUMNS, stored_documents},
    schema::{DOCUMENT, ID, MAX_TERM, SEARCH_TEXT, TEXT, TITLE, VECTOR, analyzer},
    tables::fetch,
    types::{Hit, PassageHit, StoredDocument},
    vectors::VALUES_PER_QUERY,
};

/// Most hits of one search.
pub const MAX_HITS: usize = 1000;
/// Words of a query that are searched for, the first ones; 10,000 characters of a log need not all be looked up.
pub const MAX_QUERY_WORDS: usize = 64;
/// Weight of a word in the text: for an issue or merge request, its own and that of all its discussions.
pub const TEXT_BOOST: f32 = 1.0;
/// Weight of a word in the title, which comes on top of its weight in the text. Questions whose answer was known were
/// answered best with 0.5 to 0.75.
pub const TITLE_BOOST: f32 = 0.5;

/// Documents that each of the two fields proposes. A document that only one of them proposes has no score in the
/// other, so there must be many more than anyone asks for. Joining the fields in one query of the store is exact, but
/// takes four times as long.
const CANDIDATES: usize = 1000;
/// One more passage than documents asked for is fetched for so many of them, as a document can have several that match.
const HITS_PER_SPARE_PASSAGE: usize = 2;
/// How many times more passages are fetched when they were of too few documents.
const MORE_PASSAGES: usize = 4;
/// Passages that are compared exactly for every one that is fetched, after the index compared them roughly. With 1 the
/// scores are exact and, thanks to the spare passages, so are nearly all hits; reading more vectors takes longer than
/// the search.
const REFINE: u32 = 1;

const SEARCHING_TEXT: &str = "search the text";
const ROW: &str = "_rowid";
const SCORE: &str = "_score";
const DISTANCE: &str = "_distance";

impl Index {
    /// Documents with words of the query in their text or title, at most `limit`, by BM25 score, equal ones by id.
    /// The query is words and nothing else: no character in it means anything. Without a word that can be searched
    /// for there are no hits.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn lexical(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>, IndexError> {
        let words = words(query);
        let terms = tokenize(&words, &analyzer()).map_err(IndexError::store("cut a query into terms"))?;
        let limit = limit.min(MAX_HITS);
        if terms.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        // Both lists and the names of what they found must be of the same rows, whatever is written meanwhile.
        let documents = self.shared.documents.checkout_current().await.map_err(IndexError::store(SEARCHING_TEXT))?;
        let condition = condition(filter);
        let (text, title) = tokio::try_join!(
            matches(&documents, SEARCH_TEXT, &words, condition.clone()),
            matches(&documents, TITLE, &words, condition)
        )?;
        let mut scores: BTreeMap<u64, f32> = BTreeMap::new();
        for (matches, boost) in [(text, TEXT_BOOST), (title, TITLE_BOOST)] {
            for (row, score) in matches {
                *scores.entry(row).or_default() += boost * score;
            }
        }
        name_best(&documents, sorted(scores), limit).await
    }

    /// Documents with a passage whose vector is near to `vector`, at most `limit`, by cosine similarity of the best
    /// one, equal ones by id. There are none as long as the stored vectors are of another model.
    ///
    /// # Errors
    /// [`Vector`](IndexError::Vector) if it cannot be one of the model, or if the store fails.
    pub async fn semantic(&self, vector: &[f32], filter: &Filter, limit: usize) -> Result<Vec<PassageHit>, IndexError> {
        self.check_vector(vector, || "the query's vector".to_owned())?;
        let limit = limit.min(MAX_HITS);
        if self.passages().foreign.is_some() || limit == 0 {
            return Ok(Vec::new());
        }
        let mut wanted = limit + limit.div_ceil(HITS_PER_SPARE_PASSAGE);
        loop {
            let passages = self.nearest(vector, filter, wanted).await?;
            let all = passages.len() < wanted;
            let mut documents = HashSet::new();
            let mut hits = passages;
            hits.retain(|hit| documents.insert(hit.document.clone()));
            if hits.len() >= limit || all {
                hits.truncate(limit);
                return Ok(hits);
            }
            wanted *= MORE_PASSAGES;
        }
    }

    /// The nearest passages, the nearest first, equally near ones by document.
    async fn nearest(&self, vector: &[f32], filter: &Filter, limit: usize) -> Result<Vec<PassageHit>, IndexError> {
        let mut search = self
            .passages()
            .table
            .query()
            .nearest_to(vector)
            .map_err(IndexError::store("search the vectors"))?
            .column(VECTOR)
            .distance_type(DistanceType::Cosine)
            .refine_factor(REFINE)
            .select(Select::columns(&[DOCUMENT, DISTANCE]))
            .limit(limit);
        if let Some(condition) = condition(filter) {
            search = search.only_if_expr(condition);
        }
        let mut hits = Vec::new();
        for batch in fetch(search, "search the vectors").await? {
            let columns = Columns(&batch);
            let (documents, distances) = (columns.text(DOCUMENT)?, columns.float(DISTANCE)?);
            hits.extend((0..batch.num_rows()).map(|row| PassageHit {
                document: documents.value(row).to_owned(),
                score: 1.0 - distances.value(row),
            }));
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
        Ok(hits)
    }

    /// Text of the passage of each document that is nearest to `vector`, of documents that have any.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn nearest_passages(
        &self,
        vector: &[f32],
        documents: &[&str],
    ) -> Result<HashMap<String, String>, IndexError> {
        let passages = self.passages();
        let mut best: HashMap<String, (f32, String)> = HashMap::new();
        if passages.foreign.is_some() {
            return Ok(HashMap::new());
        }
        for documents in documents.chunks(VALUES_PER_QUERY) {
            let condition = any_of(DOCUMENT, documents.iter().copied());
            let columns = Select::columns(&[DOCUMENT, TEXT, VECTOR]);
            let query = passages.table.query().only_if_expr(condition).select(columns);
            for batch in fetch(query, "read passages").await? {
                let columns = Columns(&batch);
                let (ids, texts, vectors) = (columns.text(DOCUMENT)?, columns.text(TEXT)?, columns.vectors(VECTOR)?);
                for row in 0..batch.num_rows() {
                    let score = cosine(vector, &self::vector(vectors, row));
                    let known = best.entry(ids.value(row).to_owned()).or_insert((f32::NEG_INFINITY, String::new()));
                    if score > known.0 {
                        *known = (score, texts.value(row).to_owned());
                    }
                }
            }
        }
        Ok(best.into_iter().map(|(document, (_, text))| (document, text)).collect())
    }

    /// The documents with these ids, in that order, without those that there are not.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn documents(&self, ids: &[String]) -> Result<Vec<StoredDocument>, IndexError> {
        let mut found = HashMap::new();
        for ids in ids.chunks(VALUES_PER_QUERY) {
            let condition = any_of(ID, ids.iter().map(String::as_str));
            let query = self.shared.documents.query().only_if_expr(condition).select(Select::columns(&STORED_COLUMNS));
            for batch in fetch(query, "read documents").await? {
                found.extend(stored_documents(&batch)?.into_iter().map(|document| (document.id.clone(), document)));
            }
        }
        Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
    }
}

/// Rows with one of the words in a column, the best, by BM25 score.
async fn matches(
    documents: &Table,
    column: &str,
    words: &str,
    condition: Option<Expr>,
) -> Result<Vec<(u64, f32)>, IndexError> {
    let query = MatchQuery::new(words.to_owned()).with_column(Some(column.to_owned()));
    let mut search = documents
        .query()
        .full_text_search(FullTextSearchQuery::new_query(FtsQuery::Match(query)))
        .select(Select::columns(&[ROW, SCORE]))
        .limit(CANDIDATES);
    if let Some(condition) = condition {
        search = search.only_if_expr(condition);
    }
    let mut found = Vec::new();
    for batch in fetch(search, SEARCHING_TEXT).await? {
        let columns = Columns(&batch);
        let rows = columns.row_ids(ROW)?.values().iter().copied();
        found.extend(rows.zip(columns.float(SCORE)?.values().iter().copied()));
    }
    Ok(found)
}

/// The best `limit` rows as hits, equal ones by id.
async fn name_best(documents: &Table, ranked: Vec<(u64, f32)>, limit: usize) -> Result<Vec<Hit>, IndexError> {
    let Some(&(_, worst)) = ranked.get(limit.min(ranked.len()).wrapping_sub(1)) else { return Ok(Vec::new()) };
    let scores: HashMap<u64, f32> = ranked.into_iter().take_while(|(_, score)| *score >= worst).collect();
    let rows: Vec<u64> = scores.keys().copied().collect();
    let query = documents.take_row_ids(rows).select(Select::columns(&[ROW, ID]));
    let mut hits = Vec::new();
    for batch in fetch(query, SEARCHING_TEXT).await? {
        let columns = Columns(&batch);
        let (rows, ids) = (columns.row_ids(ROW)?, columns.text(ID)?);
        hits.extend(rows.values().iter().enumerate().map(|(at, row)| Hit {
            document: ids.value(at).to_owned(),
            score: scores.get(row).copied().unwrap_or_default(),
        }));
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document)));
    hits.truncate(limit);
    Ok(hits)
}

/// Cosine of the angle between vectors of the same length; 0 if one is zero.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}

/// The words of a query that are searched for, each once, a blank between them. What separates words here also does
/// so for the analyzer.
fn words(query: &str) -> String {
    let mut seen = HashSet::new();
    let words = query.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words = words.filter(|word| !word.is_empty() && word.len() < MAX_TERM && seen.insert(*word));
    words.take(MAX_QUERY_WORDS).collect::<Vec<_>>().join(" ")
}
