//! Limits of one GraphQL request. Those of connections and bodies are in `http`.

use std::time::Duration;

use backstory_engine::use_case::Weight;

/// Largest body of a request and largest message of a subscription, in bytes.
pub(crate) const MAX_BODY: usize = 256 << 10;

/// What one operation may ask for. Whatever exceeds it is refused before anything is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep fields may be nested; those of introspection count as one level.
    pub depth: usize,
    /// How much an operation may cost: about how many values it reads. `cost` has the rule.
    pub cost: usize,
    /// How many fields and fragments a document may select, fragments counted wherever they are used.
    pub selections: usize,
    /// How many fields may be given another name.
    pub aliases: usize,
    /// How many directives one field may have.
    pub directives: usize,
    /// How many lists of introspection may stand within each other: types, their fields, their arguments.
    pub introspected_lists: usize,
    /// How deep brackets may be nested in the text, and fragments in each other.
    pub nesting: usize,
    /// How long an operation may take.
    pub time: Duration,
    /// How long an operation may take that reads or takes away everything there is, `check`, `digest` and
    /// `removeRepository`, or waits for a language model: `ask`, `sendMessage` and `summarize`.
    pub long_time: Duration,
}

impl Limits {
    /// How long an operation may take that is so much work.
    pub(crate) fn time_of(&self, weight: Weight) -> Duration {
        if weight == Weight::Long { self.long_time } else { self.time }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 12,
            cost: 5_000,
            selections: 5_000,
            aliases: 50,
            directives: 5,
            introspected_lists: 3,
            nesting: 32,
            time: Duration::from_secs(30),
            long_time: Duration::from_secs(600),
        }
    }
}
