//! The contract of the engine: a request type names its answer type, and command line, HTTP and GraphQL use these two.
//! What a use case does belongs to the module of its request.

#[cfg(feature = "schema")]
mod schema;

use std::future::Future;

use backstory_model::role::ServerRole;
use serde::{Serialize, de::DeserializeOwned};

use crate::{error::Result, resources::Resources};

pub use backstory_model::access::Scope;

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
    /// Whether it concerns all projects at once, so that only who sees them all may make it.
    const CONCERNS_ALL_PROJECTS: bool = false;
    /// Whether the audit log keeps what it says.
    const IS_LOGGED: bool = true;
    /// The language of its field `query`, whose comments the audit log leaves out; none if that is no query language.
    const QUERY_LANGUAGE: Option<QueryLanguage> = None;
    /// What answers it.
    type Answer: Serialize + DeserializeOwned + HasSchema + Send + 'static;

    /// Answers it, as far as the visibility of the resources allows.
    ///
    /// # Errors
    /// As the use case says.
    fn run(self, resources: &Resources) -> impl Future<Output = Result<Self::Answer>> + Send;
}

/// A language of queries, with comments from `#` to the end of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryLanguage {
    /// GraphQL.
    GraphQl,
    /// SPARQL.
    Sparql,
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
