//! The list of all use cases. It names every module that has one, so nothing below the facade may import it.

use crate::use_case::UseCase;

/// Something that is done with every use case, such as giving each an address.
pub trait Visitor {
    /// Takes one of them.
    fn visit<U: UseCase>(&mut self);
}

/// Shows every use case to a visitor.
#[expect(clippy::too_many_lines, reason = "a line for each")]
pub fn visit_all(visitor: &mut impl Visitor) {
    visitor.visit::<crate::access::CreateToken>();
    visitor.visit::<crate::access::ListTokens>();
    visitor.visit::<crate::access::RevokeToken>();
    visitor.visit::<crate::access::ListOperations>();
    visitor.visit::<crate::ask::AskRequest>();
    visitor.visit::<crate::ask::VerifyRequest>();
    visitor.visit::<crate::backup::BackupRequest>();
    visitor.visit::<crate::changes::ChangesRequest>();
    visitor.visit::<crate::chat::CreateChat>();
    visitor.visit::<crate::chat::ListChats>();
    visitor.visit::<crate::chat::ListMessages>();
    visitor.visit::<crate::chat::RemoveChat>();
    visitor.visit::<crate::chat::SendMessage>();
    visitor.visit::<crate::check::CheckRequest>();
    visitor.visit::<crate::check::DigestRequest>();
    visitor.visit::<crate::code::EntityRequest>();
    visitor.visit::<crate::code::FileMergeRequests>();
    visitor.visit::<crate::code::HistoryRequest>();
    visitor.visit::<crate::context::ContextRequest>();
    visitor.visit::<crate::context::RetrieveRequest>();
    visitor.visit::<crate::embedding::EmbedRequest>();
    visitor.visit::<crate::enrich::AnnotateRequest>();
    visitor.visit::<crate::enrich::ChangeAnnotation>();
    visitor.visit::<crate::enrich::ListAnnotations>();
    visitor.visit::<crate::enrich::EnrichRequest>();
    visitor.visit::<crate::enrich::GetEnrichments>();
    visitor.visit::<crate::eval::EvaluationRequest>();
    visitor.visit::<crate::eval::PairRequest>();
    visitor.visit::<crate::explore::NeighborhoodRequest>();
    visitor.visit::<crate::explore::PathRequest>();
    visitor.visit::<crate::export::ExportRequest>();
    visitor.visit::<crate::files::ChunksRequest>();
    visitor.visit::<crate::files::CoChangeRequest>();
    visitor.visit::<crate::files::CommentsRequest>();
    visitor.visit::<crate::files::ContributorsRequest>();
    visitor.visit::<crate::files::DiffRequest>();
    visitor.visit::<crate::files::FactsRequest>();
    visitor.visit::<crate::files::FileRequest>();
    visitor.visit::<crate::files::TreeRequest>();
    visitor.visit::<crate::forget::AuditRequest>();
    visitor.visit::<crate::forget::ForgetRequest>();
    visitor.visit::<crate::forget::UndoForget>();
    visitor.visit::<crate::links::MeasureLinks>();
    visitor.visit::<crate::status::CoverageRequest>();
    visitor.visit::<crate::locate::LocateRequest>();
    visitor.visit::<crate::map_lines::MapLinesRequest>();
    visitor.visit::<crate::threads::ListThreads>();
    visitor.visit::<crate::status::SyncStatusRequest>();
    visitor.visit::<crate::person::PersonRequest>();
    visitor.visit::<crate::rebuild::RebuildRequest>();
    visitor.visit::<crate::removed::RemovedRequest>();
    visitor.visit::<crate::repository::AddGroup>();
    visitor.visit::<crate::repository::AddRef>();
    visitor.visit::<crate::repository::AddRequest>();
    visitor.visit::<crate::repository::CentralFilesRequest>();
    visitor.visit::<crate::repository::CommitProjectsRequest>();
    visitor.visit::<crate::repository::DropRef>();
    visitor.visit::<crate::repository::ListRepositories>();
    visitor.visit::<crate::repository::RemoveRepository>();
    visitor.visit::<crate::search::ListDocuments>();
    visitor.visit::<crate::search::SearchRequest>();
    visitor.visit::<crate::shipped::ListReleases>();
    visitor.visit::<crate::shipped::ShippedRequest>();
    visitor.visit::<crate::show::ShowRequest>();
    visitor.visit::<crate::snapshot::CompareSnapshots>();
    visitor.visit::<crate::snapshot::GetSnapshot>();
    visitor.visit::<crate::snapshot::ListSnapshots>();
    visitor.visit::<crate::snapshot::PinSnapshot>();
    visitor.visit::<crate::snapshot::PruneSnapshots>();
    visitor.visit::<crate::sparql::DescribeRequest>();
    visitor.visit::<crate::sparql::SparqlRequest>();
    visitor.visit::<crate::stats::StatsRequest>();
    visitor.visit::<crate::summary::SummarizeRequest>();
    visitor.visit::<crate::sync::SyncRequest>();
    visitor.visit::<crate::worker::tasks::GetTask>();
    visitor.visit::<crate::worker::tasks::ListTasks>();
    visitor.visit::<crate::worker::tasks::StopTask>();
    visitor.visit::<crate::trace::TraceRequest>();
    visitor.visit::<crate::worker::CancelJob>();
    visitor.visit::<crate::worker::GetJob>();
    visitor.visit::<crate::worker::ListDeliveries>();
    visitor.visit::<crate::worker::ListJobs>();
    visitor.visit::<crate::worker::QueueJob>();
    visitor.visit::<crate::worker::RetryJob>();
}
