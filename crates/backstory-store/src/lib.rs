//! Model values on disk: the ledger and its lists (SQLite), the graph (Oxigraph) and the index (LanceDB). Nothing outside this crate
//! names those libraries.

pub mod bundle;
mod connections;
pub mod export;
pub mod generations;
pub mod graph;
pub mod guard;
pub mod index;
pub mod ledger;
mod ledger_error;
pub mod lists;
pub mod missing_resource;
mod recent;
pub mod scan;
