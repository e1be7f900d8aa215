//! One answer's body → deltas, under the limits on silence. Works on any stream of bytes, so that time can
//! be tested without a network.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};
use troupe_core::ports::model::{Delta, Fault, ModelError};
use troupe_core::{BoxStream, CancellationToken};

use super::decode::{Decoder, Seen, malformed};
use super::failure;
use crate::sse;

/// How long a stream may be silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleLimits {
    /// From sending the request to the first byte of the reply: a local model reads a long prompt slowly.
    pub first_byte: Duration,
    /// Without any byte, after the first.
    pub byte: Duration,
    /// With nothing but signs of life.
    pub progress: Duration,
}

impl Default for IdleLimits {
    /// 5 minutes, 60 seconds, 5 minutes.
    fn default() -> Self {
        let minutes = Duration::from_mins;
        Self { first_byte: minutes(5), byte: minutes(1), progress: minutes(5) }
    }
}

/// The deadlines of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Idle {
    limits: IdleLimits,
    last_byte: Option<Instant>,
    last_progress: Instant,
}

impl Idle {
    /// Starts with the sending of the request.
    pub(super) fn start(limits: IdleLimits) -> Self {
        Self { limits, last_byte: None, last_progress: Instant::now() }
    }

    pub(super) fn deadline(&self) -> Instant {
        match self.last_byte {
            None => self.last_progress + self.limits.first_byte,
            Some(last) => (last + self.limits.byte).min(self.last_progress + self.limits.progress),
        }
    }

    pub(super) fn breach(&self) -> ModelError {
        let seconds = |limit: Duration| limit.as_secs_f64();
        let message = match self.last_byte {
            None => format!("no answer from the provider in {} s", seconds(self.limits.first_byte)),
            Some(last) if last + self.limits.byte <= Instant::now() => {
                format!("the stream was silent for {} s", seconds(self.limits.byte))
            }
            Some(_) => format!("the stream held nothing but pings for {} s", seconds(self.limits.progress)),
        };
        ModelError::new(Fault::Timeout, message)
    }

    fn saw_byte(&mut self) {
        let now = Instant::now();
        if self.last_byte.is_none() {
            self.last_progress = now;
        }
        self.last_byte = Some(now);
    }

    fn saw_progress(&mut self) {
        self.last_progress = Instant::now();
    }
}

/// The form of a body, by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Events.
    Events,
    /// One whole message.
    Json,
}

/// What the bytes of a body come from.
pub(super) type Source = BoxStream<'static, Result<Bytes, ModelError>>;

/// The deltas of a body.
pub(super) fn deltas(
    form: Form,
    source: Source,
    idle: Idle,
    cancel: CancellationToken,
) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'static {
    let reply = Reply {
        form,
        source,
        idle,
        cancel,
        parser: sse::Parser::default(),
        decoder: Decoder::default(),
        ready: VecDeque::new(),
        seen: Vec::new(),
        ended: false,
    };
    stream::unfold(Some(reply), |reply| async move {
        let mut reply = reply?;
        match reply.next().await {
            Ok(Some(delta)) => Some((Ok(delta), Some(reply))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    })
}

/// The deltas of a body of events that is there already: for tools and measurements.
pub fn deltas_of(chunks: Vec<Bytes>) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'static {
    let source = stream::iter(chunks.into_iter().map(Ok)).boxed();
    deltas(Form::Events, source, Idle::start(IdleLimits::default()), CancellationToken::new())
}

struct Reply {
    form: Form,
    source: Source,
    idle: Idle,
    cancel: CancellationToken,
    parser: sse::Parser,
    decoder: Decoder,
    ready: VecDeque<Delta>,
    /// The body so far: all of a JSON one, the beginning of another until the reply starts.
    seen: Vec<u8>,
    ended: bool,
}

/// How long the end of a body may come after the end of its reply.
const DRAIN_LIMIT: Duration = Duration::from_millis(100);

/// How much of a body that is no reply is kept for the error.
const SEEN: usize = 1024;

impl Reply {
    async fn next(&mut self) -> Result<Option<Delta>, ModelError> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Ok(Some(delta));
            }
            if self.ended {
                return Ok(None);
            }
            if self.read_events()? {
                if self.ended {
                    self.drain().await;
                }
                continue;
            }
            match self.chunk().await? {
                Some(bytes) => self.take(&bytes)?,
                None => self.finish()?,
            }
        }
    }

    /// Reads pushed bytes up to the first event that gives something.
    fn read_events(&mut self) -> Result<bool, ModelError> {
        while let Some(event) = self.parser.event().map_err(|error| malformed(error.to_string()))? {
            match self.decoder.event(event.name, event.data, &mut self.ready)? {
                Seen::Ping => {}
                Seen::Progress => self.idle.saw_progress(),
                Seen::End => self.ended = true,
            }
            if !self.ready.is_empty() || self.ended {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, ModelError> {
        let chunk = timeout_at(self.idle.deadline(), self.source.next());
        let chunk = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(cancelled()),
            chunk = chunk => chunk,
        };
        match chunk {
            Ok(Some(bytes)) => bytes.map(Some),
            Ok(None) => Ok(None),
            Err(_) => Err(self.idle.breach()),
        }
    }

    /// Reads a body to its end after the reply's, or the connection could not be used again.
    async fn drain(&mut self) {
        let rest = async { while let Some(Ok(_)) = self.source.next().await {} };
        // A server that leaves the body open costs a connection, and this wait.
        let _ = timeout(DRAIN_LIMIT, rest).await;
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.idle.saw_byte();
        match self.form {
            Form::Events => {
                if !self.decoder.started() && self.seen.len() < SEEN {
                    self.seen.extend_from_slice(&bytes[..bytes.len().min(SEEN)]);
                }
                self.parser.push(bytes);
            }
            Form::Json => {
                // The length of a body that comes whole says that it is coming.
                self.idle.saw_progress();
                if self.seen.len() + bytes.len() > sse::MAX_EVENT {
                    return Err(malformed(format!("the answer is longer than {} bytes", sse::MAX_EVENT)));
                }
                self.seen.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// The body is at its end.
    fn finish(&mut self) -> Result<(), ModelError> {
        self.ended = true;
        let Some(shown) = failure::excerpt(&self.seen) else {
            return Err(malformed("the answer is empty".to_owned()));
        };
        match self.form {
            Form::Events if self.decoder.started() => {
                let message = "the stream ended before the reply did";
                Err(ModelError::new(Fault::Network, message))
            }
            Form::Events => Err(malformed(format!("the answer holds no reply: {shown}"))),
            Form::Json => {
                let Ok(message) = serde_json::from_slice::<Value>(&self.seen) else {
                    return Err(malformed(format!("the answer says that it is JSON and is not: {shown}")));
                };
                match message.get("error") {
                    Some(error) if !error.is_null() => Err(failure::of_error(&message)),
                    _ => self.decoder.whole(&message, &mut self.ready),
                }
            }
        }
    }
}

pub(super) fn cancelled() -> ModelError {
    ModelError::new(Fault::Cancelled, "cancelled")
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
