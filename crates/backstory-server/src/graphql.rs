//! The GraphQL API: the graph and the use cases of the engine, for programs, dashboards and the query page. Commands
//! use `/api/v1`, which is in `http::api`.
//!
//! A resolver knows an id; its fields come through the loaders, which read the ledger and the graph in batches. What a
//! caller may see is a value of each request, and resolvers read through a handle of the engine that shows no more.

mod answer;
mod audit;
mod chat;
mod code;
mod context;
mod conversation;
mod cost;
mod document;
mod edge;
mod explore;
mod guard;
mod issue;
mod job;
mod limits;
mod loaders;
mod merge_request;
mod mutation;
mod names;
mod node;
mod page;
mod person;
mod planning;
mod project;
mod query;
mod repository;
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
mod written;

use std::sync::Arc;

use async_graphql::{Executor, Request, Response, SDLExportOptions, futures_util::stream::BoxStream};
use backstory_engine::{Engine, model::visibility::Visibility};

pub use limits::Limits;
pub(crate) use limits::MAX_BODY;

use conversation::Discussion;
use edge::EdgeConnection;
use guard::Guards;
use issue::Issue;
use merge_request::MergeRequest;
use mutation::Mutation;
use page::Listed;
use project::Project;
use query::Query;
use subscription::Subscription;
use thread::ThreadConnection;

use crate::queue::Queue;

type Schema = async_graphql::Schema<Query, Mutation, Subscription>;

type Builder = async_graphql::SchemaBuilder<Query, Mutation, Subscription>;

/// The API over an engine. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Api {
    schema: Schema,
    engine: Engine,
    limits: Limits,
    queue: Arc<Queue>,
}

impl Api {
    /// The API over an engine, within limits, some operations at a time.
    pub(crate) fn new(engine: Engine, limits: Limits) -> Self {
        let queue = Arc::<Queue>::default();
        let schema = builder()
            .data(queue.clone())
            .limit_recursive_depth(limits.nesting)
            .limit_directives(limits.directives)
            .extension(Guards::new(engine.with_visibility(Visibility::public()), limits, queue.clone()))
            .finish();
        Self { schema, engine, limits, queue }
    }

    /// What one operation may take.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Where operations wait for each other.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Answers a query or mutation as far as its caller may see.
    pub(crate) async fn execute(&self, request: Request, visibility: Visibility) -> Response {
        self.schema.execute(request.data(self.engine.with_visibility(visibility))).await
    }

    /// Answers a query, mutation or subscription as far as its caller may see.
    pub(crate) fn execute_stream(&self, request: Request, visibility: Visibility) -> BoxStream<'static, Response> {
        Executor::execute_stream(&self.schema, request.data(self.engine.with_visibility(visibility)), None)
    }
}

fn builder() -> Builder {
    // Types that the library makes have no description of their own.
    Schema::build(Query, Mutation, Subscription)
        .override_output_type_description::<Listed<Project>>("A page of projects.")
        .override_output_type_description::<Listed<Discussion>>("A page of discussions.")
        .override_output_type_description::<ThreadConnection<Issue>>("A page of issues.")
        .override_output_type_description::<ThreadConnection<MergeRequest>>("A page of merge requests.")
        .override_output_type_description::<EdgeConnection>("A page of the edges at a node.")
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
