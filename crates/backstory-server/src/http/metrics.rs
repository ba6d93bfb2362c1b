//! The metrics that Prometheus reads; the engine computes those of the stores.

use std::{fmt, sync::atomic::AtomicU64, time::Duration};

use axum::{
    Extension,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use backstory_engine::{
    error::{Error, ErrorKind},
    metrics::StoreMetrics,
    model::access::Caller,
};
use jiff::Timestamp;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use super::{API, App, Refusal};

/// Media type of the answer.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Upper bounds of the classes of request times, in seconds.
const TIMES: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Paths that are counted apart; every other one is another.
const PATHS: [&str; 8] =
    ["/graphql", "/graphql/ws", "/healthz", "/metrics", "/readyz", "/sparql", "/webhooks/github", "/webhooks/gitlab"];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    path: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Project {
    project: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Store {
    store: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Jobs {
    kind: &'static str,
    status: &'static str,
}

/// How long requests took.
#[derive(Clone, Debug)]
pub(super) struct RequestDurations(Family<Answered, Histogram>);

impl Default for RequestDurations {
    fn default() -> Self {
        Self(Family::new_with_constructor(|| Histogram::new(TIMES)))
    }
}

impl RequestDurations {
    /// Counts a request that was answered.
    pub(super) fn observe(&self, path: &str, status: StatusCode, took: Duration) {
        let of_api = path.strip_prefix(API).is_some_and(|name| name.starts_with('/'));
        let path = if of_api { API } else { PATHS.into_iter().find(|known| *known == path).unwrap_or("other") };
        self.0.get_or_create(&Answered { path, status: status.as_u16() }).observe(took.as_secs_f64());
    }
}

/// The answer to a scrape.
pub(super) async fn answer(State(app): State<App>, Extension(caller): Extension<Caller>) -> Result<Response, Refusal> {
    let stores = app.engine.with_caller(&caller).store_metrics().await?;
    // Requests are those of everybody.
    let requests = caller.visibility.allows_all_projects().then_some(&app.requests);
    let text = text(requests, &stores, Timestamp::now())
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

fn text(requests: Option<&RequestDurations>, stores: &StoreMetrics, now: Timestamp) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("backstory");
    if let Some(RequestDurations(requests)) = requests {
        registry.register_with_unit(
            "http_request_duration",
            "Time to answer requests",
            Unit::Seconds,
            requests.clone(),
        );
    }
    let gauge = |registry: &mut Registry, name: &str, help: &str, value: u64| {
        let gauge: Gauge<f64, AtomicU64> = Gauge::default();
        gauge.set(value as f64);
        registry.register(name, help, gauge);
    };
    gauge(&mut registry, "ledger_changes", "Number of the newest change in the ledger", stores.ledger_seq);
    gauge(&mut registry, "documents", "Documents that text search finds", stores.documents);
    gauge(&mut registry, "documents_embedded", "Documents that vector search finds", stores.embedded);
    gauge(&mut registry, "webhook_deliveries", "Webhooks of the last 30 days", stores.deliveries);
    gauge(&mut registry, "redactions", "Places in what is stored in which secrets were replaced", stores.redactions);

    let behind: Family<Store, Gauge<f64, AtomicU64>> = Family::default();
    for (store, seq) in [("graph", stores.graph_seq), ("lists", stores.lists_seq), ("index", stores.index_seq)] {
        behind.get_or_create(&Store { store }).set(stores.ledger_seq.saturating_sub(seq) as f64);
    }
    registry.register("projection_lag_changes", "Changes of the ledger that a projection has not", behind);

    let bytes: Family<Store, Gauge<f64, AtomicU64>> = Family::default();
    for (store, size) in &stores.bytes {
        bytes.get_or_create(&Store { store }).set(*size as f64);
    }
    registry.register_with_unit("store_size", "Size on disk", Unit::Bytes, bytes);

    let lag: Family<Project, Gauge<f64, AtomicU64>> = Family::default();
    for (project, at) in &stores.synced {
        let Some(at) = at else { continue };
        let seconds = now.duration_since(*at).as_secs_f64().max(0.0);
        lag.get_or_create(&Project { project: project.clone() }).set(seconds);
    }
    registry.register_with_unit("sync_lag", "Time since the last whole sync of a project began", Unit::Seconds, lag);

    let jobs: Family<Jobs, Gauge<f64, AtomicU64>> = Family::default();
    for (kind, status, count) in &stores.jobs {
        jobs.get_or_create(&Jobs { kind: kind.as_str(), status: status.as_str() }).set(*count as f64);
    }
    registry.register("jobs", "Jobs on record", jobs);

    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}
