//! The GraphQL API: the graph and the use cases of the engine, for programs, dashboards and the query page. Commands
//! use `/api/v1`, which is in `http::api`.
//!
//! A resolver knows an id; its fields come through the loaders, which read the ledger and the graph in batches. The
//! schema is built once for each visibility.

mod answer;
mod audit;
mod chat;
mod code;
mod context;
mod conversation;
mod document;
mod edge;
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
mod snapshot;
mod status;
mod subscription;
mod summary;
mod task;
mod thread;
mod trace;
mod written;

use std::sync::Arc;

use async_graphql::SDLExportOptions;
use backstory_engine::{Engine, model::sight::Visibility};

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

/// The API over an engine. Cheap to clone; `execute` answers queries and mutations, `execute_stream` subscriptions.
pub(crate) type Schema = async_graphql::Schema<Query, Mutation, Subscription>;

type Builder = async_graphql::SchemaBuilder<Query, Mutation, Subscription>;

/// The API as it is for each sight: everything that one of them reads, it reads with that sight. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Schemas {
    open: Schema,
    whole: Schema,
    limits: Limits,
    queue: Arc<Queue>,
}

impl Schemas {
    /// The API over an engine, within limits, some operations at a time.
    pub(crate) fn new(engine: &Engine, limits: Limits) -> Self {
        let queue = Arc::<Queue>::default();
        let seeing = |sight| schema(engine.seeing(sight), limits, queue.clone());
        Self { open: seeing(Visibility::Open), whole: seeing(Visibility::Confidential), limits, queue }
    }

    /// What one operation may take.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Where operations wait for each other.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The API for those who see so much.
    pub(crate) fn seeing(&self, sight: Visibility) -> &Schema {
        match sight {
            Visibility::Open => &self.open,
            Visibility::Confidential => &self.whole,
        }
    }
}

/// The API over an engine, within limits.
fn schema(engine: Engine, limits: Limits, queue: Arc<Queue>) -> Schema {
    builder()
        .data(queue.clone())
        .data(engine.clone())
        .limit_recursive_depth(limits.nesting)
        .limit_directives(limits.directives)
        .extension(Guards::new(engine, limits, queue))
        .finish()
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
