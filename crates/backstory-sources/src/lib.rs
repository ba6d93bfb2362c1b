//! The outside world as model values: forges, git repositories, source files and what must not be kept of their texts.
//!
//! Nothing here knows where values are stored or how they are served.

pub mod code;
pub mod forge;
pub mod git;
pub mod http;
pub mod redact;
