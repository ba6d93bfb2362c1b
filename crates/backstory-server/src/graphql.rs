//! The GraphQL API: the graph and the use cases of the engine, for programs, dashboards and the query page. Commands
//! use `/api/v1`, which is in `http::api`.
//!
//! A resolver knows an id; its fields come through the loaders, which read the ledger and the graph in batches. What a
//! caller may see is a value of each request, and resolvers read through a handle of the engine that shows no more.

mod annotation;
mod answer;
mod audit;
mod change;
mod chat;
mod code;
mod context;
mod conversation;
mod cost;
mod counter;
mod delivery;
mod edge;
mod explore;
mod guard;
mod issue;
mod job;
mod limits;
mod lists;
mod loaders;
mod merge_request;
mod mutation;
mod names;
mod node;
mod nulls;
#[cfg(test)]
mod overlap;
mod page;
mod persisted;
mod person;
mod planning;
mod project;
mod query;
mod release;
mod repository;
mod request_size;
mod scalar;
mod search;
mod secret;
mod selection;
mod snapshot;
mod status;
mod subscription;
mod summary;
mod task;
mod thread;
mod trace;
mod variables;
mod words;
mod written;

use std::{sync::Arc, time::Duration};

use async_graphql::{
    Executor, Request, Response, SDLExportOptions, ServerError,
    futures_util::{
        StreamExt as _,
        stream::{self, BoxStream},
    },
};
use backstory_engine::{
    Engine,
    access::Recording,
    error::{Error, ErrorKind},
    model::access::Caller,
};

pub use limits::Limits;
pub(crate) use limits::MAX_BODY;

use audit::AuditConnection;
use chat::{ChatConnection, MessageConnection};
use code::FileChangeConnection;
use delivery::WebhookDeliveryConnection;
use edge::EdgeConnection;
use guard::{Course, Guards};
use job::JobConnection;
use lists::{
    BranchConnection, CodeDefinitionConnection, CodeEntityConnection, CommitConnection, DiscussionConnection,
    FileChunkConnection, FileConnection, FileMergeRequests, IndexedDocumentConnection, IssueConnection,
    LabelConnection, MergeRequestConnection, MilestoneConnection, PersonConnection, ProjectConnection,
    SyntaxFactConnection, TagConnection,
};
use mutation::Mutation;
use persisted::PersistedDocuments;
use query::Query;
use release::ReleaseConnection;
use subscription::Subscription;
use trace::ChangeConnection;

use crate::queue::Queue;

/// How long an operation waits until graph and lists are at one sequence number. While one of them is filled again, it is
/// answered with what is there.
const PATIENCE: Duration = Duration::from_secs(5);

type Schema = async_graphql::Schema<Query, Mutation, Subscription>;

type Builder = async_graphql::SchemaBuilder<Query, Mutation, Subscription>;

/// The API over an engine. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Api {
    schema: Schema,
    engine: Engine,
    limits: Limits,
    queue: Arc<Queue>,
    persisted: Arc<PersistedDocuments>,
}

impl Api {
    /// The API over an engine, within limits, some operations at a time.
    pub(crate) fn new(engine: Engine, limits: Limits) -> Self {
        let queue = Arc::<Queue>::default();
        let schema = builder()
            .data(queue.clone())
            .limit_recursive_depth(limits.nesting)
            .limit_directives(limits.directives)
            .extension(Guards::new(engine.with_caller(&Caller::nobody()), limits, queue.clone()))
            .finish();
        Self { schema, engine, limits, queue, persisted: Arc::default() }
    }

    /// What one operation may take.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Where operations wait for each other.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Answers a query or mutation as far as its caller may see and do. A query reads graph and lists at one sequence
    /// number: if changes were applied meanwhile, it is answered once more while none are.
    pub(crate) async fn execute(&self, mut request: Request, caller: &Caller) -> Response {
        if let Err(error) = self.persisted.complete(&mut request, &caller.visibility) {
            return Response::from_errors(vec![error]);
        }
        let recording = self.record(&request, caller);
        let response = self.execute_repeatedly(request, caller).await;
        if let Some(recording) = recording {
            recording.end(failure_of(&response));
        }
        response
    }

