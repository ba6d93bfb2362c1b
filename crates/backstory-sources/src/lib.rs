//! The outside world as model values: forges and what must not be kept of their texts.
//!
//! Nothing here knows where values are stored or how they are served.

pub mod forge;
pub mod redact;
