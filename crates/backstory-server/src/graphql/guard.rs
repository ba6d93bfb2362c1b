//! The extension around every GraphQL operation: it applies the limits, provides the loaders, and gives errors their
//! code.

use std::{
    any::TypeId,
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use async_graphql::{
    Data, Name, Request, Response, ServerError, ServerResult, ValidationResult, Value,
    async_trait::async_trait,
    extensions::{
        Extension, ExtensionContext, ExtensionFactory, NextExecute, NextPrepareRequest, NextRequest, NextSubscribe,
        NextValidation,
    },
    futures_util::{StreamExt, stream::BoxStream},
    indexmap::IndexMap,
    parser::types::{ExecutableDocument, OperationDefinition, OperationType},
    registry::MetaType,
};
use backstory_engine::{
    Engine,
    error::{Error, ErrorKind, message},
    model::text::truncate_echo,
    use_case::Weight,
};
use parking_lot::{Mutex, MutexGuard};

use super::{
    cost,
    limits::Limits,
    loaders::{People, Reader, Reads},
    nulls, request_size,
    selection::Selections,
    variables,
};
use crate::{
    error_table,
    queue::{Queue, Turn},
};

/// Most lines of what the library says of a document.
const MAX_LINES: usize = 12;
/// Most warnings of an answer.
const MAX_WARNINGS: usize = 10;
/// Where they stand among the extensions of an answer.
const WARNINGS: &str = "warnings";
/// Where its cost and the limit of that stand.
const COST: &str = "cost";

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

/// How an operation is executed, for a caller that may have to execute it again.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// The weight of a query that may be.
    repeatable: OnceLock<Weight>,
    /// The turn of one that is executed again.
    turn: Option<Turn>,
}

impl Course {
    pub(super) fn with_turn(turn: Turn) -> Self {
        Self { repeatable: OnceLock::new(), turn: Some(turn) }
    }

    /// The weight of the operation if it is a query that may be executed again.
    pub(super) fn repeatable(&self) -> Option<Weight> {
        self.repeatable.get().copied()
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
            operation: Arc::default(),
            caller_engine: OnceLock::new(),
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
    operation: Arc<OnceLock<Operation>>,
    /// The engine as the caller sees it.
    caller_engine: OnceLock<Engine>,
}

/// A document that is within the limits of documents, and which operation of it is asked for.
struct Operation {
    document: ExecutableDocument,
    name: Option<String>,
    weight: Weight,
    cost: usize,
}

impl Operation {
    fn definition(&self) -> Option<&OperationDefinition> {
        selected(&self.document, self.name.as_deref())
    }
}

/// The operation of a document that a request asks for; `None` if that is not clear, which validation refuses.
fn selected<'a>(document: &'a ExecutableDocument, name: Option<&str>) -> Option<&'a OperationDefinition> {
    let mut operations = document.operations.iter();
    let is_selected = |found: Option<&str>| name.is_none() || found == name;
    operations.find(|(found, _)| is_selected(found.map(|found| found.as_str()))).map(|(_, operation)| &operation.node)
}

impl Guard {
    fn weight(&self) -> Weight {
        self.operation.get().map(|operation| operation.weight).unwrap_or_default()
    }

    fn time(&self) -> Duration {
        self.limits.time_of(self.weight())
    }

    /// Loaders of its own for each event of a subscription: loaders remember what they read, and what they read changes.
    fn data_of_event(&self) -> Data {
        let mut data = Data::default();
        let ty = self.operation.get().and_then(Operation::definition).map(|operation| operation.ty);
        if let (Some(OperationType::Subscription), Some(engine)) = (ty, self.caller_engine.get()) {
            data.insert(Reader::loaders(engine.clone(), self.people.clone(), self.reads.clone()));
        }
        data
    }
}

