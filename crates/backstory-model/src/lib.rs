//! Pure types and algorithms of backstory: ids and IRIs, entities, edges, documents, chunks, scores.
//!
//! Nothing here reads a file, opens a socket, knows a store or is async.

pub mod alias;
pub mod answer;
pub mod chunk;
pub mod classify;
pub mod cochange;
pub mod code;
pub mod commit;
pub mod digest;
pub mod document;
pub mod document_type;
pub mod edge;
pub mod entity;
pub mod eval;
pub mod filter;
pub mod id;
pub mod lineage;
pub mod link;
pub mod message;
pub mod numbers;
pub mod pack;
pub mod people;
pub mod question;
pub mod rank;
pub mod redaction;
pub mod reference;
pub mod repository;
pub mod role;
pub mod score;
pub mod sentence;
pub mod terms;
pub mod test_files;
pub mod text;
pub mod time;
pub mod visibility;
pub mod written;
