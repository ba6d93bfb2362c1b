//! The bundled models, with int8 weights, run in process.
//!
//! Queries and background work have threads of their own and share the weights, so that a query never waits for a batch
//! of texts. Background threads have a low priority, and yield between two batches while a request is being answered.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use futures::future::try_join_all;
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use tokio::sync::{Mutex, OnceCell, Semaphore};

use super::{foreground::ForegroundGate, normalize, tokens};
use crate::provider::ProviderError;

/// Numbers in a vector of either model.
pub(super) const DIMENSION: usize = 384;
/// Tokens of a text that are read: half of what the first model was trained for, and all of the other's length.
pub(super) const WINDOW: usize = 256;

/// Most tokens of a batch, padding included: of more, what is computed on the way no longer fits a core's cache.
const BATCH_TOKENS: usize = 512;
/// Most texts of a batch.
const BATCH_TEXTS: usize = 16;
/// Queries of a process for which weights are not packed in advance: most commands ask one.
const FIRST_QUERIES: usize = 3;
/// By how much threads of the background are nicer than others: they get a tenth of a core that both want.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// A model inside the binary. All cut texts into the same tokens.
pub(super) struct BundledModel {
    /// Its name, as it is recorded with its vectors.
    pub(super) name: &'static str,
    /// ONNX.
    file: &'static [u8],
    pooling: Pooling,
    /// What the model expects before a query, and not before a text.
    query_prompt: &'static str,
    /// What all vectors have in common, as little-endian numbers: it is taken out of each, because texts that have nothing
    /// to do with one another would be near to each other otherwise.
    center: Option<&'static [u8; DIMENSION * size_of::<f32>()]>,
    /// Two cosines of the model, each with the one that means the same with all-MiniLM-L6-v2, for which all bounds of
    /// nearness were chosen. What is between those, -1 and 1, which stay, is on straight lines.
    cosines: Option<[(f32, f32); 2]>,
}

impl BundledModel {
    fn nearness(&self, cosine: f32) -> f32 {
        let Some([low, high]) = self.cosines else { return cosine };
        let lines = [((-1.0, -1.0), low), (low, high), (high, (1.0, 1.0))];
        let is_on = |(_, (to, _)): &&((f32, f32), (f32, f32))| cosine <= *to;
        let ((from, at_from), (to, at_to)) = lines.iter().find(is_on).unwrap_or(&lines[2]);
        at_from + (cosine - from) * (at_to - at_from) / (to - from)
    }
}

/// How the states of a text's tokens become its vector.
enum Pooling {
    /// Their mean.
    Mean,
    /// The first of them.
    First,
}

/// The models, that which is used unless another is named first.
pub(super) static MODELS: [BundledModel; 2] = [
    BundledModel {
        name: "snowflake-arctic-embed-s-int8",
        file: include_bytes!("../../models/snowflake-arctic-embed-s/model.onnx"),
        pooling: Pooling::First,
        query_prompt: "Represent this sentence for searching relevant passages: ",
        center: Some(include_bytes!("../../models/snowflake-arctic-embed-s/center.f32")),
        // The medians for any text and the 95th percentiles for those that answer a question are those of the other model.
        cosines: Some([(0.20, 0.14), (0.62, 0.72)]),
    },
    BundledModel {
        name: "all-MiniLM-L6-v2-int8",
        file: include_bytes!("../../models/all-minilm-l6-v2/model.onnx"),
        pooling: Pooling::Mean,
        query_prompt: "",
        center: None,
        cosines: None,
    },
];

/// A bundled model, loaded when first used.
pub(super) struct Bundled {
    model: &'static BundledModel,
    threads: usize,
    loaded: OnceCell<Arc<Loaded>>,
    /// The same with weights that are not packed, which is ready in half the time; gone when the above is there.
    unpacked: Mutex<Option<Arc<Loaded>>>,
    /// How many queries it answered.
    first_queries: AtomicUsize,
    /// One caller's texts at a time occupy the lanes of the foreground,
    turn: Mutex<()>,
    /// and those of the background.
    background_turn: Mutex<()>,
    queries: Semaphore,
    foreground: ForegroundGate,
}

