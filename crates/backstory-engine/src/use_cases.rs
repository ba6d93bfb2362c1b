//! The list of all use cases. It names every module that has one, so nothing below the facade may import it.

use crate::use_case::UseCase;

/// Something that is done with every use case, such as giving each an address.
pub trait Visitor {
    /// Takes one of them.
    fn visit<U: UseCase>(&mut self);
}

/// Shows every use case to a visitor.
pub fn visit_all(visitor: &mut impl Visitor) {
    visitor.visit::<crate::ask::AskRequest>();
    visitor.visit::<crate::ask::VerifyRequest>();
    visitor.visit::<crate::backup::BackupRequest>();
    visitor.visit::<crate::chat::CreateChat>();
    visitor.visit::<crate::chat::ListChats>();
    visitor.visit::<crate::chat::ListMessages>();
    visitor.visit::<crate::chat::RemoveChat>();
    visitor.visit::<crate::chat::SendMessage>();
    visitor.visit::<crate::check::CheckRequest>();
    visitor.visit::<crate::check::DigestRequest>();
    visitor.visit::<crate::code::EntityRequest>();
    visitor.visit::<crate::code::HistoryRequest>();
    visitor.visit::<crate::context::ContextRequest>();
    visitor.visit::<crate::embedding::EmbedRequest>();
    visitor.visit::<crate::enrich::EnrichRequest>();
    visitor.visit::<crate::eval::EvaluationRequest>();
    visitor.visit::<crate::eval::PairRequest>();
    visitor.visit::<crate::explore::NeighborhoodRequest>();
    visitor.visit::<crate::explore::PathRequest>();
    visitor.visit::<crate::forget::AuditRequest>();
    visitor.visit::<crate::forget::ForgetRequest>();
    visitor.visit::<crate::forget::UndoForget>();
    visitor.visit::<crate::links::MeasureLinks>();
    visitor.visit::<crate::read::CoverageRequest>();
    visitor.visit::<crate::read::ListThreads>();
    visitor.visit::<crate::read::SyncStatusRequest>();
    visitor.visit::<crate::rebuild::RebuildRequest>();
    visitor.visit::<crate::repository::AddRequest>();
    visitor.visit::<crate::repository::CentralFilesRequest>();
    visitor.visit::<crate::repository::ListRepositories>();
    visitor.visit::<crate::repository::RemoveRepository>();
    visitor.visit::<crate::search::SearchRequest>();
    visitor.visit::<crate::show::ShowRequest>();
    visitor.visit::<crate::snapshot::CompareSnapshots>();
    visitor.visit::<crate::snapshot::GetSnapshot>();
    visitor.visit::<crate::snapshot::ListSnapshots>();
    visitor.visit::<crate::snapshot::PinSnapshot>();
    visitor.visit::<crate::snapshot::PruneSnapshots>();
    visitor.visit::<crate::stats::StatsRequest>();
    visitor.visit::<crate::summary::SummarizeRequest>();
    visitor.visit::<crate::sync::SyncRequest>();
    visitor.visit::<crate::task::GetTask>();
    visitor.visit::<crate::task::ListTasks>();
    visitor.visit::<crate::task::StopTask>();
    visitor.visit::<crate::trace::TraceRequest>();
    visitor.visit::<crate::worker::CancelJob>();
    visitor.visit::<crate::worker::ListJobs>();
    visitor.visit::<crate::worker::QueueJob>();
}
