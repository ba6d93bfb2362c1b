//! The outside world as model values: forges, source files and what must not be kept of texts.
//!
//! Nothing here knows where values are stored or how they are served.

pub mod code;
pub mod forge;
pub mod redact;