/// Whether somebody waits for vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmbedPriority {
    /// Somebody does.
    Foreground,
    /// Nobody does.
    Background,
}

impl Bundled {
    /// The nearness that a cosine stands for.
    pub(super) fn nearness(&self, cosine: f32) -> f32 {
        self.model.nearness(cosine)
    }

    /// A model that works on texts with that many threads.
    pub(super) fn new(model: &'static BundledModel, threads: usize, foreground: ForegroundGate) -> Self {
        Self {
            model,
            threads,
            loaded: OnceCell::new(),
            unpacked: Mutex::default(),
            first_queries: AtomicUsize::default(),
            turn: Mutex::new(()),
            background_turn: Mutex::new(()),
            queries: Semaphore::new(threads),
            foreground,
        }
    }

    /// The vectors of texts, in their order.
    pub(super) async fn documents(
        &self,
        texts: &[String],
        urgency: EmbedPriority,
    ) -> Result<Vec<Vec<f32>>, ProviderError> {
        let loaded = self.load().await?;
        let (turn, lanes, gives_way) = match urgency {
            EmbedPriority::Foreground => (&self.turn, &loaded.query_lanes, None),
            EmbedPriority::Background => (&self.background_turn, &loaded.lanes, Some(self.foreground.clone())),
        };
        let _turn = turn.lock().await;
        let texts = texts.to_vec();
        // Few texts are spread over all lanes, rather than put into few batches.
        let most = texts.len().div_ceil(self.threads).min(BATCH_TEXTS);
        let batches = blocking(move || Batch::plan(&texts, most)).await?;
        let work = Arc::new(BatchQueue { batches, next: AtomicUsize::new(0), gives_way });
        // Lanes end soon after this future is dropped, rather than when all is done.
        let _stop = StopOnDrop(work.clone());
        let lanes = lanes.iter().take(work.batches.len()).cloned().map(|lane| {
            let (loaded, work) = (loaded.clone(), work.clone());
            blocking(move || work.run(&loaded, &lane))
        });
        let mut vectors: Vec<(usize, Vec<f32>)> = try_join_all(lanes).await?.into_iter().flatten().collect();
        vectors.sort_unstable_by_key(|&(place, _)| place);
        Ok(vectors.into_iter().map(|(_, vector)| vector).collect())
    }

    /// The vector of a query.
    pub(super) async fn query(&self, text: &str) -> Result<Vec<f32>, ProviderError> {
        let loaded = self.load_for_query().await?;
        let _permit = self.queries.acquire().await.map_err(ProviderError::bundled)?;
        let text = format!("{}{text}", self.model.query_prompt);
        blocking(move || {
            let batch = Batch { texts: vec![(0, tokens::ids(&text, WINDOW)?)] };
            let mut vectors = loaded.embed(&batch, loaded.query_lane())?;
            vectors.pop().map(|(_, vector)| vector).ok_or_else(|| ProviderError::bundled("a text got no vector"))
        })
        .await
    }

    async fn load(&self) -> Result<Arc<Loaded>, ProviderError> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded.clone());
        }
        let (model, threads) = (self.model, self.threads);
        let packed = || blocking(move || Loaded::new(model, threads, Packing::InAdvance).map(Arc::new));
        let loaded = self.loaded.get_or_try_init(packed).await?.clone();
        self.unpacked.lock().await.take();
        Ok(loaded)
    }

    async fn load_for_query(&self) -> Result<Arc<Loaded>, ProviderError> {
        if self.loaded.initialized() || self.first_queries.fetch_add(1, Relaxed) >= FIRST_QUERIES {
            return self.load().await;
        }
        // Queries at the same time wait for one to load it.
        let mut unpacked = self.unpacked.lock().await;
        if let Some(loaded) = self.loaded.get().or(unpacked.as_ref()) {
            return Ok(loaded.clone());
        }
        let (model, threads) = (self.model, self.threads);
        let loaded = blocking(move || Loaded::new(model, threads, Packing::WhenUsed).map(Arc::new)).await?;
        *unpacked = Some(loaded.clone());
        Ok(loaded)
    }
}

