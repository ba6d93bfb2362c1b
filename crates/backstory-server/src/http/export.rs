//! `/api/v1/export/{what}`: tables for other programs, streamed batch by batch.

use axum::{
    Extension, Router,
    body::{Body, Bytes},
    extract::{Path, RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use backstory_engine::{
    error::{Error, ErrorKind},
    export::{ExportBatch, ExportFilter, ExportKind, ExportRequest, MAX_BATCH, TableEncoder, TableFormat},
    model::{access::Caller, edge::Edge, entity::State as ThreadState, text::truncate_echo, time::parse_instant},
};
use futures::stream;
use url::form_urlencoded;

use super::{
    App, Refusal,
    access::{self, Auth},
    api,
    execute::execute,
};

/// The route of exports.
pub(super) fn routes() -> Router<App> {
    Router::new().route(&format!("{}/export/{{what}}", api::API), get(answer))
}

/// Where batches come from.
struct Source {
    app: App,
    auth: Auth,
    caller: Caller,
    request: ExportRequest,
}

/// An export that is under way.
struct Export {
    source: Source,
    writer: Option<TableEncoder>,
    /// The first batch, which was read before the answer began, so that a wrong request is refused.
    first: Option<ExportBatch>,
}

async fn answer(
    State(app): State<App>,
    Extension(auth): Extension<Auth>,
    Extension(caller): Extension<Caller>,
    Path(what): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let Some(what) = ExportKind::from_name(&what) else {
        let known = ExportKind::ALL.map(ExportKind::as_str).join(", ");
        let message = format!("there is no table of that name; tables are {known}");
        return Err(Refusal::new(StatusCode::NOT_FOUND, "NOT_FOUND", message));
    };
    let (format, filter) = read_parameters(&query.unwrap_or_default())?;
    let request = ExportRequest { what, filter, after: None, limit: MAX_BATCH };
    let writer = TableEncoder::new(what.columns(), format).map_err(unwritten)?;
    let source = Source { app, auth, caller, request };
    let first = source.read().await?;
    let export = Export { source, writer: Some(writer), first: Some(first) };
    let pieces = stream::try_unfold(export, |export| async move { export.next().await.map_err(std::io::Error::other) });
    let name = format!("attachment; filename=\"{}.{}\"", what.as_str(), format.as_str());
    let private = "private, no-store".to_owned();
    let headers = [
        (header::CONTENT_TYPE, format.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, name),
        (header::CACHE_CONTROL, private),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

impl Source {
    /// Reads the next batch.
    async fn read(&self) -> Result<ExportBatch, Error> {
        if !access::is_valid(&self.app, &self.auth) {
            return Err(Error::new(ErrorKind::Unauthenticated, "the token was valid when the export began"));
        }
        // For each batch again: a client that reads slowly keeps nobody else waiting.
        execute(&self.app, &self.caller, self.request.clone()).await
    }
}

impl Export {
    /// The next bytes; none after the last.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, Error> {
        let Some(writer) = self.writer.take() else { return Ok(None) };
        let batch = match self.first.take() {
            Some(batch) => batch,
            None => self.source.read().await?,
        };
        self.source.request.after.clone_from(&batch.next);
        self.source.request.filter.clone_from(&batch.filter);
        let (bytes, writer) = tokio::task::spawn_blocking(move || write(writer, &batch)).await??;
        self.writer = writer;
        Ok(Some((bytes.into(), self)))
    }
}

/// The bytes of a batch, and the writer of what follows it.
fn write(mut writer: TableEncoder, batch: &ExportBatch) -> Result<(Vec<u8>, Option<TableEncoder>), Error> {
    let mut bytes = writer.write(&batch.rows).map_err(unwritten)?;
    if batch.next.is_some() {
        return Ok((bytes, Some(writer)));
    }
    bytes.extend(writer.finish().map_err(unwritten)?);
    Ok((bytes, None))
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn unwritten(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Internal, format!("the table cannot be written: {error}"))
}

/// Reads format and conditions; those that can be given several times may be.
fn read_parameters(query: &str) -> Result<(TableFormat, ExportFilter), Refusal> {
    let (mut format, mut filter) = (TableFormat::default(), ExportFilter::default());
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let invalid = |what: &str| Error::new(ErrorKind::Invalid, format!("'{}' is not {what}", truncate_echo(&value)));
        let time = || parse_instant(&value).map_err(|wrong| Error::new(ErrorKind::Invalid, wrong));
        match &*name {
            "format" => {
                let found = TableFormat::ALL.into_iter().find(|format| format.as_str() == value);
                format = found.ok_or_else(|| invalid("a format; there are ndjson, csv, arrow and parquet"))?;
            }
            "project" => filter.projects.push(value.into_owned()),
            "state" => filter.states.push(ThreadState::from_name(&value).ok_or_else(|| invalid("a state"))?),
            "author" => filter.authors.push(value.into_owned()),
            "label" => filter.labels.push(value.into_owned()),
            "path" => filter.paths.push(value.into_owned()),
            "edge" => filter.edges.push(Edge::from_name(&value).ok_or_else(|| invalid("an edge"))?),
            "after" => filter.after = Some(time()?),
            "before" => filter.before = Some(time()?),
            _ => {
                let known = "format, project, state, author, label, path, edge, after and before";
                let message = format!("there is no parameter '{}'; parameters are {known}", truncate_echo(&name));
                return Err(Error::new(ErrorKind::Invalid, message).into());
            }
        }
    }
    Ok((format, filter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_conditions() {
        let query = "format=parquet&project=acme/shop&project=acme/web&state=opened&after=2024-03-15T00:00:00Z";
        let (format, filter) = read_parameters(query).map_err(|refusal| refusal.message).unwrap_or_default();
        assert_eq!(format, TableFormat::Parquet);
        assert_eq!((filter.projects.len(), filter.states.len(), filter.after.is_some()), (2, 1, true));
        let query = "after=2024-03&before=2024-03-15";
        let (_, filter) = read_parameters(query).map_err(|refusal| refusal.message).unwrap_or_default();
        assert_eq!((filter.after, filter.before), (parse_instant("2024-03").ok(), parse_instant("2024-03-15").ok()));
        for wrong in ["format=xls", "state=lost", "edge=likes", "after=yesterday", "projekt=a"] {
            assert!(read_parameters(wrong).is_err(), "{wrong}");
        }
    }
}
