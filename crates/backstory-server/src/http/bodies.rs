//! Limits on request bodies: how long one may take, and how much of them is held at a time.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, http::StatusCode};
use backstory_engine::error::ErrorKind;
use futures::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Refusal;
use crate::error_table;

/// Room for the bodies of requests of one sort.
#[derive(Clone, Debug)]
pub(super) struct BodyReader {
    /// Bytes that may still be held.
    room: Arc<Semaphore>,
    limit: usize,
    time: Duration,
}

/// A body, and the room that it takes.
pub(super) struct LimitedBody {
    pub(super) bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl BodyReader {
    /// Bodies of at most `limit` bytes, each of which has so much time from its first byte to its last, and `all` bytes of
    /// which are held at a time.
    pub(super) fn new(limit: usize, time: Duration, all: usize) -> Self {
        Self { room: Arc::new(Semaphore::new(all)), limit, time }
    }

    /// Reads a body to its end.
    ///
    /// # Errors
    /// It is too large, takes too long, breaks off, or there is no room for it.
    pub(super) async fn read(&self, body: Body) -> Result<LimitedBody, Refusal> {
        tokio::time::timeout(self.time, self.read_all(body)).await.unwrap_or_else(|_| {
            let message = format!("the body did not arrive within {} s", self.time.as_secs());
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "TIMEOUT", message))
        })
    }

    async fn read_all(&self, body: Body) -> Result<LimitedBody, Refusal> {
        let mut room = self.take(0)?;
        let mut bytes = Vec::new();
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| {
                let message = format!("the body broke off: {error}");
                Refusal::new(StatusCode::BAD_REQUEST, error_table::code(ErrorKind::Invalid), message)
            })?;
            if piece.len() > self.limit.saturating_sub(bytes.len()) {
                let message = format!("the body is larger than {} KiB", self.limit >> 10);
                return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", message));
            }
            room.merge(self.take(piece.len())?);
            bytes.extend_from_slice(&piece);
        }
        Ok(LimitedBody { bytes, _room: room })
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let room = self.room.clone().try_acquire_many_owned(bytes);
        room.map_err(|_| Refusal::busy("too many large requests are on their way; send it again in a few seconds"))
    }
}
