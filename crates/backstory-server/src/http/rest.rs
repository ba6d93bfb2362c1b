//! REST: resources by `GET` below `/api/v1`, and the addresses of other tools, as thin mappings onto use cases. One table
//! of routes makes both the router and the document of the API, which is at `/openapi.json` and can be browsed at
//! `/api/docs`.

mod cursor;
mod enrichment;
mod indexing;
mod openapi;
mod page;
mod parameters;
mod prefer;
mod questions;
mod repositories;
mod retrieval;
mod route;
mod work;

use axum::{Router, routing::get};

use super::App;
use route::Route;

pub use openapi::document;
pub(super) use prefer::waiters;

/// Every route, in the order of the document.
fn table() -> Vec<Route> {
    [
        questions::routes(),
        work::routes(),
        repositories::routes(),
        enrichment::routes(),
        retrieval::routes(),
        indexing::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The routes, their document and the page to browse it.
pub(super) fn routes() -> Router<App> {
    let router = table().into_iter().fold(Router::new(), |router, route| router.route(route.path, route.service));
    router.route(openapi::PATH, get(openapi::answer)).merge(page::routes())
}