#[async_trait]
impl Extension for Guard {
    async fn request(&self, ctx: &ExtensionContext<'_>, next: NextRequest<'_>) -> Response {
        let started = Instant::now();
        let mut response = next.run(ctx).await;
        finish(&mut response);
        add_cost(&mut response, &self.operation, self.limits);
        let warnings = std::mem::take(&mut *self.warnings.told());
        if !warnings.is_empty() {
            response.extensions.insert(WARNINGS.to_owned(), warnings.into());
        }
        let (batches, keys) = self.reads.totals();
        tracing::debug!(
            operation = self.operation.get().and_then(|operation| operation.name.as_deref()).unwrap_or_default(),
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
        let (operation, limits) = (self.operation.clone(), self.limits);
        let finished = move |mut response: Response| {
            finish(&mut response);
            add_cost(&mut response, &operation, limits);
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
        if request.query.trim().is_empty() {
            let error = Error::new(ErrorKind::Invalid, "'query' is missing: the text of an operation");
            return Err(server_error(error));
        }
        request_size::check_nesting(&request.query, &self.limits).map_err(server_error)?;
        let name = request.operation_name.clone();
        // A request without a handle of the engine sees what everyone sees.
        let engine = request.data.get(&TypeId::of::<Engine>()).and_then(|engine| engine.downcast_ref::<Engine>());
        let engine = engine.unwrap_or(&self.engine).clone();
        let course = request.data.get(&TypeId::of::<Arc<Course>>());
        let course = course.and_then(|course| course.downcast_ref::<Arc<Course>>()).cloned();
        let values = request.variables.clone();
        let document = request.parsed_query()?;
        let weight = request_size::examine(document, &self.limits).map_err(server_error)?;
        for role in request_size::required_roles(document, name.as_deref()) {
            self.engine.settings().require_role(role).map_err(server_error)?;
        }
        let operation = selected(document, name.as_deref());
        if let Some(operation) = operation.filter(|_| name.is_some() || document.operations.iter().count() == 1) {
            variables::check(operation, &values, &ctx.schema_env.registry.types).map_err(server_error)?;
        }
        let selections = Selections::new(&ctx.schema_env.registry, document);
        let cost = operation.map_or(0, |operation| cost::measure(selections, operation, &values));
        let is_query = operation.is_some_and(|operation| operation.ty == OperationType::Query);
        if let Some(course) = course.filter(|_| is_query && weight != Weight::Long) {
            let _ = course.repeatable.set(weight);
        }
        let _ = self.operation.set(Operation { document: document.clone(), name, weight, cost });
        let loaders = Reader::loaders(engine.clone(), self.people.clone(), self.reads.clone());
        let _ = self.caller_engine.set(engine);
        next.run(ctx, request.data(loaders).data(self.warnings.clone())).await
    }

    async fn validation(
        &self,
        ctx: &ExtensionContext<'_>,
        next: NextValidation<'_>,
    ) -> Result<ValidationResult, Vec<ServerError>> {
        let types = &ctx.schema_env.registry.types;
        let result = next.run(ctx).await.map_err(|mut errors| {
            errors.iter_mut().for_each(|error| name_values(error, types));
            errors
        })?;
        let cost = self.operation.get().map_or(0, |operation| operation.cost);
        if cost > self.limits.cost {
            let message = format!(
                "the operation asks for about {cost} values; at most {} are allowed: ask for smaller pages or fewer fields",
                self.limits.cost
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
        let has_turn = ctx.data_opt::<Arc<Course>>().is_some_and(|course| course.turn.is_some());
        let turn = if has_turn { Ok(None) } else { self.queue.turn(self.weight()).await.map(Some) };
        let _turn = match turn {
            Ok(turn) => turn,
            Err(error) => return Response::from_errors(vec![server_error(error)]),
        };
        let time = self.time();
        // What reads everything has time.
        let _answering = (self.weight() != Weight::Long).then(|| self.engine.embedder().enter_foreground());
        match tokio::time::timeout(time, next.run_with_data(ctx, operation_name, self.data_of_event())).await {
            Ok(mut response) => {
                if let Some(operation) = self.operation.get()
                    && let Some(definition) = operation.definition()
                {
                    let selections = Selections::new(&ctx.schema_env.registry, &operation.document);
                    nulls::insert(selections, definition, &response.errors, &mut response.data);
                    selections.order(definition, &mut response.data);
                }
                response
            }
            Err(_) => {
                let message = format!("the operation took longer than {} s", time.as_secs());
                let error = Error::new(ErrorKind::Timeout, message).with_hint("ask for less at once");
                Response::from_errors(vec![server_error(error)])
            }
        }
    }
}

/// Says of a value that an enumeration does not have which ones it has.
fn name_values(error: &mut ServerError, types: &BTreeMap<String, MetaType>) {
    let after = error.message.split_once("enumeration type \"").map(|(_, after)| after);
    let name = after.and_then(|after| after.split('"').next());
    if let Some(MetaType::Enum { enum_values, .. }) = name.and_then(|name| types.get(name)) {
        let values: Vec<&str> = enum_values.keys().map(String::as_str).collect();
        let hint = format!("its values are {}", values.join(", "));
        error.extensions.get_or_insert_default().set(error_table::HINT, hint);
    }
}

fn server_error(error: Error) -> ServerError {
    async_graphql::Error::from(error).into_server_error(async_graphql::Pos::default())
}

/// Says what an operation costs; of one that could not be read nothing is known.
fn add_cost(response: &mut Response, operation: &OnceLock<Operation>, limits: Limits) {
    if let Some(operation) = operation.get() {
        let number = |number: usize| Value::from(number as u64);
        let fields = [("value", operation.cost), ("limit", limits.cost)];
        let cost: IndexMap<Name, Value> = fields.map(|(name, value)| (Name::new(name), number(value))).into();
        response.extensions.insert(COST.to_owned(), Value::Object(cost));
    }
}

/// What the library says of a value that cannot be read, without the names of the types that it was read as: some are not in
/// the schema.
fn without_types(message: &str) -> &str {
    let mut told = message;
    while let Some((before, name)) = told.rsplit_once(" (occurred while parsing \"")
        && name.strip_suffix("\")").is_some_and(|name| !name.contains([' ', '"']))
    {
        told = before;
    }
    let named = told.strip_prefix("Failed to parse \"").and_then(|named| named.split_once("\": "));
    named.map_or(told, |(_, told)| told)
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
                let told = without_types(&error.message);
                let lines: Vec<Cow<'_, str>> = told.lines().take(MAX_LINES).map(truncate_echo).collect();
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
