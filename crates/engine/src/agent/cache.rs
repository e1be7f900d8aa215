//! Tells people when the provider's prompt cache did not serve what it held, and why.

use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _};
use troupe_core::block::Block;
use troupe_core::cache::{Break, Cause, Samples, Watch};
use troupe_core::entry::Entry;
use troupe_core::event::{EventKind, Notice};
use troupe_core::ports::model::{Delta, ModelError, Request};
use troupe_core::transcript::Transcript;
use troupe_core::{BoxStream, CancellationToken};

use super::actor::Actor;
use crate::cost::told_apart;
use crate::supervisor::warm::Prefix;

/// What is known of an agent's requests and the cache; it goes with its agent.
pub(super) struct CacheWatch {
    samples: Samples,
    watch: Watch,
}

impl CacheWatch {
    /// A watch that has seen what stands in a transcript.
    pub(super) fn of(transcript: &Transcript) -> Self {
        let held = transcript.inherited().and_then(|inherited| inherited.held().cloned());
        let mut this = Self { samples: Samples::default(), watch: Watch::after(held) };
        for entry in transcript.entries() {
            this.push(entry);
        }
        this
    }

    fn push(&mut self, entry: &Entry) -> Option<Break> {
        let sample = self.samples.push(entry)?;
        self.watch.push(&sample)
    }
}

/// Bytes of a token, for an estimate.
const TOKEN_BYTES: u64 = 4;

impl Actor {
    /// Sends a request. An agent's first waits for that of another which started with it on the same prefix, where a
    /// cache keeps that (X21); the wait ends with the first item of the other's reply, or with its try.
    pub(super) fn send(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<Delta, ModelError>> {
        let model = Arc::clone(&self.shared.parts.model);
        let limit = self.shared.config.cache.warm;
        if limit.is_zero() || !self.can_warm(&request) {
            return model.stream(request, cancel);
        }
        let (warming, prefix) = (Arc::clone(&self.shared.warming), Prefix::of(&self.row.header));
        let opened = async move {
            let mut first = warming.turn(prefix, limit).await;
            model.stream(request, cancel).inspect(move |_| drop(first.take()))
        };
        opened.flatten_stream().boxed()
    }

    /// Whether this is the first request of an agent below the main one, on a prefix that a cache keeps.
    fn can_warm(&self, request: &Request) -> bool {
        let Some(least) = self.known_info().cache_least else { return false };
        if request.replies > 0 || self.me().is_main() {
            return false;
        }
        let held = self.transcript().inherited().and_then(|inherited| inherited.held());
        let tools =
            request.tools.iter().map(|tool| tool.description.len() + tool.input_schema.to_string().len());
        let system = request.system.iter().filter_map(Block::as_text).map(str::len);
        let bytes: usize = tools.chain(system).sum();
        held.map_or(bytes as u64 / TOKEN_BYTES, |held| held.tokens) >= least
    }

    /// Looks at an entry that was recorded.
    pub(super) fn watch_cache(&mut self, entry: &Entry) {
        let Some(found) = self.cache.push(entry) else { return };
        // Shortening is told of by itself.
        if !self.shared.config.cache.tell_breaks || found.cause == Cause::Compaction {
            return;
        }
        let cause = told_apart(&self.shared.paths.prompts(), found.cause);
        self.say(EventKind::Notice(Notice::CacheBroken(Break { cause, ..found })));
    }
}
