//! Tells people when the provider's prompt cache did not serve what it held, and why.

use troupe_core::cache::{Break, Cause, Samples, Watch};
use troupe_core::entry::Entry;
use troupe_core::event::{EventKind, Notice};
use troupe_core::transcript::Transcript;

use super::actor::Actor;
use crate::cost::told_apart;

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

impl Actor {
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
