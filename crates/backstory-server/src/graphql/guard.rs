//! The extension around every GraphQL operation: it applies the limits, provides the loaders, and gives errors their
//! code.

use std::{
    any::TypeId,
    borrow::Cow,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use async_graphql::{
    Request, Response, ServerError, ServerResult, ValidationResult,
    async_trait::async_trait,
    extensions::{
        Extension, ExtensionContext, ExtensionFactory, NextExecute, NextPrepareRequest, NextRequest, NextSubscribe,
        NextValidation,
    },
    futures_util::{StreamExt, stream::BoxStream},
};
use backstory_engine::{
    Engine,
    error::{Error, ErrorKind, message},
    model::text::echo,
    use_case::Weight,
};
use parking_lot::{Mutex, MutexGuard};

use super::{
    document,
    limits::Limits,
    loaders::{People, Reader, Reads},
};
use crate::{error_table, queue::Queue};

/// Most lines of what the library says of a document.
const MAX_LINES: usize = 12;
/// Most warnings of an answer.
const MAX_WARNINGS: usize = 10;
/// Where they stand among the extensions of an answer.
const WARNINGS: &str = "warnings";

/// What the reader of an answer must know besides what was asked for.
#[derive(Debug, Default)]
pub(super) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    /// Whether there is no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.told().len() >= MAX_WARNINGS
    }

    /// Tells something, once.
    pub(super) fn add(&self, warning: String) {
        let mut told = self.told();
        if told.len() < MAX_WARNINGS && !told.contains(&warning) {
            told.push(warning);
        }
    }

    fn told(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock()
    }
}

/// Makes a guard for every operation.
pub(super) struct Guards {
    engine: Engine,
    limits: Limits,
    queue: Arc<Queue>,
    people: Arc<People>,
}

impl Guards {
    pub(super) fn new(engine: Engine, limits: Limits, queue: Arc<Queue>) -> Self {
        Self { engine, limits, queue, people: Arc::default() }
    }
}

impl ExtensionFactory for Guards {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Guard {
            engine: self.engine.clone(),
            limits: self.limits,
            queue: self.queue.clone(),
            people: self.people.clone(),
            reads: Arc::default(),
            warnings: Arc::default(),
            name: OnceLock::new(),
            weight: OnceLock::new(),
        })
    }
}

/// Around one operation.
struct Guard {
    engine: Engine,
    limits: Limits,
    queue: Arc<Queue>,
    people: Arc<People>,
    reads: Arc<Reads>,
    warnings: Arc<Warnings>,
    name: OnceLock<String>,
    weight: OnceLock<Weight>,
}

impl Guard {
    fn weight(&self) -> Weight {
        self.weight.get().copied().unwrap_or_default()
    }

    fn time(&self) -> Duration {
        self.limits.time_of(self.weight())
    }
}

#[async_trait]
impl Extension for Guard {
    async fn request(&self, ctx: &ExtensionContext<'_>, next: NextRequest<'_>) -> Response {
        let started = Instant::now();
        let mut response = next.run(ctx).await;
        finish(&mut response);
        let warnings = std::mem::take(&mut *self.warnings.told());
        if !warnings.is_empty() {
            response.extensions.insert(WARNINGS.to_owned(), warnings.into());
        }
        let (batches, keys) = self.reads.totals();
        tracing::debug!(
            operation = self.name.get().map_or("", String::as_str),
            batches,
            keys,
            errors = response.errors.len(),
            ms = started.elapsed().as_millis(),
            "answered an operation"
        );
        response
    }