async fn blocking<T: Send + 'static>(
    step: impl FnOnce() -> Result<T, ProviderError> + Send + 'static,
) -> Result<T, ProviderError> {
    tokio::task::spawn_blocking(step).await.map_err(ProviderError::bundled)?
}

/// Texts that go through the model together: their places among all texts, and their tokens.
struct Batch {
    texts: Vec<(usize, Vec<i32>)>,
}

impl Batch {
    /// Puts at most so many texts of like length together, which leaves little to pad; the longest come first, so that
    /// the lanes end at about the same time.
    fn plan(texts: &[String], most: usize) -> Result<Vec<Self>, ProviderError> {
        let tokens = texts.iter().map(|text| tokens::ids(text, WINDOW));
        let mut tokens: Vec<(usize, Vec<i32>)> =
            tokens.enumerate().map(|(place, ids)| Ok((place, ids?))).collect::<Result<_, ProviderError>>()?;
        tokens.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
        let mut batches: Vec<Self> = Vec::new();
        for text in tokens {
            match batches.last_mut() {
                Some(batch) if batch.has_room(most) => batch.texts.push(text),
                _ => batches.push(Self { texts: vec![text] }),
            }
        }
        Ok(batches)
    }

    /// Whether a text that is no longer than the ones in it may come in.
    fn has_room(&self, most: usize) -> bool {
        self.texts.len() < most && (self.texts.len() + 1) * self.width() <= BATCH_TOKENS
    }

    /// Length of the longest text.
    fn width(&self) -> usize {
        self.texts.iter().map(|(_, ids)| ids.len()).max().unwrap_or(0)
    }
}

/// Batches from which lanes take the next one.
struct BatchQueue {
    batches: Vec<Batch>,
    next: AtomicUsize,
    /// Whom it gives way to, if it does.
    gives_way: Option<ForegroundGate>,
}

impl BatchQueue {
    fn run(&self, loaded: &Loaded, lane: &WorkerThread) -> Result<Vec<(usize, Vec<f32>)>, ProviderError> {
        let mut vectors = Vec::new();
        while let Some(batch) = self.batches.get(self.next.fetch_add(1, Relaxed)) {
            if let Some(foreground) = &self.gives_way {
                foreground.yield_to_foreground();
            }
            vectors.extend(loaded.embed(batch, lane)?);
        }
        Ok(vectors)
    }
}

struct StopOnDrop(Arc<BatchQueue>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.next.store(self.0.batches.len(), Relaxed);
    }
}

/// A thread that works on a batch.
type WorkerThread = Arc<ThreadPool>;

/// The weights, ready to use, and the threads that use them.
struct Loaded {
    kind: &'static BundledModel,
    center: Option<Vec<f32>>,
    model: Model,
    token_ids: NodeId,
    attention_mask: NodeId,
    token_types: NodeId,
    output: NodeId,
    /// For the background. One thread each: batches side by side use cores better than one batch cut up between them.
    lanes: Vec<WorkerThread>,
    /// For the foreground. One thread each: threads that wait for each other are slow when cores are busy with texts.
    query_lanes: Vec<WorkerThread>,
    next_query_lane: AtomicUsize,
}

/// When weights are put into the order in which they are multiplied. Vectors are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    /// When the model is loaded, which takes twice as long and 40 MB.
    InAdvance,
    /// By each run again, which takes longer than a query's own work.
    WhenUsed,
}

