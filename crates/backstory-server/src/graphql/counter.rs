//! Ids of what is numbered: `job/12`. The prefix keeps ids of different types apart.

use std::{fmt::Display, str::FromStr};

use async_graphql::ID;
use backstory_engine::{error::Result, model::text::truncate_echo};

use super::page;

/// What is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counter {
    AuditEntry,
    Chat,
    Job,
    SyncRun,
    Task,
}

impl Counter {
    fn prefix(self) -> &'static str {
        match self {
            Self::AuditEntry => "audit",
            Self::Chat => "chat",
            Self::Job => "job",
            Self::SyncRun => "sync-run",
            Self::Task => "task",
        }
    }

    /// The id of the one with a number.
    pub(super) fn id(self, number: impl Display) -> ID {
        format!("{}/{number}", self.prefix()).into()
    }

    /// The number that an id says, or that stands in its place.
    ///
    /// # Errors
    /// It is neither.
    pub(super) fn number<N: FromStr>(self, id: &str) -> Result<N> {
        let prefix = self.prefix();
        let number = id.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/')).unwrap_or(id);
        number.parse().map_err(|_| {
            page::invalid(format!("'{}' is not an id of this type; write {prefix}/1 or 1", truncate_echo(id)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_with_and_without_its_prefix() {
        assert_eq!(Counter::Job.id(12).as_str(), "job/12");
        for id in ["job/12", "12"] {
            assert_eq!(Counter::Job.number::<i64>(id).unwrap(), 12, "{id}");
        }
        for id in ["task/12", "job12", "job/", "/12", "job/job/12", "x", ""] {
            let error = Counter::Job.number::<i64>(id).unwrap_err().to_string();
            assert!(error.ends_with("is not an id of this type; write job/1 or 1"), "{error}");
        }
    }
}