    async fn execute_repeatedly(&self, request: Request, caller: &Caller) -> Response {
        let (before, course) = (self.engine.applied_numbers().await, Arc::<Course>::default());
        let again = copy(&request);
        let request = request.data(self.engine.with_caller(caller)).data(course.clone());
        let response = self.schema.execute(request).await;
        // A mutation is not repeated, and what takes minutes must not keep changes waiting.
        let Some(weight) = course.repeatable() else { return response };
        match (before, self.engine.applied_numbers().await) {
            (Ok(before), Ok(after)) if before != after || !after.are_equal() => {}
            _ => return response,
        }
        // The turn comes first: a holder of the projections waits for nobody.
        let Ok(turn) = self.queue.turn(weight).await else { return response };
        let Ok(_held) = tokio::time::timeout(PATIENCE, self.engine.hold_projections()).await else { return response };
        let course = Arc::new(Course::with_turn(turn));
        let repeated = self.schema.execute(again.data(self.engine.with_caller(caller)).data(course)).await;
        // What was answered while changes were applied is better than nothing.
        if repeated.is_err() && response.is_ok() { response } else { repeated }
    }

    /// Answers a query, mutation or subscription as far as its caller may see and do.
    pub(crate) fn execute_stream(&self, mut request: Request, caller: &Caller) -> BoxStream<'static, Response> {
        if let Err(error) = self.persisted.complete(&mut request, &caller.visibility) {
            return stream::once(async move { Response::from_errors(vec![error]) }).boxed();
        }
        let mut recording = self.record(&request, caller);
        let request = request.data(self.engine.with_caller(caller));
        // How it begins is its outcome.
        let recorded = move |response: Response| {
            if let Some(recording) = recording.take() {
                recording.end(failure_of(&response));
            }
            response
        };
        Executor::execute_stream(&self.schema, request, None).map(recorded).boxed()
    }

    /// Begins to put an operation on record.
    fn record(&self, request: &Request, caller: &Caller) -> Option<Recording> {
        let variables = serde_json::to_value(&request.variables).unwrap_or_default();
        let name = request.operation_name.as_deref();
        self.engine.with_caller(caller).record_graphql(name, &request.query, variables)
    }
}

/// How an operation failed, if it did.
fn failure_of(response: &Response) -> Option<ErrorKind> {
    // What is no error of the engine comes from parsing and validation.
    let kind = |error: &ServerError| error.source::<Error>().map_or(ErrorKind::Invalid, |error| error.kind);
    response.errors.first().map(kind)
}

/// The same request, without what belongs to its caller.
fn copy(request: &Request) -> Request {
    let mut copy = Request::new(request.query.clone()).variables(request.variables.clone());
    copy.operation_name.clone_from(&request.operation_name);
    copy
}

fn builder() -> Builder {
    // Types that the library makes have no description of their own.
    Schema::build(Query, Mutation, Subscription)
        .override_output_type_description::<ProjectConnection>("A page of projects.")
        .override_output_type_description::<DiscussionConnection>("A page of discussions.")
        .override_output_type_description::<IssueConnection>("A page of issues.")
        .override_output_type_description::<MergeRequestConnection>("A page of merge requests.")
        .override_output_type_description::<CommitConnection>("A page of commits.")
        .override_output_type_description::<FileConnection>("A page of files.")
        .override_output_type_description::<CodeEntityConnection>("A page of code entities.")
        .override_output_type_description::<CodeDefinitionConnection>("A page of code entities at a revision.")
        .override_output_type_description::<FileChangeConnection>("A page of the files that a commit changes.")
        .override_output_type_description::<FileChunkConnection>("A page of the chunks of a file.")
        .override_output_type_description::<FileMergeRequests>("A page of the merge requests that change a file.")
        .override_output_type_description::<SyntaxFactConnection>("A page of nodes of the syntax tree of a file.")
        .override_output_type_description::<IndexedDocumentConnection>("A page of documents that search has.")
        .override_output_type_description::<PersonConnection>("A page of people.")
        .override_output_type_description::<BranchConnection>("A page of branches.")
        .override_output_type_description::<TagConnection>("A page of tags.")
        .override_output_type_description::<LabelConnection>("A page of labels.")
        .override_output_type_description::<MilestoneConnection>("A page of milestones.")
        .override_output_type_description::<ReleaseConnection>("A page of releases.")
        .override_output_type_description::<EdgeConnection>("A page of the edges at a node.")
        .override_output_type_description::<JobConnection>("A page of jobs.")
        .override_output_type_description::<WebhookDeliveryConnection>("A page of webhooks that were received.")
        .override_output_type_description::<AuditConnection>("A page of audit records.")
        .override_output_type_description::<ChangeConnection>("A page of the changes of a file or code entity.")
        .override_output_type_description::<ChatConnection>("A page of conversations.")
        .override_output_type_description::<MessageConnection>("A page of the messages of a conversation.")
}

/// The schema in the schema definition language, the same for every build of one version.
pub fn sdl() -> String {
    let options = SDLExportOptions::new()
        .sorted_fields()
        .sorted_arguments()
        .sorted_enum_items()
        .use_space_ident()
        .include_specified_by()
        .prefer_single_line_descriptions();
    builder().finish().sdl_with_options(options)
}
