//! The contract of the engine: a request type names its answer type, and command line, HTTP and GraphQL use these two.
//! What a use case does belongs to the module of its request.

#[cfg(feature = "schema")]
mod schema;

use std::future::Future;

use backstory_model::role::ServerRole;
use serde::{Serialize, de::DeserializeOwned};

use crate::{Engine, error::Result};

#[cfg(feature = "schema")]
pub use self::schema::{HasSchema, json_schema};

/// What a JSON Schema can describe; everything without the feature `schema`.
#[cfg(not(feature = "schema"))]
pub trait HasSchema {}

#[cfg(not(feature = "schema"))]
impl<T> HasSchema for T {}

/// A request, which says what answers it.
pub trait UseCase: Clone + Serialize + DeserializeOwned + HasSchema + Send + 'static {
    /// Its name in the addresses of the API: `trace` in `/api/v1/trace`.
    const NAME: &'static str;
    /// What somebody must be allowed to do who makes it.
    const SCOPE: Scope = Scope::Read;
    /// Whether it may be answered again if nothing came back.
    const REPEATABLE: bool = matches!(Self::SCOPE, Scope::Read);
    /// How much work it is.
    const WEIGHT: Weight = Weight::Light;
    /// Which role a server must have to answer it; none if every server does.
    const ROLE: Option<ServerRole> = match Self::SCOPE {
        Scope::Read => Some(ServerRole::Read),
        Scope::Sync | Scope::Admin => Some(ServerRole::Write),
    };
    /// What answers it.
    type Answer: Serialize + DeserializeOwned + HasSchema + Send + 'static;

    /// Answers it, as far as the engine's handle may see.
    ///
    /// # Errors
    /// As the use case says.
    fn run(self, engine: &Engine) -> impl Future<Output = Result<Self::Answer>> + Send;
}

/// What somebody may do. Whoever may do more may also do what comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Ask.
    Read,
    /// Start work that brings nothing but what is there already up to date: syncs, vectors.
    Sync,
    /// Add, change and delete.
    Admin,
}

/// How much work an operation is, by which a server decides how many run at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Weight {
    /// A look at the stores.
    #[default]
    Light,
    /// A search, or what costs as much.
    Heavy,
    /// It reads everything there is, or waits for a language model.
    Long,
}

/// Something that is done with every use case, such as giving each an address.
pub trait Visitor {
    /// Takes one of them.
    fn visit<U: UseCase>(&mut self);
}

/// Shows every use case to a visitor.
pub fn visit_all(visitor: &mut impl Visitor) {
    visitor.visit::<crate::ask::AskRequest>();
    visitor.visit::<crate::ask::VerifyRequest>();
    visitor.visit::<crate::backup::BackupRequest>();
    visitor.visit::<crate::chat::CreateChat>();
    visitor.visit::<crate::chat::ListChats>();
    visitor.visit::<crate::chat::ListMessages>();
    visitor.visit::<crate::chat::RemoveChat>();
    visitor.visit::<crate::chat::SendMessage>();
    visitor.visit::<crate::check::CheckRequest>();
    visitor.visit::<crate::check::DigestRequest>();
    visitor.visit::<crate::code::EntityRequest>();
    visitor.visit::<crate::code::HistoryRequest>();
    visitor.visit::<crate::context::ContextRequest>();
    visitor.visit::<crate::embedding::EmbedRequest>();
    visitor.visit::<crate::enrich::EnrichRequest>();
    visitor.visit::<crate::eval::EvaluationRequest>();
    visitor.visit::<crate::eval::PairRequest>();
    visitor.visit::<crate::forget::AuditRequest>();
    visitor.visit::<crate::forget::ForgetRequest>();
    visitor.visit::<crate::forget::UndoForget>();
    visitor.visit::<crate::links::MeasureLinks>();
    visitor.visit::<crate::read::CoverageRequest>();
    visitor.visit::<crate::read::ListThreads>();
    visitor.visit::<crate::read::SyncStatusRequest>();
    visitor.visit::<crate::rebuild::RebuildRequest>();
    visitor.visit::<crate::repository::AddRequest>();
    visitor.visit::<crate::repository::CentralFilesRequest>();
    visitor.visit::<crate::repository::ListRepositories>();
    visitor.visit::<crate::repository::RemoveRepository>();
    visitor.visit::<crate::search::SearchRequest>();
    visitor.visit::<crate::show::ShowRequest>();
    visitor.visit::<crate::snapshot::CompareSnapshots>();
    visitor.visit::<crate::snapshot::GetSnapshot>();
    visitor.visit::<crate::snapshot::ListSnapshots>();
    visitor.visit::<crate::snapshot::PinSnapshot>();
    visitor.visit::<crate::snapshot::PruneSnapshots>();
    visitor.visit::<crate::stats::StatsRequest>();
    visitor.visit::<crate::summary::SummarizeRequest>();
    visitor.visit::<crate::sync::SyncRequest>();
    visitor.visit::<crate::task::GetTask>();
    visitor.visit::<crate::task::ListTasks>();
    visitor.visit::<crate::task::StopTask>();
    visitor.visit::<crate::trace::TraceRequest>();
    visitor.visit::<crate::worker::CancelJob>();
    visitor.visit::<crate::worker::ListJobs>();
    visitor.visit::<crate::worker::QueueJob>();
}
