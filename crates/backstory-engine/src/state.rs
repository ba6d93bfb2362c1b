//! What is kept in memory between use cases: caches, logs and queues. The types know no stores; those who fill them do.

pub(crate) mod access;
pub(crate) mod answers;
pub(crate) mod co_changes;
pub(crate) mod discussions;
pub(crate) mod mentions;
pub(crate) mod people;
pub(crate) mod repairs;
pub(crate) mod worker;