    fn subscribe<'s>(
        &self,
        ctx: &ExtensionContext<'_>,
        stream: BoxStream<'s, Response>,
        next: NextSubscribe<'_>,
    ) -> BoxStream<'s, Response> {
        let finished = |mut response: Response| {
            finish(&mut response);
            response
        };
        next.run(ctx, stream).map(finished).boxed()
    }

    async fn prepare_request(
        &self,
        ctx: &ExtensionContext<'_>,
        mut request: Request,
        next: NextPrepareRequest<'_>,
    ) -> ServerResult<Request> {
        document::check_nesting(&request.query, &self.limits).map_err(server_error)?;
        let name = request.operation_name.clone();
        let parsed = request.parsed_query()?;
        let weight = document::examine(parsed, &self.limits).map_err(server_error)?;
        for role in document::required_roles(parsed, name.as_deref()) {
            self.engine.settings().require_role(role).map_err(server_error)?;
        }
        let _ = self.weight.set(weight);
        if let Some(name) = name {
            let _ = self.name.set(name);
        }
        // Whoever brings no handle of the engine sees what all do.
        let engine = request.data.get(&TypeId::of::<Engine>()).and_then(|engine| engine.downcast_ref::<Engine>());
        let engine = engine.unwrap_or(&self.engine).clone();
        let loaders = Reader::loaders(engine, self.people.clone(), self.reads.clone());
        next.run(ctx, request.data(loaders).data(self.warnings.clone())).await
    }

    async fn validation(
        &self,
        ctx: &ExtensionContext<'_>,
        next: NextValidation<'_>,
    ) -> Result<ValidationResult, Vec<ServerError>> {
        let result = next.run(ctx).await?;
        if result.complexity > self.limits.complexity {
            let message = format!(
                "the operation asks for about {} values; at most {} are allowed: ask for smaller pages or fewer fields",
                result.complexity, self.limits.complexity
            );
            return Err(vec![server_error(Error::new(ErrorKind::Invalid, message))]);
        }
        Ok(result)
    }

    async fn execute(
        &self,
        ctx: &ExtensionContext<'_>,
        operation_name: Option<&str>,
        next: NextExecute<'_>,
    ) -> Response {
        let _turn = match self.queue.turn(self.weight()).await {
            Ok(turn) => turn,
            Err(error) => return Response::from_errors(vec![server_error(error)]),
        };
        let time = self.time();
        // What reads everything has time.
        let _answering = (self.weight() != Weight::Long).then(|| self.engine.embedder().answering());
        match tokio::time::timeout(time, next.run(ctx, operation_name)).await {
            Ok(response) => response,
            Err(_) => {
                let message = format!("the operation took longer than {} s", time.as_secs());
                let error = Error::new(ErrorKind::Timeout, message).with_hint("ask for less at once");
                Response::from_errors(vec![server_error(error)])
            }
        }
    }
}

fn server_error(error: Error) -> ServerError {
    async_graphql::Error::from(error).into_server_error(async_graphql::Pos::default())
}

/// Gives each error its code and hint, and logs those that are not the client's. Errors of the engine carry their kind; all
/// others come from parsing and validation.
fn finish(response: &mut Response) {
    let mut logged: Vec<&str> = Vec::new();
    for error in &mut response.errors {
        let kind = match error.source::<Error>().cloned() {
            Some(Error { kind, message, hint, .. }) => {
                error.message = message;
                if let Some(hint) = hint {
                    error.extensions.get_or_insert_default().set(error_table::HINT, hint);
                }
                kind
            }
            None => {
                // What the library says of a document or variable quotes it, a line of it at a time.
                let lines: Vec<Cow<'_, str>> = error.message.lines().take(MAX_LINES).map(echo).collect();
                error.message = message(&lines.join("\n"));
                ErrorKind::Invalid
            }
        };
        error.extensions.get_or_insert_default().set(error_table::CODE, error_table::code(kind));
        // A limit of the whole document stands nowhere in it.
        error.locations.retain(|at| at.line > 0);
        // One failed read fails every field that waits for it.
        let internal = matches!(kind, ErrorKind::Internal | ErrorKind::Newer);
        if internal && !logged.contains(&error.message.as_str()) {
            tracing::error!(error = error.message, "an operation failed");
            logged.push(&error.message);
        }
    }
}