impl Loaded {
    fn new(kind: &'static BundledModel, threads: usize, packing: Packing) -> Result<Self, ProviderError> {
        let model = ModelOptions::with_all_ops()
            .prepack_weights(packing == Packing::InAdvance)
            .load_static_slice(kind.file)
            .map_err(ProviderError::bundled)?;
        let node = |name| model.node_id(name).map_err(ProviderError::bundled);
        let lanes = || (0..threads).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect::<Vec<WorkerThread>>();
        let background = lanes();
        background.iter().for_each(|lane| lane.run(lower_priority));
        Ok(Self {
            kind,
            center: kind.center.map(|bytes| bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes).collect()),
            token_ids: node("input_ids")?,
            attention_mask: node("attention_mask")?,
            token_types: node("token_type_ids")?,
            output: node("last_hidden_state")?,
            lanes: background,
            query_lanes: lanes(),
            next_query_lane: AtomicUsize::new(0),
            model,
        })
    }

    fn query_lane(&self) -> &WorkerThread {
        &self.query_lanes[self.next_query_lane.fetch_add(1, Relaxed) % self.query_lanes.len()]
    }

    /// The vectors of a batch, with the places of its texts.
    fn embed(&self, batch: &Batch, lane: &WorkerThread) -> Result<Vec<(usize, Vec<f32>)>, ProviderError> {
        let (rows, width) = (batch.texts.len(), batch.width());
        let (mut ids, mut mask) = (vec![0; rows * width], vec![0; rows * width]);
        for (row, (_, tokens)) in batch.texts.iter().enumerate() {
            let start = row * width;
            ids[start..start + tokens.len()].copy_from_slice(tokens);
            mask[start..start + tokens.len()].fill(1);
        }
        let input = |data: Vec<i32>| Value::from_shape([rows, width], data).map_err(ProviderError::bundled);
        let inputs = vec![
            (self.token_ids, input(ids)?.into()),
            (self.attention_mask, input(mask)?.into()),
            (self.token_types, input(vec![0; rows * width])?.into()),
        ];
        let options = RunOptions::default().with_thread_pool(Some(lane.clone()));
        let [output] = self.model.run_n(inputs, [self.output], Some(options)).map_err(ProviderError::bundled)?;
        let (shape, hidden) = output.into_shape_vec::<f32, 3>().map_err(ProviderError::bundled)?;
        if shape != [rows, width, DIMENSION] {
            return Err(ProviderError::bundled(format!("its output has the shape {shape:?}")));
        }
        let texts = hidden.chunks_exact(width * DIMENSION).zip(&batch.texts);
        texts
            .map(|(states, (place, tokens))| {
                let vector = self.vector(&states[..tokens.len() * DIMENSION]);
                vector.map(|vector| (*place, vector)).ok_or_else(|| ProviderError::bundled("a vector has no direction"))
            })
            .collect()
    }

    /// The vector of a text from the states of its tokens.
    fn vector(&self, states: &[f32]) -> Option<Vec<f32>> {
        let vector = normalize(match self.kind.pooling {
            Pooling::Mean => sum(states),
            Pooling::First => states[..DIMENSION].to_vec(),
        })?;
        match &self.center {
            Some(center) => normalize(vector.iter().zip(center).map(|(own, common)| own - common).collect()),
            None => Some(vector),
        }
    }
}

/// Gives this thread a low priority.
fn lower_priority() {
    // On other systems that would be the priority of the whole process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "threads of the background keep the usual priority");
    }
}

/// Sum of the states of a text's tokens. Their mean has the same direction, and only that is kept.
fn sum(states: &[f32]) -> Vec<f32> {
    let mut sum = vec![0.0; DIMENSION];
    for state in states.chunks_exact(DIMENSION) {
        // Indices, because iterators take several times as long in a build without optimization.
        let mut at = 0;
        while at < DIMENSION {
            sum[at] += state[at];
            at += 1;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_cosines_the_greater_is_nearer() {
        for model in &MODELS {
            let at = |percent: i32| model.nearness(percent as f32 / 100.0);
            assert_eq!((at(-100), at(100)), (-1.0, 1.0), "{}", model.name);
            assert!((-100..100).all(|percent| at(percent) < at(percent + 1)), "{}", model.name);
        }
    }
}
